"""PQN of `examples/pqn.py` beside the population's DQN: success over training, and speed.

    python -m benchmarks.pqn [--tasks goal-31 goal-51 doorkey] [--seeds 30]
    python -m benchmarks.pqn --speed

The first trains PQN with epsilon-greedy exploration and with EASEE's usual prior, for as many
environment steps as DQN in `results/hard`, and writes a table and a picture of both learners to
`results/pqn`. Tasks that are there already are not trained again. The second trains both learners
in turns, in one process, and prints their steps per second.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console

from easee._utils.files import replacing
from easee.agents.population import Population, Settings
from easee.experiments.hard.arms import EXPLORERS, make_tables
from easee.experiments.hard.comparison import Comparison
from easee.experiments.hard.tasks import LEARNER, TASKS, HardTask
from easee.experiments.hard.training import BACKEND, SUCCESS
from easee.experiments.harness.figure import Row
from easee.experiments.harness.rows import read_csv, to_csv
from easee.experiments.harness.store import Store
from easee.experiments.registry import FIGURES
from easee.viz.files import save
from easee.viz.style import METHODS, styled

wait: Any = jax.block_until_ready

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "results" / "pqn"
NAMES = ("uniform", "usual")
LABELS = {
    f"{x}-{name}": f"{x.upper()}, {EXPLORERS[name]}" for name in NAMES for x in ("dqn", "pqn")
}
LOOKS = {  # those of DQN are its own, those of PQN have other colours
    "dqn-uniform": METHODS["uniform"],
    "pqn-uniform": METHODS["zeta"],
    "dqn-usual": METHODS["usual"],
    "pqn-usual": METHODS["discovered"],
}
COMPARISON = Comparison(
    name="pqn",
    title="PQN and DQN where a reward must be found",
    labels=LABELS,
    baseline="dqn-uniform",
    steps={name: task.steps for name, task in TASKS.items()},
    methods={task: list(LABELS) for task in TASKS},
    backend=BACKEND,
    config={},
    looks=LOOKS,
)
PIECE = 12_800  # steps of each run in a measurement of speed


def load_pqn() -> Any:
    """Return the example as a module."""
    sys.path.append(str(ROOT / "examples"))
    return importlib.import_module("pqn")


def train(task: HardTask, name: str, seeds: int) -> list[Row]:
    """Return the success over training of some seeds of PQN."""
    pqn = load_pqn()
    curves = pqn.learn(task, name, pqn.Settings(task.steps), seeds)
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
    rows = read_csv(path, "pqn").rows + dqn_rows(tasks)
    for line in COMPARISON.table(rows):
        console.print(" | ".join(line), highlight=False)
    with styled():
        figure = COMPARISON.draw(rows)["pqn"]
        for kind in ("png", "svg"):
            save(figure, FOLDER / f"pqn.{kind}")


def compare_speed(seeds: int, console: Console, times: int = 5) -> None:
    """Print the steps per second of both learners, trained in turns."""
    task, pqn = TASKS["goal-31"], load_pqn()
    world, network = task.make_world(), task.make_network()
    tables = make_tables({"task": task.name, "explorer": "usual"}, 0)
    program = pqn.Pqn(world, network, pqn.Settings(PIECE))
    keys = jax.vmap(jax.random.key)(np.arange(seeds))
    settings = Settings((times + 2) * PIECE, **LEARNER)
    population = Population(world, [tables] * seeds, range(seeds), settings, network)
    pieces: dict[str, Callable[[], object]] = {
        "PQN": lambda: wait(pqn.train(program, tables, keys)),
        "DQN": lambda: population.advance(PIECE),
    }
    rates: dict[str, list[float]] = {name: [] for name in pieces}
    for turn in range(times + 1):
        for name, piece in pieces.items():
            began = time.perf_counter()
            piece()
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
