"""Learning curves, and a table of where they end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from easee.experiments.harness.figure import Measured, Row
from easee.experiments.harness.plots import BASELINE_FIRST, bare, curve, subplots
from easee.experiments.harness.statistics import (
    Estimate,
    improvement_interval,
    mean_interval,
    paired_interval,
)
from easee.viz.files import save

METRIC = "reward"
FEW = 5  # largest number of seeds for which every run is drawn


def binned(steps: ArrayLike, values: ArrayLike, *, total: int, bins: int) -> Measured:
    """Return the mean value in each of several equal parts of training, named by the part's end.

    Args:
        steps: when each value was measured, from 1 to total.
        values: what was measured, for example the reward of the episode that ended there.
        total: length of training.
        bins: number of parts; those without a value are left out.

    >>> binned([1, 2, 9], [0.0, 1.0, 5.0], total=10, bins=5)
    [(2, 'reward', 0.5), (10, 'reward', 5.0)]
    """
    ends = np.linspace(0, total, bins + 1)[1:]
    part = np.searchsorted(ends, np.asarray(steps))
    array = np.asarray(values, dtype=float)
    return [
        (round(ends[i]), METRIC, float(array[part == i].mean()))
        for i in range(bins)
        if (part == i).any()
    ]


def finals(rows: Iterable[Row], arm: str, after: int) -> list[float]:
    """Return the mean reward of every seed after a step, in the order of the seeds."""
    return list(_finals(rows, arm, after).values())


def _finals(rows: Iterable[Row], arm: str, after: int) -> dict[int, float]:
    late = _runs((row for row in rows if row.step > after), arm)
    return {seed: float(np.mean([value for _, value in points])) for seed, points in late.items()}


def summary(
    rows: list[Row], arms: Mapping[str, str], *, baseline: str, after: int, what: str
) -> list[list[str]]:
    """Return the lines of a table: where each arm ends, and how it compares with the baseline.

    The difference is paired: between runs with the same seed, which in DoorKey is the same layout.

    Args:
        rows: all rows.
        arms: labels by arm.
        baseline: arm to compare with.
        after: step after which rewards count.
        what: header of the rewards.
    """
    base = _finals(rows, baseline, after)
    lines = [["exploration", "seeds", what, "probability of improvement", "paired difference"]]
    for arm, label in arms.items():
        ends = _finals(rows, arm, after)
        if ends:
            improvement = difference = "-"
            shared = sorted(ends.keys() & base.keys())
            if arm != baseline and base:
                improvement = cell(improvement_interval(list(ends.values()), list(base.values())))
            if arm != baseline and shared:
                pairs = [ends[seed] for seed in shared], [base[seed] for seed in shared]
                difference = cell(paired_interval(*pairs))
            mean = cell(mean_interval(list(ends.values())))
            lines.append([label, str(len(ends)), mean, improvement, difference])
    return lines


def cell(estimate: Estimate | None, form: str = ".2f") -> str:
    """Return an estimate as text; "-" for None.

    >>> cell(Estimate(0.5, 0.25, 1.0))
    '0.50 [0.25, 1.00]'
    """
    if estimate is None:
        return "-"
    return f"{estimate.value:{form}} [{estimate.low:{form}}, {estimate.high:{form}}]"


def draw_curves(axes: Any, rows: list[Row], arms: Mapping[str, str]) -> None:
    """Draw the curves of arms with their intervals; the first arm is the baseline and grey.

    With few seeds every run is drawn too: an interval would hide whether some are stuck.
    """
    for (arm, label), colour in zip(arms.items(), BASELINE_FIRST, strict=False):
        runs = _runs(rows, arm).values()
        values: dict[int, list[float]] = {}
        for step, value in sorted(chain.from_iterable(runs), key=itemgetter(0)):
            values.setdefault(step, []).append(value)
        if values:
            estimates = [mean_interval(sample) for sample in values.values()]
            curve(axes, list(values), estimates, color=colour, label=label)
        for points in runs if 1 < len(runs) <= FEW else []:
            axes.plot(*zip(*points, strict=True), color=colour, linewidth=0.6, alpha=0.6)
    bare(axes)


def _runs(rows: Iterable[Row], arm: str) -> dict[int, list[tuple[int, float]]]:
    """Return the points of each run of an arm, by seed."""
    by_seed: dict[int, list[tuple[int, float]]] = {}
    for row in rows:
        if row.arm == arm and row.metric == METRIC:
            by_seed.setdefault(row.seed, []).append((row.step, row.value))
    return {seed: sorted(by_seed[seed]) for seed in sorted(by_seed)}


def plot_learning(
    rows: list[Row],
    path: Path,
    *,
    arms: Mapping[str, str],
    title: str,
    caption: str = "",
    limits: tuple[float, float] | None = None,
) -> Path:
    """Draw one panel of learning curves over the agent's steps.

    Args:
        rows: all rows.
        path: file of the picture.
        arms: labels by arm, the baseline first.
        title: title of the panel.
        caption: remark below the panel.
        limits: limits of the rewards.
    """
    figure, axes = subplots(size=(8, 5))
    draw_curves(axes, rows, arms)
    axes.set_xlabel("agent steps")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel("mean reward")
    axes.set_title(title)
    axes.legend(frameon=False, fontsize=9)
    if limits is not None:
        axes.set_ylim(*limits)
    if caption:
        figure.supxlabel(caption, fontsize=8)
    return save(figure, path)
