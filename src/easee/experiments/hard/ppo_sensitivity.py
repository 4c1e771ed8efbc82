"""`hard-ppo-sensitivity`: PPO's coefficient, the floor of the reference, and whether it fades."""

from __future__ import annotations

from typing import Any

from easee.experiments.hard.measures import measure_arms
from easee.experiments.hard.ppo_training import BACKEND, LEARNER, PLAYS
from easee.experiments.hard.tasks import BINS
from easee.experiments.harness.figure import Figure, Row, runs_of
from easee.experiments.harness.plots import COLOURS, GREY, curve, finish
from easee.experiments.harness.rows import count_seeds, seeds_text
from easee.experiments.harness.statistics import cell, mean_interval
from easee.viz.files import subplots

TASKS = {"goal-31": 200_000, "doorkey": 500_000}  # steps of training
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
        for arm, runs in measure_arms(of_task, TASKS[task]).items():
            played = [
                [row.value for row in of_task if (row.arm, row.metric) == (arm, metric)]
                for metric in PLAYS
            ]
            measures = [runs.last, runs.whole, *played]
            lines.append([*arm.split("/"), *(cell(mean_interval(m)) for m in measures)])
    return lines


def draw(rows: list[Row]) -> dict[str, Any]:
    """Draw the mean success over training by coefficient, one panel per task."""
    figure, panels = subplots(1, len(TASKS), figsize=(4.6 * len(TASKS), 4.4), sharey=True)
    names = [PLAIN, *(f"{EASEE} {floor:g}" for floor in FLOORS), FADING]
    labels = ["PPO", *(f"EASEE, {name}" for name in names[1:])]
    for axes, task in zip(panels, TASKS, strict=True):
        of_task = [row for row in rows if row.arm.startswith(f"{task}/")]
        arms = measure_arms(of_task, TASKS[task])
        colours = (GREY, COLOURS[0], COLOURS[4], COLOURS[3])
        for name, label, colour in zip(names, labels, colours, strict=True):
            shown = [c for c in COEFFICIENTS if f"{task}/{name}/{c:g}" in arms]
            means = [mean_interval(arms[f"{task}/{name}/{c:g}"].whole) for c in shown]
            if shown:
                curve(axes, shown, means, color=colour, label=label, marker="o")
        axes.set_xscale("log")
        axes.set_xticks(COEFFICIENTS, [f"{c:g}" for c in COEFFICIENTS])
        axes.minorticks_off()
        axes.set_title(f"{task}, {TASKS[task]:,} steps", fontsize=11)
        finish(axes, xlabel="coefficient of the bonus", ylim=(0, 1))
    panels[0].set_ylabel("mean success over training")
    handles, texts = panels[0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside upper center", ncols=3, frameon=False, fontsize=10)
    figure.supxlabel(seeds_text(count_seeds(rows), intervals=True), fontsize=10)
    return {"hard-ppo-sensitivity": figure}


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
