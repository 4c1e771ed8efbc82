"""Cost of wrong priors: coverage and DoorKey learning when relations fail.

A prior is wrong in two ways. In a share of the cells the actions are exchanged: each such cell has
its own random permutation, so every relation fails on words that pass through it. Uniform actions
are not affected, which makes them the baseline. Or relations are added that are false everywhere.
A `floor` mixes uniform actions into EASEE's policy.
"""

from dataclasses import replace
from itertools import product
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from easee.envs.grids import CardinalGrid
from easee.envs.table import Table
from easee.experiments.coverage import simulation
from easee.experiments.coverage.simulation import SIZE, STEPS
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.explorers import make_explorer
from easee.experiments.harness.figure import Figure, Measured, Row, Run, runs_of
from easee.experiments.harness.plots import add_legend, curve, grouped_points
from easee.experiments.harness.rows import group, values_by_arm
from easee.experiments.harness.statistics import Estimate, cell, mean_interval, paired_interval
from easee.experiments.tabular import doorkey
from easee.experiments.tabular.doorkey import EPISODES, SETTINGS, TAIL
from easee.priors import CARDINAL_ACTIONS
from easee.viz.files import subplots
from easee.viz.style import METHODS, WIDTH

SHARES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
WALKS = 100  # episodes of a coverage run
EXPLORERS: dict[str, dict[str, Any]] = {
    "uniform": {"explorer": "uniform"},
    "easee": {"explorer": "easee"},
    "easee, floor 0.2": {"explorer": "easee", "floor": 0.2},
}
LOOKS = {
    "uniform": METHODS["uniform"],
    "easee": METHODS["easee"],
    "easee, floor 0.2": METHODS["exact"].called("EASEE, floor 0.2"),
}
TASKS: dict[str, dict[str, Any]] = {
    "coverage": {"prior": "cardinal-grid", "depth": 20},
    "doorkey": {"prior": "doorkey", "depth": 6},
}
FALSE: dict[str, tuple[str, ...]] = {
    "coverage": ("right right ~ right", "up ~ right", "up ~"),
    "doorkey": ("forward forward ~ forward", "open ~ pickup", "pickup ~"),
}
METRIC = {"coverage": "unique states", "doorkey": "mean reward"}
FORMAT = {"coverage": ",.0f", "doorkey": ".2f"}


def arm(task: str, explorer: str, *, share: float = 0.0, false: str = "") -> str:
    """Return the name of an arm."""
    return f"{task}/{explorer}/{false or share}"


def _arms() -> dict[str, dict[str, Any]]:
    """Return every explorer at every share on both tasks, and with every false relation."""
    arms: dict[str, dict[str, Any]] = {}
    for task, prior in TASKS.items():
        for name, explorer in EXPLORERS.items():
            common = prior | explorer | {"task": task}
            for share in SHARES:
                arms[arm(task, name, share=share)] = common | {"share": share}
            for relation in FALSE[task] if name != "uniform" else ():
                settings = common | {"share": 0.0, "more": [relation]}
                arms[arm(task, name, false=relation)] = settings
    return arms


def measure(run: Run) -> Measured:
    """Cover a grid, or learn DoorKey, in a world where some cells have their actions exchanged."""
    task, share = run.settings["task"], run.settings["share"]
    rng = np.random.default_rng([run.seed, 1])
    if task == "coverage":
        return [(WALKS, METRIC[task], float(_coverage(run, share, rng)))]
    rewards = doorkey.rewards(run, twist(doorkey.layout(run.seed), share, rng))
    return [(EPISODES, METRIC[task], float(rewards[-TAIL:].mean()))]


def _coverage(run: Run, share: float, rng: np.random.Generator) -> int:
    """Return the number of unique states on a grid where some cells have actions exchanged."""
    env = CardinalGrid(SIZE)
    table = simulation.transitions(env).reshape(-1, len(CARDINAL_ACTIONS))
    table = exchanged(table, np.arange(len(table)), share, rng)
    explorer = make_explorer(run, len(CARDINAL_ACTIONS), WALKS)
    start = simulation.start_state(env)
    return simulation.unique_states(simulation.walk_table(table.ravel(), start, explorer, STEPS))


def twist(world: Table, share: float, rng: np.random.Generator) -> Table:
    """Return a table in which a share of the cells (columns and rows) have actions exchanged."""
    cells = world.states[:, 0] * (world.states[:, 1].max() + 1) + world.states[:, 1]
    seed = rng.integers(2**31)
    successors, rewards, ends = (
        exchanged(part, cells, share, np.random.default_rng(seed))
        for part in (world.successors, world.rewards, world.ends)
    )
    return replace(world, successors=successors, rewards=rewards, ends=ends)


def exchanged(
    table: NDArray[Any], cells: NDArray[np.int64], share: float, rng: np.random.Generator
) -> NDArray[Any]:
    """Permute the actions of a share of the cells, each by its own permutation.

    The table is (states, actions), and `cells` int (states,) has the cell of each state.
    """
    count, k = int(cells.max()) + 1, table.shape[1]
    orders = np.tile(np.arange(k), (count, 1))
    chosen = rng.random(count) < share
    orders[chosen] = rng.permuted(orders, axis=1)[chosen]
    return np.take_along_axis(table, orders[cells], axis=1)


def estimates(rows: list[Row]) -> dict[str, Estimate]:
    """Return the mean of every arm."""
    return {name: mean_interval(values) for name, values in values_by_arm(rows).items()}


def table(rows: list[Row]) -> list[list[str]]:
    """Return one line for each way to be wrong."""
    means = estimates(rows)
    lines = [["task", "what is wrong", *EXPLORERS]]
    for task in TASKS:
        wrongs: dict[str, dict[str, Any]] = {
            f"in {share:.0%} of the cells": {"share": share} for share in SHARES
        }
        for relation in FALSE[task]:
            empty = " Λ" if relation.endswith("~") else ""
            wrongs[f"false: {relation}{empty}"] = {"false": relation}
        for label, wrong in wrongs.items():
            cells = [means.get(arm(task, name, **wrong)) for name in EXPLORERS]
            if any(cells):
                lines.append([METRIC[task], label, *(cell(mean, FORMAT[task]) for mean in cells)])
    return lines


def differences(rows: list[Row], task: str) -> dict[float, dict[str, Estimate]]:
    """Return by share and explorer the mean gain over uniform actions, paired by seed."""
    values = {
        name: {row.seed: row.value for row in of_arm}
        for name, of_arm in group(rows, attrgetter("arm")).items()
    }
    gains: dict[float, dict[str, Estimate]] = {}
    for share, name in product(SHARES, EXPLORERS):
        ours, base = (values.get(arm(task, n, share=share), {}) for n in (name, "uniform"))
        gain = paired_interval(ours, base)
        if gain is not None and name != "uniform":
            gains.setdefault(share, {})[name] = gain
    return gains


def draw(rows: list[Row]) -> dict[str, Any]:
    """Draw coverage, and the gain over uniform actions on DoorKey, by the share of wrong cells."""
    figure, (left, right) = subplots(1, 2, figsize=(WIDTH, 4.6))
    means = estimates(rows)
    for name, look in LOOKS.items():
        arms = [arm("coverage", name, share=share) for share in SHARES]
        found = {place: means[each] for place, each in enumerate(arms) if each in means}
        curve(left, [*found], [*found.values()], look)
    left.set_xticks(range(len(SHARES)), map(_percent, SHARES))
    left.set(title="CardinalGrid, depth 20", ylabel="states seen in 100 episodes", ylim=(0, None))
    gains = differences(rows, "doorkey")
    looks = {name: look for name, look in LOOKS.items() if name != "uniform"}
    grouped_points(right, {_percent(share): gains[share] for share in gains}, looks)
    right.axhline(0, **METHODS["uniform"].style)
    right.set(title="DoorKey, depth 6", ylabel="gain in mean reward over uniform")
    figure.supxlabel("cells where actions are exchanged, in percent; 95% intervals")
    add_legend(figure, [left], [look.name for look in LOOKS.values()])
    return {"wrong": figure}


def _percent(share: float) -> str:
    return f"{100 * share:g}"


FIGURE = Figure(
    name="wrong",
    title="what a wrong prior costs",
    runs=runs_of(_arms()),
    seeds=15,
    backends=one_by_one(measure),
    draw=draw,
    table=table,
    config=SETTINGS | {"steps": STEPS, "walks": WALKS, "episodes": EPISODES},
)
