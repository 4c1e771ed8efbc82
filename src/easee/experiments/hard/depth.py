"""`hard-depth`: how sample efficiency grows with the depth of the graph and the prior's size."""

from __future__ import annotations

from typing import Any

from easee import priors
from easee.experiments.hard.measures import Runs, measure_arms
from easee.experiments.hard.tasks import BINS, LEARNER, TASKS
from easee.experiments.hard.training import BACKEND
from easee.experiments.harness.figure import Figure, Row, runs_of
from easee.experiments.harness.plots import curve, level
from easee.experiments.harness.rows import seeds_of_arms
from easee.experiments.harness.statistics import cell, mean_interval
from easee.viz.files import subplots
from easee.viz.labels import label_lines, label_ticks
from easee.viz.style import METHODS, WIDTH, shades

TASK = TASKS["goal-51"]
DEPTHS = {  # the graphs of the smaller priors grow exponentially
    "rotation-one-inverse": (6,),
    "rotation-both-inverses": (6,),
    "rotation-grid": (4, 6, 10),
    "rotation-grid-complete": (4, 6, 10, 20, 30, 50),
}
BASELINE = "uniform"


def _arms() -> dict[str, dict[str, Any]]:
    common = {"task": TASK.name, "steps": TASK.steps}
    easee = {
        f"{prior}/{depth}": common | {"explorer": "usual", "prior": prior, "depth": depth}
        for prior, depths in DEPTHS.items()
        for depth in depths
    }
    return {BASELINE: common | {"explorer": BASELINE}} | easee


def table(rows: list[Row]) -> list[list[str]]:
    """Return a line for each prior and depth."""
    lines = [["prior", "depth", "success, last tenth", "success, whole training", "runs at 90%"]]
    for arm, runs in measure_arms(rows, TASK.steps).items():
        prior, _, depth = arm.partition("/")
        means = (cell(mean_interval(values)) for values in (runs.last, runs.whole))
        lines.append([prior, depth or "-", *means, f"{runs.share_solved:.0%}"])
    return lines


def draw(rows: list[Row]) -> dict[str, Any]:
    """Draw the mean success over training by depth, one line per prior."""
    arms = measure_arms(rows, TASK.steps)
    figure, axes = subplots(figsize=(WIDTH, 4.8))
    counts = [len(priors.get(prior)) for prior in DEPTHS]
    labels = [f"EASEE, {count} relation{'s' if count > 1 else ''}" for count in counts]
    for (prior, depths), look in zip(DEPTHS.items(), shades(labels), strict=True):
        found = {depth: arms[f"{prior}/{depth}"] for depth in depths if f"{prior}/{depth}" in arms}
        if found:
            means = [_mean(runs) for runs in found.values()]
            curve(axes, list(found), means, look)
    if BASELINE in arms:
        level(axes, _mean(arms[BASELINE]), METHODS["epsilon-greedy"])
    label_ticks(axes, DEPTHS["rotation-grid-complete"])
    label = f"mean success over {TASK.steps:,} steps"
    axes.set(xlabel="depth of the graph", ylabel=label, ylim=(0, 1))
    axes.set_title(f"DQN on {TASK.name}, {seeds_of_arms(rows)}")
    label_lines(axes)
    return {"hard-depth": figure}


def _mean(runs: Runs) -> Any:
    return mean_interval(runs.whole)


FIGURE = Figure(
    name="hard-depth",
    title="sample efficiency of DQN over the depth and the size of the prior",
    runs=runs_of(_arms()),
    seeds=30,
    backends={"population": BACKEND},
    draw=draw,
    table=table,
    config={"learner": dict(LEARNER), "bins": BINS, "steps": TASK.steps},
)
