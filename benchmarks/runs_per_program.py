"""Agent steps per second on one core by the number of runs that are trained as one program.

    taskset -c 0 python -m benchmarks.runs_per_program [--runs 2 4 8 16 32]

Each row is a task of `easee run hard` or `hard-ppo` in the phase of training with updates. The
weights, moments and activations of many runs exceed the processor's cache, so that a core is
fastest with few of them. `MAX_RUNS_ON_CPU` of `easee.experiments.harness.population_backend` is
chosen from this table.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from easee.experiments.hard import ppo_training, training
from easee.experiments.harness.figure import Run

MAKERS: dict[str, Callable[[list[Run]], Any]] = {
    "DQN": training.make_population,
    "PPO": ppo_training.make_population,
}
ROWS = [
    ("DQN", "goal-51"), ("DQN", "doorkey"), ("DQN", "MiniGrid-Unlock-v0"),
    ("PPO", "goal-51"), ("PPO", "doorkey"),
]  # fmt: skip
TRAINING = 200_000  # steps of training that the settings are made for
LEARNS = 2_000  # steps after which all of them update


def steps_per_second(agent: str, task: str, count: int, steps: int) -> float:
    """Return the steps per second of all runs together, after warm-up and compilation."""
    settings = {"task": task, "explorer": "usual", "steps": TRAINING}
    runs = [Run(f"{task}/usual", seed, settings) for seed in range(count)]
    population = MAKERS[agent](runs)
    population.advance(max(steps, LEARNS))
    began, first = time.perf_counter(), population.steps
    population.advance(steps)
    rate: float = (population.steps - first) * count / (time.perf_counter() - began)
    return rate


def main() -> None:
    """Print a row for each agent and task."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, nargs="+", default=[2, 4, 8, 16, 32])
    parser.add_argument("--steps", type=int, default=2_000, help="steps of each run")
    arguments = parser.parse_args()
    table = Table("agent", "task", *(f"{count} runs" for count in arguments.runs))
    for agent, task in ROWS:
        speeds = [steps_per_second(agent, task, n, arguments.steps) for n in arguments.runs]
        table.add_row(agent, task, *(f"{speed:,.0f}" for speed in speeds))
    Console().print("Steps per second of all runs of a program together", table)


if __name__ == "__main__":
    main()
