"""`catcher-readings`: does any reading of the paper's description of Catcher show its gain?

The paper gives neither the stride of its three convolutions nor the number of steps before the
first update. Four readings are compared: a stride of 1 or 2, and 50,000 steps (the default of
Stable-Baselines3 at that time) or 1,000. This needs `--backend population` and a GPU.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from easee.experiments.deep import dqn
from easee.experiments.deep.population_backend import BACKEND
from easee.experiments.deep.tasks import CATCHER, READINGS
from easee.experiments.harness.figure import Figure, Row, Run
from easee.experiments.harness.learning_curves import finals
from easee.experiments.harness.plots import add_legend, grouped_points
from easee.experiments.harness.rows import seeds_of_arms
from easee.experiments.harness.statistics import (
    cell,
    difference_interval,
    improvement_interval,
    mean_interval,
)
from easee.viz.files import subplots
from easee.viz.style import METHODS, WIDTH

NAME = "catcher-readings"
EXPLORERS = {
    "uniform": ("epsilon-greedy", {"explorer": "uniform"}),
    "easee": (f"EASEE, depth {CATCHER.depth}", dqn.easee_arm(CATCHER, CATCHER.depth)),
}
SEEDS = 20


def make_runs(steps: int, seeds: int) -> list[Run]:
    """Return the runs of all readings and explorers."""
    return [
        Run(f"{task.name}/{name}", seed, settings | {"task": task.name, "steps": steps})
        for task in READINGS.values()
        for seed in range(seeds)
        for name, (_, settings) in EXPLORERS.items()
    ]


def ends(rows: list[Row], steps: int) -> dict[str, dict[str, dict[int, float]]]:
    """Return the mean reward of the last tenth by reading, explorer and seed."""
    after = dqn.last_tenth(rows, steps)
    found = {
        reading: {name: finals(rows, f"{task.name}/{name}", after) for name in EXPLORERS}
        for reading, task in READINGS.items()
    }
    return {reading: values for reading, values in found.items() if all(values.values())}


def table(steps: int, rows: list[Row]) -> list[list[str]]:
    """Return a line for each reading."""
    labels = [label for label, _ in EXPLORERS.values()]
    lines = [["convolutions, first update", *labels, "improvement", "difference"]]
    return lines + [[reading, *compare(values)] for reading, values in ends(rows, steps).items()]


def compare(values: dict[str, dict[int, float]]) -> list[str]:
    """Return the means of both explorers and their comparison, from their rewards by seed."""
    base, ours = values["uniform"].values(), values["easee"].values()
    estimates = [
        mean_interval(base),
        mean_interval(ours),
        improvement_interval(ours, base),
        difference_interval(ours, base),
    ]
    return [*map(cell, estimates)]


def draw(steps: int, rows: list[Row]) -> dict[str, Any]:
    """Draw the final rewards of each reading."""
    figure, axes = subplots(figsize=(WIDTH, 5))
    means = {
        reading.replace(", ", "\n"): {
            name: mean_interval(by_name[name].values()) for name in by_name
        }
        for reading, by_name in ends(rows, steps).items()
    }
    looks = {name: METHODS[name].called(label) for name, (label, _) in EXPLORERS.items()}
    grouped_points(axes, means, looks)
    title = f"DQN on Catcher after {steps:,} steps, {seeds_of_arms(rows)}"
    axes.set(title=title, ylabel=dqn.LAST_TENTH)
    add_legend(figure, [axes], [label for label, _ in EXPLORERS.values()])
    return {NAME: figure}


def make_figure(steps: int | None = None) -> Figure:
    """Return the figure for a number of steps, the paper's by default."""
    total = steps or CATCHER.paper_steps
    return Figure(
        name=NAME,
        title="DQN on Catcher: four readings of the paper",
        runs=partial(make_runs, total),
        seeds=SEEDS,
        backends={"population": BACKEND},
        draw=partial(draw, total),
        table=partial(table, total),
        config=CATCHER.config | {"steps": total, "readings": list(READINGS)},
        folder=NAME if total == CATCHER.paper_steps else f"{NAME}-{total}",
        steps=total,
        variants={"population": make_figure},
    )


FIGURE = make_figure()
