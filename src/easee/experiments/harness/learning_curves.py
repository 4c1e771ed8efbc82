"""Learning curves, and a table of where they end."""

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from easee.experiments.harness.figure import Measured, Row
from easee.experiments.harness.plots import BASELINE_FIRST, curve
from easee.experiments.harness.rows import group
from easee.experiments.harness.statistics import cell, improvement_interval, mean_interval

METRIC = "reward"
FEW = 5  # largest number of seeds for which every run is drawn


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
    rows: list[Row], arms: Mapping[str, str], *, baseline: str, after: int, what: str
) -> list[list[str]]:
    """Return a table of the mean reward after a step, by arm, and comparisons with the baseline.

    The difference is paired: between runs with the same seed, which in DoorKey is the same layout.
    `arms` maps arms to labels, and `what` is the header of the rewards.
    """
    base = finals(rows, baseline, after)
    lines = [["exploration", "seeds", what, "probability of improvement", "paired difference"]]
    for arm, label in arms.items():
        ends = finals(rows, arm, after)
        if not ends:
            continue
        improvement = difference = None
        if arm != baseline and base:
            improvement = improvement_interval(ends.values(), base.values())
        if arm != baseline and (shared := sorted(ends.keys() & base.keys())):
            difference = mean_interval(ends[seed] - base[seed] for seed in shared)
        estimates = (mean_interval(ends.values()), improvement, difference)
        lines.append([label, str(len(ends)), *map(cell, estimates)])
    return lines


def draw_curves(axes: Any, rows: list[Row], arms: Mapping[str, str]) -> None:
    """Draw the curves of arms with their intervals; the first arm is the baseline and grey.

    With few seeds every run is drawn too: an interval would hide whether some are stuck.
    """
    for (arm, label), colour in zip(arms.items(), BASELINE_FIRST, strict=False):
        rewards = _rewards(rows, arm)
        if not rewards:
            continue
        draw_means(axes, rewards, arm, color=colour, label=label)
        runs = group(rewards, attrgetter("seed")).values()
        for run in runs if 1 < len(runs) <= FEW else []:
            points = [(row.step, row.value) for row in run]
            axes.plot(*zip(*points, strict=True), color=colour, linewidth=0.6, alpha=0.6)


def draw_means(
    axes: Any, rows: Iterable[Row], arm: str, *, metric: str = METRIC, **style: Any
) -> None:
    """Draw the mean over seeds of a metric of an arm, with its interval, by step."""
    chosen = (row for row in rows if row.arm == arm and row.metric == metric)
    by_step = group(sorted(chosen, key=attrgetter("step")), attrgetter("step"))
    means = [mean_interval(row.value for row in part) for part in by_step.values()]
    curve(axes, list(by_step), means, **style)


def _rewards(rows: Iterable[Row], arm: str) -> list[Row]:
    """Return the rewards of an arm, sorted by seed and step."""
    rewards = (row for row in rows if row.arm == arm and row.metric == METRIC)
    return sorted(rewards, key=attrgetter("seed", "step"))
