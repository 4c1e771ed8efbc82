"""Statistics over seeds: means, bootstrap intervals and comparisons.

After Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice" (2021).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from easee.errors import ArgumentError

RESAMPLES = 2000
Values = NDArray[np.float64]


class Estimate(NamedTuple):
    """A value with its 95% interval, whose ends are nan if there is a single seed."""

    value: float
    low: float
    high: float


def cell(estimate: Estimate | None, form: str = ".2f") -> str:
    """Return an estimate as text; "-" for None.

    >>> cell(Estimate(0.5, 0.25, 1.0))
    '0.50 [0.25, 1.00]'
    """
    if estimate is None:
        return "-"
    if estimate.low != estimate.low:  # not a number: of a single seed
        return f"{estimate.value:{form}}"
    return f"{estimate.value:{form}} [{estimate.low:{form}}, {estimate.high:{form}}]"


def mean_interval(values: Iterable[float], *, seed: int = 0) -> Estimate:
    """Return the mean over seeds with its bootstrap interval.

    >>> mean_interval([1.0, 1.0, 1.0])
    Estimate(value=1.0, low=1.0, high=1.0)
    """
    return _bootstrap(np.mean, values, seed=seed)


def stratified_interval(groups: Iterable[Iterable[float]]) -> Estimate:
    """Return the mean of the groups' means; seeds are resampled within each group.

    >>> stratified_interval([[1.0, 1.0], [0.0, 0.0, 0.0]])
    Estimate(value=0.5, low=0.5, high=0.5)
    """
    return _bootstrap(_mean_of_means, *groups)


def _mean_of_means(*groups: Values, axis: int = -1) -> Values:
    means: Values = np.mean([group.mean(axis=axis) for group in groups], axis=0)
    return means


def ratio_interval(values: Iterable[float], baseline: Iterable[float]) -> Estimate:
    """Return the ratio of two means with its bootstrap interval, both resampled independently.

    >>> ratio_interval([2.0, 2.0], [1.0])
    Estimate(value=2.0, low=2.0, high=2.0)
    """
    return _bootstrap(_ratio, values, baseline)


def _ratio(values: Values, baseline: Values, axis: int = -1) -> Values:
    ratio: Values = values.mean(axis=axis) / baseline.mean(axis=axis)
    return ratio


def difference_interval(values: Iterable[float], baseline: Iterable[float]) -> Estimate:
    """Return the difference of two means with its bootstrap interval, resampled independently.

    >>> difference_interval([2.0, 2.0], [1.0])
    Estimate(value=1.0, low=1.0, high=1.0)
    """
    return _bootstrap(_difference, values, baseline)


def _difference(values: Values, baseline: Values, axis: int = -1) -> Values:
    difference: Values = values.mean(axis=axis) - baseline.mean(axis=axis)
    return difference


def paired_interval(values: Mapping[int, float], baseline: Mapping[int, float]) -> Estimate | None:
    """Return the mean difference between runs with the same seed; None if no seed is in both.

    >>> paired_interval({0: 2.0, 1: 3.0, 2: 9.0}, {0: 1.0, 1: 2.0})
    Estimate(value=1.0, low=1.0, high=1.0)
    """
    shared = sorted(values.keys() & baseline.keys())
    return mean_interval(values[seed] - baseline[seed] for seed in shared) if shared else None


def improvement_interval(values: Iterable[float], baseline: Iterable[float]) -> Estimate:
    """Return the probability of improvement with its bootstrap interval.

    It is the probability that a seed of `values` beats one of `baseline`, where ties count half:
    the Mann-Whitney statistic over the number of pairs.

    >>> improvement_interval([2, 3], [1, 2]).value
    0.875
    """
    return _bootstrap(_improvement, values, baseline)


def _improvement(values: Values, baseline: Values, axis: int = -1) -> Values:
    # Only the statistic is used: "asymptotic" avoids the expensive exact p-value.
    test = stats.mannwhitneyu(values, baseline, axis=axis, method="asymptotic")
    share: Values = test.statistic / (values.shape[axis] * baseline.shape[axis])
    return share


def _bootstrap(
    statistic: Callable[..., Values], *samples: Iterable[float], seed: int = 0
) -> Estimate:
    """Return a statistic with its percentile interval, each sample resampled on its own."""
    arrays = [_checked(sample) for sample in samples]
    value = float(statistic(*arrays))
    if all(array.size == 1 for array in arrays):
        return Estimate(value, float("nan"), float("nan"))
    if all((array == array[0]).all() for array in arrays):
        return Estimate(value, value, value)
    # SciPy requires two observations. Two equal ones have the same resamples as one.
    interval = stats.bootstrap(
        [np.repeat(array, 2) if array.size == 1 else array for array in arrays],
        statistic,
        n_resamples=RESAMPLES,
        vectorized=True,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Estimate(value, float(interval.low), float(interval.high))


def _checked(values: Iterable[float]) -> Values:
    array = np.fromiter(values, dtype=float)
    if not array.size:
        raise ArgumentError("expected at least one value, found none")
    if not np.isfinite(array).all():
        raise ArgumentError("expected finite values, found NaN or infinity")
    return array
