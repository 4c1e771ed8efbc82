"""The result of `easee.tune`: what was measured, what follows from it, and its tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import Floats
from easee._utils.tables import html_lines, html_table, text_table
from easee.policy import ExplorationPolicy
from easee.priors.equivalences import Equivalences

LEVEL = 0.05  # of intervals, two-sided
UNIFORM, EXTENDED = "uniform", "temporally extended"
COLUMNS = ("actions", "nodes", "states seen", "times uniform", "blocked")

Interval = tuple[float, float, float]  # value, low, high


@dataclass(frozen=True)
class Measurement:
    """The states that one way of exploring saw in several trials.

    Attributes:
        name: "uniform", "temporally extended" or "depth D".
        depth: depth of the policy; None for the other two.
        nodes: number of nodes of the policy's graph; None for the other two.
        states: float (n,), number of distinct states that each trial saw.
        trials: int (n,), the numbers of the trials. Trials with the same number have the same
            environment seed, whatever explores.
        blocked: share of steps that did not change the state.
    """

    name: str
    depth: int | None
    nodes: int | None
    states: Floats
    trials: NDArray[np.int64]
    blocked: float

    @property
    def mean(self) -> float:
        """Mean number of states seen in a trial."""
        return float(self.states.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the mean, by Student's t."""
        return _t_interval(self.states, LEVEL)

    def ratio(self, other: Measurement, level: float = LEVEL, *, since: int = 0) -> Interval:
        """Return how many times as many states were seen as by another one, with its interval.

        Only the trials that both have are compared, each with its counterpart: the interval is
        Student's of the mean logarithm of their ratio. `since` is the first trial that counts.
        """
        common, ours, theirs = np.intersect1d(self.trials, other.trials, return_indices=True)
        counts = common >= since
        logs = np.log(self.states[ours[counts]]) - np.log(other.states[theirs[counts]])
        low, high = _t_interval(logs, level)
        return float(np.exp(logs.mean())), float(np.exp(low)), float(np.exp(high))


@dataclass(frozen=True)
class Tuning:
    """How many states each depth of a prior's policy sees in an environment.

    Attributes:
        prior: the prior, with the actions in the environment's order.
        measurements: uniform actions, temporally extended ones, and each depth.
        depth: the recommended depth, or None if no depth helps.
        reason: a sentence or two on the recommendation.
        trial_steps: number of steps of each trial.
        env_steps: number of steps in the environment, of all trials together.
        notes: sentences that describe how the result was obtained.
        policies: the policy of each depth.
    """

    prior: Equivalences
    measurements: tuple[Measurement, ...]
    depth: int | None
    reason: str
    trial_steps: int
    env_steps: int
    notes: tuple[str, ...]
    policies: Mapping[int, ExplorationPolicy] = field(repr=False)

    @property
    def policy(self) -> ExplorationPolicy | None:
        """The policy of the recommended depth, or None if no depth helps."""
        return None if self.depth is None else self.policies[self.depth]

    @property
    def uniform(self) -> Measurement:
        """The measurement of uniform actions."""
        return self.measurements[0]

    def rows(self) -> list[list[str]]:
        """Return the rows of the table, in the columns `COLUMNS`."""
        return [self._row(measurement) for measurement in self.measurements]

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """Draw the states seen over the depth into an `.svg`, `.png` or `.pdf` file.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        from easee.viz.coverage import draw_coverage

        depths = [m for m in self.measurements if m.depth is not None]
        lines = [m for m in self.measurements if m.depth is None]
        return draw_coverage(
            path,
            [(int(m.depth or 0), m.mean, *m.interval) for m in depths],
            {m.name: (m.mean, *m.interval) for m in lines},
            steps=self.trial_steps,
            recommended=self.depth,
        )

    def __repr__(self) -> str:
        return f"Tuning(depth={self.depth}, measured={len(self.measurements)}, {self.reason!r})"

    def __str__(self) -> str:
        table = text_table(COLUMNS, self.rows(), right=COLUMNS[1:])
        notes = [fill(note, 80, initial_indent="- ", subsequent_indent="  ") for note in self.notes]
        return "\n".join([table, "", fill(self.reason, 80), "", *notes])

    def _repr_html_(self) -> str:
        table = html_table(COLUMNS, self.rows(), right=COLUMNS[1:])
        return table + html_lines([self.reason, *self.notes])

    def _row(self, measurement: Measurement) -> list[str]:
        low, high = measurement.interval
        times, digits = "1", int(measurement.mean < 100)
        if measurement is not self.uniform:
            times = "{:.2f} [{:.2f}, {:.2f}]".format(*measurement.ratio(self.uniform))
        recommended = measurement.depth is not None and measurement.depth == self.depth
        return [
            measurement.name + (" *" if recommended else ""),
            "" if measurement.nodes is None else f"{measurement.nodes:,}",
            f"{measurement.mean:,.{digits}f} ± {(high - low) / 2:,.{digits}f}",
            times,
            f"{measurement.blocked:.0%}",
        ]


def _t_interval(values: Any, level: float) -> tuple[float, float]:
    from scipy.stats import t  # lazy: it would double the time of `import easee`

    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return -np.inf, np.inf
    margin = float(t.isf(level / 2, n - 1) * np.std(values, ddof=1) / np.sqrt(n))
    return mean - margin, mean + margin
