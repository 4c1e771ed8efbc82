"""What the learning figures share: curves over training, and a table of where they end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from easee.experiments.harness.figure import Measured, Row
from easee.experiments.harness.plots import COLOURS, GREY, bare, curve
from easee.experiments.harness.statistics import (
    Estimate,
    improvement_interval,
    mean_interval,
    paired_interval,
)
from easee.experiments.harness.store import group
from easee.viz.files import pyplot, save

METRIC = "reward"
FEW = 5  # seeds up to which every run is drawn, too


def binned(steps: ArrayLike, values: ArrayLike, *, total: int, bins: int) -> Measured:
    """Return the mean value in each of so many parts of training, named by the part's end.

    Args:
        steps: when each value was measured, from 1 to total.
        values: what was measured, say the reward of the episode that ended there.
        total: how long training was.
        bins: into how many parts it is cut; those without a value are left out.

    >>> binned([1, 2, 9], [0.0, 1.0, 5.0], total=10, bins=5)
    [(2, 'reward', 0.5), (10, 'reward', 5.0)]
    """
    ends = np.linspace(0, total, bins + 1)[1:]
    which = np.searchsorted(ends, np.asarray(steps))
    found = np.asarray(values, dtype=float)
    return [
        (round(ends[i]), METRIC, float(found[which == i].mean()))
        for i in range(bins)
        if (which == i).any()
    ]


def arm_curve(rows: Iterable[Row], arm: str) -> tuple[list[int], list[Estimate]]:
    """Return an arm's curve: steps, and the mean over seeds with its interval at each."""
    values = {
        step: list(by_seed.values())
        for (name, metric, step), by_seed in group(rows).items()
        if name == arm and metric == METRIC
    }
    steps = sorted(values)
    return steps, [mean_interval(values[step]) for step in steps]


def finals(rows: Iterable[Row], arm: str, after: int) -> list[float]:
    """Return every seed's mean reward after a step, in the order of the seeds."""
    return list(_finals(rows, arm, after).values())


def _finals(rows: Iterable[Row], arm: str, after: int) -> dict[int, float]:
    late = _runs((row for row in rows if row.step > after), arm)
    return {seed: float(np.mean([value for _, value in points])) for seed, points in late.items()}


def summary(
    rows: list[Row], arms: Mapping[str, str], *, baseline: str, after: int, what: str
) -> list[list[str]]:
    """Return the lines of a table: where each arm ends, and how it compares with the baseline.

    The difference is paired: of runs with the same seed, which in DoorKey is the same layout.

    Args:
        rows: all rows.
        arms: from arms to what they are called.
        baseline: the arm to compare with.
        after: from where on rewards count.
        what: the header of the rewards.
    """
    base = _finals(rows, baseline, after)
    lines = [["exploration", "seeds", what, "probability of improvement", "paired difference"]]
    for arm, label in arms.items():
        found = _finals(rows, arm, after)
        if found:
            better = difference = "-"
            both = sorted(found.keys() & base.keys())
            if arm != baseline and base:
                better = cell(improvement_interval(list(found.values()), list(base.values())))
            if arm != baseline and both:
                pairs = [found[seed] for seed in both], [base[seed] for seed in both]
                difference = cell(paired_interval(*pairs))
            values = cell(mean_interval(list(found.values())))
            lines.append([label, str(len(found)), values, better, difference])
    return lines


def cell(estimate: Estimate) -> str:
    """Return an estimate as text."""
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def draw_curves(axes: Any, rows: list[Row], arms: Mapping[str, str], *, baseline: str) -> None:
    """Draw the curves of some arms with their intervals; the baseline is grey.

    Of few seeds every run is drawn, too: there an interval hides whether some are stuck.
    """
    colours = iter(COLOURS)
    for arm, label in arms.items():
        steps, estimates = arm_curve(rows, arm)
        if steps:
            colour = GREY if arm == baseline else next(colours)
            curve(axes, steps, estimates, color=colour, label=label)
            runs = _runs(rows, arm).values()
            for points in runs if 1 < len(runs) <= FEW else []:
                axes.plot(*zip(*points, strict=True), color=colour, linewidth=0.6, alpha=0.6)
    bare(axes)


def _runs(rows: Iterable[Row], arm: str) -> dict[int, list[tuple[int, float]]]:
    """Return the points of each run of an arm, by its seed."""
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
    baseline: str,
    title: str,
    caption: str = "",
    labels: Sequence[str] = ("agent steps", "mean reward"),
    limits: tuple[float, float] | None = None,
) -> Path:
    """Draw one panel of learning curves."""
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    draw_curves(axes, rows, arms, baseline=baseline)
    axes.set_xlabel(labels[0])
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel(labels[1])
    axes.set_title(title)
    axes.legend(frameon=False, fontsize=9)
    if limits is not None:
        axes.set_ylim(*limits)
    if caption:
        figure.supxlabel(caption, fontsize=8)
    return save(figure, path)
