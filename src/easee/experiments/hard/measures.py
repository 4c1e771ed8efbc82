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
        curves = [_curve(run, steps) for run in group(of_arm, attrgetter("seed")).values()]
        arms[arm] = Runs(
            [float(curve[-max(1, BINS // 10) :].mean()) for curve in curves],
            [float(curve.mean()) for curve in curves],
            [_steps_to(curve, steps) for curve in curves],
        )
    return arms


def with_all_parts(rows: Iterable[Row], steps: int) -> list[Row]:
    """Return the success of each run in every part of training, see `_curve`.

    Otherwise a mean over runs would be one over those that ended an episode in a part.
    """
    successes = [row for row in rows if row.metric == SUCCESS]
    return [
        of_run[0]._replace(step=round(steps * (i + 1) / BINS), value=float(value))
        for of_run in group(successes, attrgetter("key")).values()
        for i, value in enumerate(_curve(of_run, steps))
    ]


def _curve(run: list[Row], steps: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the success in each part of training, (BINS,).

    A part in which no episode ended has the value of the one before it, or 0.
    """
    curve = np.full(BINS, np.nan)
    for row in run:
        curve[min(round(row.step * BINS / steps), BINS) - 1] = row.value
    value = 0.0
    for i in range(BINS):
        value = curve[i] = value if np.isnan(curve[i]) else curve[i]
    return curve


def _steps_to(curve: np.ndarray[tuple[int], np.dtype[np.float64]], steps: int) -> float:
    """Return the end of the first window whose mean success reaches the threshold."""
    means = np.convolve(curve, np.full(WINDOW, 1.0 / WINDOW), mode="valid")
    reached = np.flatnonzero(means >= THRESHOLD - 1e-9)
    return float((reached[0] + WINDOW) * steps / BINS) if len(reached) else np.inf
