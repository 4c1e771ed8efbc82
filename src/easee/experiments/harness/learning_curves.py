"""Learning curves, and a table of where they end."""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from easee.experiments.harness.figure import Measured, Row
from easee.experiments.harness.plots import curve
from easee.experiments.harness.rows import group
from easee.experiments.harness.statistics import (
    cell,
    difference_interval,
    improvement_interval,
    mean_interval,
    paired_interval,
)
from easee.viz.style import METHODS, Look

METRIC = "reward"


def binned(steps: ArrayLike, values: ArrayLike, *, total: int, bins: int) -> Measured:
    """Return the mean value in each of several equal parts of training, named by the part's end.

    `steps`, from 1 to `total`, tells when each value was measured. Parts without a value are left
    out.

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


def finals(rows: Iterable[Row], arm: str, after: int) -> dict[int, float]:
    """Return the mean reward after a step by seed, in the order of the seeds."""
    late = group((row for row in _rewards(rows, arm) if row.step > after), attrgetter("seed"))
    return {seed: float(np.mean([row.value for row in run])) for seed, run in late.items()}


def summary(
    rows: list[Row],
    arms: Mapping[str, str],
    *,
    baseline: str,
    after: int,
    what: str,
    paired: bool = False,
) -> list[list[str]]:
    """Return a table of the mean reward after a step, by arm, and comparisons with the baseline.

    The difference is paired if runs with the same seed have something in common, such as a layout.
    `arms` maps arms to labels, and `what` is the header of the rewards.
    """
    kind = "paired difference" if paired else "difference"
    base = finals(rows, baseline, after)
    lines = [["exploration", "seeds", what, "probability of improvement", kind]]
    for arm, label in arms.items():
        ends = finals(rows, arm, after)
        if not ends:
            continue
        improvement = difference = None
        if arm != baseline and base:
            improvement = improvement_interval(ends.values(), base.values())
            difference = difference_interval(ends.values(), base.values())
        if arm != baseline and paired:
            difference = paired_interval(ends, base)
        estimates = (mean_interval(ends.values()), improvement, difference)
        lines.append([label, str(len(ends)), *map(cell, estimates)])
    return lines


def draw_against(
    axes: Any, rows: list[Row], arm: str, look: Look, baseline: str = "uniform"
) -> None:
    """Draw the curve of an arm on epsilon-greedy's, under the arm's name in its colour."""
    draw_means(axes, rows, baseline, METHODS["epsilon-greedy"])
    draw_means(axes, rows, arm, look)
    axes.set_title(look.name, color=look.colour)


def draw_runs(
    axes: Any, rows: list[Row], arm: str, look: Look, *, baseline: str = "uniform", window: int = 1
) -> None:
    """Draw every run of an arm as a thin line, their mean, and the mean of epsilon-greedy.

    For few seeds, where an interval would hide whether some runs are stuck. Every line is a running
    mean over a number of points, `window`.
    """
    for run in group(_rewards(rows, arm), attrgetter("seed")).values():
        values = running_mean([row.value for row in run], window)
        axes.plot([row.step for row in run], values, color=look.colour, linewidth=0.9, alpha=0.5)
    for each, its_look in {baseline: METHODS["epsilon-greedy"], arm: look}.items():
        by_step = _by_step(_rewards(rows, each))
        means = running_mean([sum(part) / len(part) for part in by_step.values()], window)
        axes.plot(list(by_step), means, label=its_look.name, **its_look.style)
    axes.set_title(look.name, color=look.colour)


def running_mean(values: Sequence[float], window: int) -> list[float]:
    """Return the mean of each value and its neighbours, of fewer of them at the ends.

    >>> running_mean([1.0, 2.0, 6.0, 4.0], window=3)
    [1.5, 3.0, 4.0, 5.0]
    """
    half = window // 2
    return [float(np.mean(values[max(i - half, 0) : i + half + 1])) for i in range(len(values))]


def draw_means(
    axes: Any, rows: Iterable[Row], arm: str, look: Look, *, metric: str = METRIC
) -> None:
    """Draw the mean over seeds of a metric of an arm, with its interval, by step."""
    by_step = _by_step(row for row in rows if row.arm == arm and row.metric == metric)
    if by_step:
        means = [mean_interval(values) for values in by_step.values()]
        curve(axes, list(by_step), means, look)


def _by_step(rows: Iterable[Row]) -> dict[int, list[float]]:
    """Return the values of each step, in the order of the steps."""
    by_step = group(sorted(rows, key=attrgetter("step")), attrgetter("step"))
    return {step: [row.value for row in part] for step, part in by_step.items()}


def _rewards(rows: Iterable[Row], arm: str) -> list[Row]:
    """Return the rewards of an arm, sorted by seed and step."""
    rewards = (row for row in rows if row.arm == arm and row.metric == METRIC)
    return sorted(rewards, key=attrgetter("seed", "step"))
