"""Measures of sample efficiency: success over training, at its end, and the steps to reach it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from easee.experiments.hard.tasks import BINS
from easee.experiments.hard.training import SUCCESS
from easee.experiments.harness.figure import Row
from easee.experiments.harness.rows import group

THRESHOLD = 0.9  # success that counts as solved
Curve = np.ndarray[tuple[int], np.dtype[np.float64]]  # (BINS,)
WINDOW = 3  # points of a curve over which success is averaged to decide whether it is solved


@dataclass(frozen=True)
class Runs:
    """Measures of the runs of an arm, in the order of their seeds.

    Attributes:
        last: success in the last tenth of training.
        whole: mean success over training, the area under the curve.
        solved: number of steps after which success first exceeds 90%, infinite if it never does.
    """

    last: list[float]
    whole: list[float]
    solved: list[float]

    @property
    def share_solved(self) -> float:
        """Share of the runs that get to 90% success."""
        return float(np.isfinite(self.solved).mean())

    @property
    def median_steps(self) -> float:
        """Median number of steps to 90% success; infinite if most runs never get there."""
        return float(np.quantile(self.solved, 0.5, method="higher"))


def measure_arms(rows: Iterable[Row], steps: int) -> dict[str, Runs]:
    """Return the measures of each arm whose runs have a number of steps."""
    successes = sorted(
        (row for row in rows if row.metric == SUCCESS), key=attrgetter("seed", "step")
    )
    arms = {}
    for arm, of_arm in group(successes, attrgetter("arm")).items():
        points = [_points(run, steps) for run in group(of_arm, attrgetter("seed")).values()]
        curves = [_filled(run) for run in points]
        arms[arm] = Runs(
            [float(curve[-max(1, BINS // 10) :].mean()) for curve in curves],
            [float(curve.mean()) for curve in curves],
            [_steps_to(run, steps) for run in points],
        )
    return arms


def with_all_parts(rows: Iterable[Row], steps: int) -> list[Row]:
    """Return the success of each run in every part of training, up to the last one of its arm.

    Otherwise a mean over runs would be one over those that ended an episode in a part.
    """
    successes = [row for row in rows if row.metric == SUCCESS]
    return [
        of_run[0]._replace(step=round(steps * (i + 1) / BINS), value=value)
        for of_arm in group(successes, attrgetter("arm")).values()
        for of_run in group(of_arm, attrgetter("seed")).values()
        for i, value in enumerate(
            _filled(_points(of_run, steps))[: _count_parts(of_arm, steps)].tolist()
        )
    ]


def _count_parts(rows: list[Row], steps: int) -> int:
    """Return how many parts of training there are up to the last one with a row."""
    return int(np.flatnonzero(~np.isnan(_points(rows, steps)))[-1]) + 1


def _points(run: list[Row], steps: int) -> Curve:
    """Return the success in each part of training; NaN where no episode ended."""
    points = np.full(BINS, np.nan)
    for row in run:
        points[min(round(row.step * BINS / steps), BINS) - 1] = row.value
    return points


def _filled(points: Curve) -> Curve:
    """Return a curve in which a part without an episode has the value before it, or 0."""
    curve, value = points.copy(), 0.0
    for i in range(BINS):
        value = curve[i] = value if np.isnan(curve[i]) else curve[i]
    return curve


def _steps_to(points: Curve, steps: int) -> float:
    """Return the end of the first window whose mean success reaches the threshold.

    Episodes ended in all parts of the window. Otherwise a short, successful episode could count for
    parts in which longer ones have not failed yet.
    """
    means = np.convolve(points, np.full(WINDOW, 1.0 / WINDOW), mode="valid")
    reached = np.flatnonzero(means >= THRESHOLD - 1e-9)  # False for NaN
    return float((reached[0] + WINDOW) * steps / BINS) if len(reached) else np.inf
