"""Populations of PQN beside those of DQN: success over training, and speed.

    python -m benchmarks.pqn [--tasks goal-31 goal-51 doorkey] [--seeds 30]
    python -m benchmarks.pqn --speed

The first trains PQN with epsilon-greedy exploration and with EASEE's usual prior, for as many
environment steps as DQN in `results/hard`, and writes a table and a picture of both learners to
`results/pqn`. Tasks that are there already are not trained again. The second trains both learners
in turns, in one process, and prints their steps per second.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from easee._utils.files import replacing
from easee.agents.population import Population, PqnPopulation, PqnSettings, Settings
from easee.agents.population.base import BasePopulation
from easee.experiments.hard.arms import EXPLORERS, make_tables
from easee.experiments.hard.comparison import Comparison
from easee.experiments.hard.figure import COLOUR
from easee.experiments.hard.tasks import LEARNER, TASKS, HardTask
from easee.experiments.hard.training import SUCCESS
from easee.experiments.harness.figure import Row
from easee.experiments.harness.plots import COLOURS
from easee.experiments.harness.rows import read_csv, to_csv
from easee.experiments.harness.store import Store
from easee.experiments.registry import FIGURES
from easee.viz.files import save

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "results" / "pqn"
NAMES = ("uniform", "usual")
LABELS = {
    f"{x}-{name}": f"{x.upper()}, {EXPLORERS[name]}" for name in NAMES for x in ("dqn", "pqn")
}
PAINT = dict(zip(LABELS, (COLOUR["uniform"], COLOURS[2], COLOUR["usual"], COLOURS[1]), strict=True))
PIECE = 6_400  # steps of each run in a measurement of speed


def make_pqn(task: HardTask, name: str, seeds: int, steps: int) -> PqnPopulation:
    """Return runs of PQN with an explorer, and with DQN's network."""
    tables = [make_tables({"task": task.name, "explorer": name}, 0)] * seeds
    settings = PqnSettings(steps)
    return PqnPopulation(task.make_world(), tables, range(seeds), settings, task.make_network())


def train(task: HardTask, name: str, seeds: int) -> list[Row]:
    """Return the success over training of some seeds of PQN."""
    curves = make_pqn(task, name, seeds, task.steps).advance()
    return [
        Row("pqn", f"{task.name}/pqn-{name}", seed, step, SUCCESS, round(value, 4))
        for seed in range(seeds)
        for step, value in curves.success(seed)
    ]


def dqn_rows(tasks: list[str]) -> list[Row]:
    """Return the committed success of DQN on some tasks."""
    rows = Store(FIGURES["hard"], ROOT / "results" / "hard").read().rows
    arms = {f"{task}/{name}": f"{task}/dqn-{name}" for task in tasks for name in NAMES}
    return [row._replace(arm=arms[row.arm]) for row in rows if row.arm in arms]


def compare(tasks: list[str], seeds: int, console: Console) -> None:
    """Train what is missing, and print and draw the comparison."""
    path = FOLDER / "runs.csv"
    for task in tasks:
        for name in reversed(NAMES):
            if f"{task}/pqn-{name}" not in {row.arm for row in read_csv(path, "pqn").rows}:
                found = train(TASKS[task], name, seeds)
                FOLDER.mkdir(exist_ok=True)
                rows = read_csv(path, "pqn").rows + found  # other processes may have added some
                with replacing(path) as file:
                    file.write(to_csv(rows, header=True))
    chosen = [row for row in read_csv(path, "pqn").rows if row.arm.partition("/")[0] in tasks]
    rows = chosen + dqn_rows(tasks)
    comparison = Comparison(LABELS, PAINT, "dqn-uniform", lambda task: task.steps)
    for line in comparison.table(rows):
        console.print(" | ".join(line), highlight=False)
    save(comparison.draw("pqn", rows)["pqn"], FOLDER / "pqn.png", dpi=150)


def compare_speed(seeds: int, console: Console, times: int = 4) -> None:
    """Print the steps per second of both learners, trained in turns."""
    task, steps = TASKS["goal-31"], (times + 1) * PIECE
    tables = [make_tables({"task": task.name, "explorer": "usual"}, 0)] * seeds
    settings = Settings(steps, **LEARNER)
    learners: dict[str, BasePopulation[Any]] = {
        "PQN": make_pqn(task, "usual", seeds, steps),
        "DQN": Population(task.make_world(), tables, range(seeds), settings, task.make_network()),
    }
    rates: dict[str, list[float]] = {name: [] for name in learners}
    for turn in range(times + 1):
        for name, learner in learners.items():
            began = time.perf_counter()
            learner.advance(PIECE)
            if turn:  # the first compiles
                rates[name].append(seeds * PIECE / (time.perf_counter() - began))
    ratios = np.divide(rates["PQN"], rates["DQN"])
    for name, values in rates.items():
        console.print(f"{name}: {np.median(values):,.0f} steps/s, {seeds} seeds", highlight=False)
    console.print(
        f"PQN / DQN: {np.median(ratios):.1f} [{ratios.min():.1f}, {ratios.max():.1f}]",
        highlight=False,
    )


def main() -> None:
    """Compare the learners."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--tasks", nargs="+", choices=TASKS, default=["goal-31", "goal-51", "doorkey"]
    )
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--speed", action="store_true")
    arguments = parser.parse_args()
    console = Console(width=160)
    if arguments.speed:
        compare_speed(arguments.seeds, console)
    else:
        compare(arguments.tasks, arguments.seeds, console)


if __name__ == "__main__":
    main()
