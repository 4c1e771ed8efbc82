"""`hard`: DQN where a reward must be found, with EASEE and with what one would use instead."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from easee.experiments.hard.arms import (
    COUNT_WEIGHT,
    EXPLORERS,
    MU,
    RND_WEIGHT,
    explorers_of,
)
from easee.experiments.hard.measures import Runs, measure_arms
from easee.experiments.hard.tasks import BINS, LEARNER, TASKS, HardTask
from easee.experiments.hard.training import BACKEND, COST, SUCCESS
from easee.experiments.harness.figure import Figure, Row, Run
from easee.experiments.harness.learning_curves import draw_means
from easee.experiments.harness.plots import COLOURS, GREY, finish
from easee.experiments.harness.rows import count_seeds, seeds_text
from easee.experiments.harness.statistics import (
    cell,
    improvement_interval,
    mean_interval,
    stratified_interval,
)
from easee.viz.files import subplots

SEEDS = 30
MOST_COLUMNS = 4  # panels in a row of the picture
COLOUR = {
    "uniform": GREY,
    "useful": COLOURS[5],
    "zeta": COLOURS[3],
    "count": COLOURS[2],
    "rnd": COLOURS[7],
    "exact": COLOURS[4],
    "usual": COLOURS[0],
    "discovered": COLOURS[1],
}
HEADER = [
    "task", "exploration", "seeds", "success, last tenth", "success, whole training",
    "steps to 90%", "runs that get there", "probability of improvement",
]  # fmt: skip


def make_runs(steps: int | None, seeds: int) -> list[Run]:
    """Return the runs of all tasks and explorers, seeds first within an arm."""
    return [
        Run(
            f"{task.name}/{name}",
            seed,
            {"task": task.name, "explorer": name, "steps": steps or task.steps},
        )
        for task in TASKS.values()
        for name in explorers_of(task)
        for seed in range(seeds)
    ]


def shown_tasks(rows: list[Row], steps: int | None) -> list[tuple[HardTask, int, dict[str, Runs]]]:
    """Return the tasks that have runs, with their number of steps and measures by explorer."""
    found = []
    for task in TASKS.values():
        of_task = [row for row in rows if row.arm.startswith(f"{task.name}/")]
        total = steps or task.steps
        arms = measure_arms(of_task, total)
        if arms:
            by_name = {arm.rpartition("/")[2]: runs for arm, runs in arms.items()}
            found.append((task, total, {n: by_name[n] for n in EXPLORERS if n in by_name}))
    return found


def table(steps: int | None, rows: list[Row]) -> list[list[str]]:
    """Return a line for each task and explorer, then means over tasks and steps of discovery."""
    lines, tasks = [HEADER], shown_tasks(rows, steps)
    for task, total, arms in tasks:
        base = arms.get("uniform")
        for name, runs in arms.items():
            better = None
            if base is not None and name != "uniform":
                better = improvement_interval(runs.whole, base.whole)
            lines.append([task.name, EXPLORERS[name], *_cells(runs, total), cell(better)])
    lines += _means_over_tasks([arms for _, _, arms in tasks])
    costs = [row for row in rows if row.metric == COST]
    for task in TASKS.values():
        values = [row.value for row in costs if row.arm == f"{task.name}/discovered"]
        if values:
            lines.append([task.name, COST, "", f"{np.mean(values):,.0f}", *[""] * 4])
    return lines


def _means_over_tasks(tasks: list[dict[str, Runs]]) -> list[list[str]]:
    """Return a line for each explorer that has runs of every task."""
    names = [name for name in EXPLORERS if all(name in arms for arms in tasks)]
    return [
        [
            f"mean of {len(tasks)} tasks",
            EXPLORERS[name],
            "",
            cell(stratified_interval(arms[name].last for arms in tasks)),
            cell(stratified_interval(arms[name].whole for arms in tasks)),
            *[""] * 3,
        ]
        for name in names
        if len(tasks) > 1
    ]


def _cells(runs: Runs, total: int) -> list[str]:
    median = runs.median_steps
    return [
        str(len(runs.last)),
        cell(mean_interval(runs.last)),
        cell(mean_interval(runs.whole)),
        f"{median:,.0f}" if np.isfinite(median) else f"over {total:,}",
        f"{runs.share_solved:.0%}",
    ]


def draw(steps: int | None, rows: list[Row]) -> dict[str, Any]:
    """Draw the learning curves, one panel per task."""
    tasks = shown_tasks(rows, steps)
    lines = -(-len(tasks) // MOST_COLUMNS)
    columns = -(-len(tasks) // lines)
    figure, panels = subplots(
        lines, columns, figsize=(3.8 * columns, 3.3 * lines + 0.9), squeeze=False, sharey=True
    )
    for axes, (task, total, arms) in zip(panels.flat, tasks, strict=False):
        for name in arms:
            style = {"color": COLOUR[name], "label": EXPLORERS[name]}
            draw_means(axes, rows, f"{task.name}/{name}", metric=SUCCESS, **style)
        axes.set_title(task.name.removesuffix("-v0"), fontsize=11)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:,.0f}k" if x else "0")
        finish(axes, xlim=(0, total), ylim=(-0.02, 1.02))
    for axes in panels.flat[len(tasks) :]:
        axes.set_visible(False)
    for axes in panels[:, 0]:
        axes.set_ylabel("share of successful episodes")
    _legend(figure, panels)
    figure.supxlabel(
        f"steps in the environment, {seeds_text(count_seeds(rows), intervals=True)}", fontsize=10
    )
    return {"hard": figure}


def _legend(figure: Any, panels: Any) -> None:
    """Add one legend above all panels."""
    handles = {}
    for axes in panels.flat:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles[label] = handle
    ordered = {label: handles[label] for label in EXPLORERS.values() if label in handles}
    figure.legend(
        ordered.values(), ordered, loc="outside upper center", ncols=4, frameon=False, fontsize=10
    )


def make_figure(steps: int | None = None) -> Figure:
    """Return the figure, with the tasks' own numbers of steps or another."""
    return Figure(
        name="hard",
        title="DQN where a reward must be found",
        runs=partial(make_runs, steps),
        seeds=SEEDS,
        backends={"population": BACKEND},
        draw=partial(draw, steps),
        table=partial(table, steps),
        config={
            "learner": dict(LEARNER),
            "bins": BINS,
            "mu": MU,
            "count weight": COUNT_WEIGHT,
            "rnd weight": RND_WEIGHT,
            "steps": steps,
        },
        folder="hard" if steps is None else f"hard-{steps}",
        steps=steps,
        variants={"population": make_figure},
    )


FIGURE = make_figure()
