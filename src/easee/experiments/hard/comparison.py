"""Tables and learning curves that compare the arms of several tasks, named `TASK/METHOD`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np

from easee.errors import ArgumentError
from easee.experiments.hard.measures import Runs, measure_arms, with_all_parts
from easee.experiments.hard.tasks import BINS, TASKS, HardTask
from easee.experiments.hard.training import COST, SUCCESS
from easee.experiments.harness.figure import Backend, Figure, Row, Run
from easee.experiments.harness.learning_curves import draw_means
from easee.experiments.harness.plots import add_legend, panels, steps_axis
from easee.experiments.harness.rows import seeds_of_arms
from easee.experiments.harness.statistics import (
    cell,
    improvement_interval,
    mean_interval,
    stratified_interval,
)
from easee.viz.style import METHODS, Look

SEEDS = 30
HEADER = [
    "task", "method", "seeds", "success, last tenth", "success, whole training",
    "steps to 90% (share of runs)", "beats baseline",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Methods that are compared on several tasks: a figure for each length of training.

    Attributes:
        name: name of the figure.
        title: one line.
        labels: by name, what a method is called.
        baseline: name of the method that the others improve on.
        steps: by task, the default number of steps of training.
        methods: by task, the names of the methods that are compared on it.
        backend: what trains the runs.
        config: everything else that the results depend on, as plain data.
        settings: by task and method, additional settings of its runs.
        looks: by method, how it is drawn.
    """

    name: str
    title: str
    labels: Mapping[str, str]
    baseline: str
    steps: Mapping[str, int]
    methods: Mapping[str, list[str]]
    backend: Backend
    config: Mapping[str, Any]
    settings: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    looks: Mapping[str, Look] = field(default_factory=lambda: METHODS)

    def figure(self, steps: int | None = None) -> Figure:
        """Return the figure, with the tasks' own numbers of steps or another."""
        if steps is not None and steps < BINS:
            raise ArgumentError(
                f"expected at least {BINS} steps, one for each point of a curve, found {steps}"
            )
        chosen = self if steps is None else replace(self, steps=dict.fromkeys(self.steps, steps))
        return Figure(
            name=self.name,
            title=self.title,
            runs=chosen.runs,
            seeds=SEEDS,
            backends={"population": self.backend},
            draw=chosen.draw,
            table=chosen.table,
            config={**self.config, "steps": dict(chosen.steps)},
            folder=self.name if steps is None else f"{self.name}-{steps}",
            steps=steps,
            variants={"population": self.figure},
        )

    def runs(self, seeds: int) -> list[Run]:
        """Return the runs of all tasks and methods, seeds first within an arm."""
        return [
            Run(
                f"{task}/{name}",
                seed,
                {"task": task, "explorer": name, "steps": self.steps[task]}
                | dict(self.settings.get(task, {}).get(name, {})),
            )
            for task, names in self.methods.items()
            for name in names
            for seed in range(seeds)
        ]

    def table(self, rows: list[Row]) -> list[list[str]]:
        """Return a line for each task and method, then means over tasks and steps of discovery."""
        lines, tasks = [HEADER], self.measure(rows)
        for task, arms in tasks:
            base = arms.get(self.baseline)
            for name, runs in arms.items():
                better = None
                if base is not None and name != self.baseline:
                    better = improvement_interval(runs.whole, base.whole)
                cells = _cells(runs, self.steps[task.name])
                lines.append([task.title, self.labels[name], *cells, cell(better)])
        lines += self._means_over_tasks([arms for _, arms in tasks])
        for task, arms in tasks:
            costs = sorted(
                (r for r in rows if r.arm == f"{task.name}/discovered" and r.metric == COST),
                key=attrgetter("seed"),
            )
            if costs:
                steps = f"{np.mean([row.value for row in costs]):,.0f}"
                ranges = _ranges_over_discoveries(task, costs, arms["discovered"])
                lines.append([task.title, COST, *ranges, steps, ""])
        return lines

    def draw(self, rows: list[Row]) -> dict[str, Any]:
        """Draw the learning curves, one panel per task."""
        tasks = self.measure(rows)
        columns = 2 if len(tasks) <= 6 else 3
        figure, axes, empty = panels(len(tasks), columns=columns, height=2.6, sharey=True)
        for each, (task, arms) in zip(axes, tasks, strict=True):
            total = self.steps[task.name]
            curves = with_all_parts((r for r in rows if r.arm.startswith(f"{task.name}/")), total)
            for method in arms:
                look = self.looks[method].called(self.labels[method])
                draw_means(each, curves, f"{task.name}/{method}", look, metric=SUCCESS)
            each.set_title(task.title)
            steps_axis(each)
            each.set(xlim=(0, total), ylim=(-0.02, 1.02))
        figure.supylabel("share of successful episodes")
        # A narrow panel has no room for the legend.
        room = empty if columns == 2 or len(empty) > 1 else ()
        add_legend(figure, axes, self.labels.values(), empty=room)
        seeds = seeds_of_arms(rows)
        figure.supxlabel(f"steps in the environment, {seeds}")
        return {self.name: figure}

    def measure(self, rows: list[Row]) -> list[tuple[HardTask, dict[str, Runs]]]:
        """Return the tasks that have runs, with their measures by method."""
        found = []
        for task in TASKS.values():
            of_task = [row for row in rows if row.arm.startswith(f"{task.name}/")]
            arms = measure_arms(of_task, self.steps[task.name])
            if arms:
                by_name = {arm.rpartition("/")[2]: runs for arm, runs in arms.items()}
                found.append((task, {n: by_name[n] for n in self.labels if n in by_name}))
        return found

    def _means_over_tasks(self, tasks: list[dict[str, Runs]]) -> list[list[str]]:
        """Return a line for each method that has runs of every task."""
        names = [name for name in self.labels if all(name in arms for arms in tasks)]
        return [
            [
                f"mean of {len(tasks)} tasks",
                self.labels[name],
                "",
                cell(stratified_interval(arms[name].last for arms in tasks)),
                cell(stratified_interval(arms[name].whole for arms in tasks)),
                *[""] * 2,
            ]
            for name in names
            if len(tasks) > 1
        ]


def _ranges_over_discoveries(task: HardTask, costs: list[Row], runs: Runs) -> list[str]:
    """Return the number of discoveries, and the range of their mean successes if runs share them.

    Runs with the same discovery are not independent, which their intervals leave out.
    """
    discoveries = np.array([row.seed % task.discoveries for row in costs])  # of each run
    different = np.unique(discoveries)
    if len(different) == len(costs):
        return [str(len(costs)), "", ""]
    means = [
        [np.mean(np.asarray(values)[discoveries == i]) for i in different]
        for values in (runs.last, runs.whole)
    ]
    return [str(len(different)), *(f"{min(each):.2f} to {max(each):.2f}" for each in means)]


def steps_to_success(runs: Runs, total: int) -> str:
    """Return the median number of steps to 90% success, and the share of runs that get there."""
    median = runs.median_steps
    steps = f"{median:,.0f}" if np.isfinite(median) else f"over {total:,}"
    return f"{steps} ({runs.share_solved:.0%})"


def _cells(runs: Runs, total: int) -> list[str]:
    return [
        str(len(runs.last)),
        cell(mean_interval(runs.last)),
        cell(mean_interval(runs.whole)),
        steps_to_success(runs, total),
    ]
