"""`hard-ppo-sensitivity`: PPO's coefficient, the floor of the reference, and whether it fades."""

from __future__ import annotations

from typing import Any

from easee.experiments.hard.measures import measure_arms
from easee.experiments.hard.ppo_training import BACKEND, LEARNER, PLAYS
from easee.experiments.hard.tasks import BINS
from easee.experiments.hard.tasks import TASKS as HARD_TASKS
from easee.experiments.harness.figure import Figure, Row, runs_of
from easee.experiments.harness.plots import add_legend, curve, panels
from easee.experiments.harness.rows import seeds_of_arms
from easee.experiments.harness.statistics import cell, mean_interval
from easee.viz.labels import label_ticks
from easee.viz.style import METHODS, Look, shades

TASKS = {"goal-31": 200_000, "doorkey": 500_000, "MiniGrid-DoorKey-8x8-v0": 500_000}  # steps
COEFFICIENTS = (0.003, 0.01, 0.03, 0.1)
FLOORS = (0.1, 0.3)
FADED = {"reference_final_strength": 0.0}
PLAIN, EASEE, FADING = "plain", "floor", "floor 0.1, fading"


def _arms() -> dict[str, dict[str, Any]]:
    arms = {}
    for task in TASKS:
        for coefficient in COEFFICIENTS:
            learners = {PLAIN: {}, FADING: {"reference_floor": 0.1} | FADED}
            learners |= {f"{EASEE} {floor:g}": {"reference_floor": floor} for floor in FLOORS}
            for name, learner in learners.items():
                arms[f"{task}/{name}/{coefficient:g}"] = {
                    "task": task,
                    "steps": TASKS[task],
                    "explorer": PLAIN if name == PLAIN else "usual",
                    "learner": {"ent_coef": coefficient} | learner,
                }
    return arms


def table(rows: list[Row]) -> list[list[str]]:
    """Return a line for each task, reference and coefficient."""
    header = ["task", "reference", "coefficient", "success, last tenth", "success, whole training"]
    lines = [[*header, *PLAYS]]
    for task in TASKS:
        of_task = [row for row in rows if row.arm.startswith(f"{task}/")]
        measured = measure_arms(of_task, TASKS[task])
        for arm in (arm for arm in _arms() if arm in measured):
            played = [
                [row.value for row in of_task if (row.arm, row.metric) == (arm, metric)]
                for metric in PLAYS
            ]
            measures = [measured[arm].last, measured[arm].whole, *played]
            lines.append([*arm.split("/"), *(cell(mean_interval(m)) for m in measures)])
    return lines


def draw(rows: list[Row]) -> dict[str, Any]:
    """Draw the mean success over training by coefficient, one panel per task."""
    figure, axes, _ = panels(len(TASKS), columns=len(TASKS), height=3.6, sharey=True)
    looks = _looks()
    for each, task in zip(axes, TASKS, strict=True):
        of_task = [row for row in rows if row.arm.startswith(f"{task}/")]
        arms = measure_arms(of_task, TASKS[task])
        for name, look in looks.items():
            shown = [c for c in COEFFICIENTS if f"{task}/{name}/{c:g}" in arms]
            means = [mean_interval(arms[f"{task}/{name}/{c:g}"].whole) for c in shown]
            if shown:
                curve(each, shown, means, look)
        label_ticks(each, COEFFICIENTS)
        each.margins(x=0.12)  # keeps the labels of neighbouring panels apart
        each.set(title=f"{HARD_TASKS[task].title}\n{TASKS[task]:,} steps", ylim=(0, 1))
    axes[0].set_ylabel("mean success over training")
    add_legend(figure, axes, [look.name for look in looks.values()])
    seeds = seeds_of_arms(rows)
    figure.supxlabel(f"coefficient of the bonus, {seeds}")
    return {"hard-ppo-sensitivity": figure}


def _looks() -> dict[str, Look]:
    """Return how each reference is drawn."""
    names = [*(f"{EASEE} {floor:g}" for floor in FLOORS), FADING]
    easee = shades([f"EASEE, {name}" for name in names])
    return {PLAIN: METHODS[PLAIN]} | dict(zip(names, easee, strict=True))


FIGURE = Figure(
    name="hard-ppo-sensitivity",
    title="sensitivity of PPO to its coefficient and to the floor and fading of the reference",
    runs=runs_of(_arms()),
    seeds=10,
    backends={"population": BACKEND},
    draw=draw,
    table=table,
    config={"learner": dict(LEARNER), "bins": BINS, "steps": TASKS},
)
