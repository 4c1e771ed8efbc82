"""Statistics over seeds: means, interquartile means, bootstrap intervals, comparisons.

After Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice" (2021).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata, trim_mean

from easee.errors import ArgumentError

RESAMPLES = 2000
Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class Estimate(NamedTuple):
    """A value with its 95% interval."""

    value: float
    low: float
    high: float


def iqm(values: ArrayLike) -> float:
    """Return the interquartile mean: the mean of the middle half.

    >>> iqm([0, 1, 2, 3, 4, 5, 6, 100])
    3.5
    """
    return float(trim_mean(_checked(values).ravel(), 0.25))


def mean_interval(values: ArrayLike, *, seed: int = 0) -> Estimate:
    """Return the mean over seeds with its bootstrap interval.

    >>> mean_interval([1.0, 1.0, 1.0])
    Estimate(value=1.0, low=1.0, high=1.0)
    """
    return bootstrap(values, lambda x: x.mean(axis=(-2, -1)), seed=seed)


def iqm_interval(values: ArrayLike, *, seed: int = 0) -> Estimate:
    """Return the interquartile mean with its stratified bootstrap interval."""
    return bootstrap(values, lambda x: trim_mean(x.reshape(*x.shape[:-2], -1), 0.25, -1), seed=seed)


def bootstrap(values: ArrayLike, statistic: Statistic, *, seed: int = 0) -> Estimate:
    """Return a statistic with its percentile interval, resampling seeds within each task.

    Args:
        values: float (seeds,) or (tasks, seeds). Each task is a stratum: its seeds are drawn anew
            among themselves.
        statistic: from (..., tasks, seeds) to (...).
        seed: of the resampling.
    """
    table = np.atleast_2d(_checked(values))
    rng = np.random.default_rng(seed)
    tasks, seeds = table.shape
    drawn = rng.integers(seeds, size=(RESAMPLES, tasks, seeds))
    samples = statistic(np.take_along_axis(table[None], drawn, axis=2))
    low, high = np.quantile(samples, [0.025, 0.975])
    return Estimate(float(statistic(table)), float(low), float(high))


def ratio_interval(values: ArrayLike, baseline: ArrayLike, *, seed: int = 0) -> Estimate:
    """Return the ratio of two means with its bootstrap interval, both resampled independently."""
    x, y = _checked(values), _checked(baseline)
    rng = np.random.default_rng(seed)
    above = x[rng.integers(x.size, size=(RESAMPLES, x.size))].mean(axis=1)
    below = y[rng.integers(y.size, size=(RESAMPLES, y.size))].mean(axis=1)
    low, high = np.quantile(above / below, [0.025, 0.975])
    return Estimate(float(x.mean() / y.mean()), float(low), float(high))


def paired_interval(values: ArrayLike, baseline: ArrayLike, *, seed: int = 0) -> Estimate:
    """Return the mean difference of runs that share a seed (a layout, say), with its interval.

    >>> paired_interval([1.0, 2.0, 3.0], [0.5, 1.5, 2.5])
    Estimate(value=0.5, low=0.5, high=0.5)
    """
    x, y = _checked(values), _checked(baseline)
    if x.shape != y.shape:
        raise ArgumentError(f"expected pairs of values, found {x.size} and {y.size} of them")
    return mean_interval(x - y, seed=seed)


def probability_of_improvement(values: ArrayLike, baseline: ArrayLike) -> float:
    """Return how likely a seed of `values` beats one of `baseline`; ties count half.

    This is the Mann-Whitney statistic over the number of pairs.

    >>> probability_of_improvement([2, 3], [1, 2])
    0.875
    """
    x, y = _checked(values), _checked(baseline)
    ranks = rankdata(np.concatenate([x, y]))[: x.size]
    return float((ranks.sum() - x.size * (x.size + 1) / 2) / (x.size * y.size))


def improvement_interval(values: ArrayLike, baseline: ArrayLike, *, seed: int = 0) -> Estimate:
    """Return the probability of improvement with its bootstrap interval."""
    x, y = _checked(values), _checked(baseline)
    rng = np.random.default_rng(seed)
    samples = [
        probability_of_improvement(
            x[rng.integers(x.size, size=x.size)], y[rng.integers(y.size, size=y.size)]
        )
        for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(samples, [0.025, 0.975])
    return Estimate(probability_of_improvement(x, y), float(low), float(high))


def _checked(values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=float)
    if not array.size:
        raise ArgumentError("expected at least one value, found none")
    if not np.isfinite(array).all():
        raise ArgumentError("expected finite values, found NaN or infinity")
    return array
