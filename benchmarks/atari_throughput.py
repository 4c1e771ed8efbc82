"""Agent steps per second of DQN on Atari games with many parallel runs, and their parts.

    python -m benchmarks.atari_throughput [--game freeway] [--runs 5 10 15] [--groups 1 2 4]

Runs are measured in the phase of training with updates, after warm-up, for every number of runs and
of groups into which they are divided. Emulation alone is the same games with random actions. Parts
are means over a group's steps: the time spent in the games, in dispatching work to the device, and
the rest, which is waiting for the device and work on the host.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import jax
import numpy as np
from rich.console import Console

from easee.agents.population import Settings
from easee.agents.population.atari import AtariPopulation
from easee.envs.atari import GAMES, Atari
from easee.experiments.deep.tasks import TASKS, hyperparameters
from easee.experiments.harness.explorers import policy_of

STEPS = 500_000
COLUMNS = ("runs", "groups", "steps/s", "games alone", "ms a step", "games", "calls", "rest")


def emulation(game: str, runs: int, steps: int) -> float:
    """Return the steps per second of games with random actions, one thread per game."""
    env = Atari(game, runs, threads=runs)
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers(len(env.action_names), size=(steps, runs))
    began = time.perf_counter()
    for step_actions in actions:
        env.step(step_actions)
    return steps * runs / (time.perf_counter() - began)


def timed(owner: Any, name: str, spent: dict[str, float], part: str) -> None:
    """Replace a method by one that adds the seconds spent in it to `spent[part]`."""
    method = getattr(owner, name)

    def counted(*args: Any) -> Any:
        began = time.perf_counter()
        try:
            return method(*args)
        finally:
            spent[part] += time.perf_counter() - began

    setattr(owner, name, counted)


def learning(game: str, runs: int, groups: int, steps: int) -> tuple[float, dict[str, float]]:
    """Return the seconds per step of all runs, and of its parts per group."""
    task = TASKS[game]
    settings = Settings(STEPS, **(hyperparameters(task, STEPS) | {"learning_starts": 100}))
    policy = policy_of(task.prior, task.depth)
    population = AtariPopulation(game, [policy] * runs, range(runs), settings, groups=groups)
    population.advance(100 + 5 * settings.train_freq)  # compiles everything
    spent = {"games": 0.0, "calls": 0.0}
    for group in population.groups:
        timed(group.env, "step", spent, "games")
    program = population.groups[0].program  # shared by all groups and by later populations
    before = program.act, program.learn_and_act
    timed(program, "act", spent, "calls")
    timed(program, "learn_and_act", spent, "calls")
    began = time.perf_counter()
    population.advance(steps)
    took = (time.perf_counter() - began) / steps
    program.act, program.learn_and_act = before
    return took, {part: s / steps / len(population.groups) for part, s in spent.items()}


def main() -> None:
    """Run the measurements and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--game", choices=GAMES, default="freeway")
    parser.add_argument("--runs", type=int, nargs="+", default=[5, 10, 15])
    parser.add_argument("--groups", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    console = Console(width=110)
    console.print(f"device: {jax.devices()[0].device_kind}, jax {jax.__version__}")
    console.print("".join(f"{column:>13}" for column in COLUMNS))
    for runs in options.runs:
        alone = emulation(options.game, runs, options.steps)
        for groups in options.groups:
            took, parts = learning(options.game, runs, groups, options.steps)
            rest = took - parts["games"] - parts["calls"]
            milli = [f"{1e3 * s:.2f}" for s in (took, parts["games"], parts["calls"], rest)]
            row = [str(runs), str(groups), f"{runs / took:,.0f}", f"{alone:,.0f}", *milli]
            console.print("".join(f"{text:>13}" for text in row), highlight=False)


if __name__ == "__main__":
    main()
