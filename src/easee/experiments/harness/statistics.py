"""Statistics over seeds: means, bootstrap intervals and comparisons.

After Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice" (2021).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from easee.errors import ArgumentError

RESAMPLES = 2000
Values = NDArray[np.float64]


class Estimate(NamedTuple):
    """A value with its 95% interval."""

    value: float
    low: float
    high: float


def mean_interval(values: ArrayLike, *, seed: int = 0) -> Estimate:
    """Return the mean over seeds with its bootstrap interval.

    >>> mean_interval([1.0, 1.0, 1.0])
    Estimate(value=1.0, low=1.0, high=1.0)
    """
    return _bootstrap(np.mean, _checked(values), seed=seed)


def ratio_interval(values: ArrayLike, baseline: ArrayLike, *, seed: int = 0) -> Estimate:
    """Return the ratio of two means with its bootstrap interval, both resampled independently.

    >>> ratio_interval([2.0, 2.0], [1.0])
    Estimate(value=2.0, low=2.0, high=2.0)
    """
    return _bootstrap(_ratio, _checked(values), _checked(baseline), seed=seed)


def _ratio(values: Values, baseline: Values, axis: int = -1) -> Values:
    ratio: Values = values.mean(axis=axis) / baseline.mean(axis=axis)
    return ratio


def paired_interval(values: ArrayLike, baseline: ArrayLike, *, seed: int = 0) -> Estimate:
    """Return the mean difference of runs that share a seed (a layout, say), with its interval.

    >>> paired_interval([1.0, 2.0, 3.0], [0.5, 1.5, 2.5])
    Estimate(value=0.5, low=0.5, high=0.5)
    """
    x, y = _checked(values), _checked(baseline)
    if x.shape != y.shape:
        raise ArgumentError(f"expected pairs of values, found {x.size} and {y.size} values")
    return mean_interval(x - y, seed=seed)


def probability_of_improvement(values: ArrayLike, baseline: ArrayLike) -> float:
    """Return the probability that a seed of `values` beats one of `baseline`; ties count half.

    This is the Mann-Whitney statistic over the number of pairs.

    >>> probability_of_improvement([2, 3], [1, 2])
    0.875
    """
    return float(_improvement(_checked(values), _checked(baseline)))


def _improvement(values: Values, baseline: Values, axis: int = -1) -> Values:
    # Only the statistic is used: "asymptotic" avoids the expensive exact p-value.
    test = stats.mannwhitneyu(values, baseline, axis=axis, method="asymptotic")
    share: Values = test.statistic / (values.shape[axis] * baseline.shape[axis])
    return share


def improvement_interval(values: ArrayLike, baseline: ArrayLike, *, seed: int = 0) -> Estimate:
    """Return the probability of improvement with its bootstrap interval.

    >>> improvement_interval([3, 4], [1, 2])
    Estimate(value=1.0, low=1.0, high=1.0)
    """
    return _bootstrap(_improvement, _checked(values), _checked(baseline), seed=seed)


def _bootstrap(statistic: Callable[..., Values], *samples: Values, seed: int) -> Estimate:
    """Return a statistic with its percentile interval, each sample resampled on its own."""
    value = float(statistic(*samples))
    if all((sample == sample[0]).all() for sample in samples):
        return Estimate(value, value, value)
    # SciPy requires two observations. Two equal ones have the same resamples as one.
    interval = stats.bootstrap(
        [np.repeat(sample, 2) if sample.size == 1 else sample for sample in samples],
        statistic,
        n_resamples=RESAMPLES,
        vectorized=True,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Estimate(value, float(interval.low), float(interval.high))


def _checked(values: ArrayLike) -> Values:
    array = np.asarray(values, dtype=float)
    if not array.size:
        raise ArgumentError("expected at least one value, found none")
    if not np.isfinite(array).all():
        raise ArgumentError("expected finite values, found NaN or infinity")
    return array
