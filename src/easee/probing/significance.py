"""Statistics of comparisons: intervals of rates, and tests of whether outcomes differ by chance."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from easee.probing.probe import Probe, Snapshot, Word

LEVEL = 0.05  # family-wise error rate of the tests of one relation
PERMUTATIONS = 5000


def interval(violations: int, trials: int) -> tuple[float, float]:
    """Return the Clopper-Pearson 95% confidence interval of a rate.

    >>> [round(x, 3) for x in interval(0, 100)]
    [0.0, 0.036]
    """
    from scipy.stats import binomtest  # lazy: it would double the time of `import easee`

    if not trials:
        return 0.0, 1.0
    bounds = binomtest(violations, trials).proportion_ci(0.95, method="exact")
    return float(bounds.low), float(bounds.high)


def is_random(probe: Probe, snapshots: Sequence[Snapshot], rng: np.random.Generator) -> bool:
    """Return whether the same actions from the same state lead to different outcomes."""
    for snapshot in snapshots[:10]:
        word = rng.integers(probe.n_actions, size=5).tolist()
        if len({probe.after(snapshot, word, seed=_seed(rng)).key for _ in range(4)}) > 1:
            return True
    return False


def outcomes(
    probe: Probe, start: Snapshot, word: Word, repeats: int, rng: np.random.Generator
) -> list[Hashable] | None:
    """Return the keys after repeated executions of a word, or None if one was truncated."""
    ends = [probe.after(start, word, seed=_seed(rng)) for _ in range(repeats)]
    return None if any(end.truncated for end in ends) else [end.key for end in ends]


def permutation_test(
    one: Sequence[Hashable], two: Sequence[Hashable], rng: np.random.Generator, tests: int = 1
) -> float:
    """Return the p-value of the hypothesis that two samples have the same distribution.

    The statistic is that of the chi-square test of homogeneity. Its distribution is simulated by
    random permutations, so the test is valid for samples of any size. There are enough permutations
    for one of several `tests` to be significant after Holm's correction.

    >>> permutation_test("aaaaaaaa", "bbbbbbbb", np.random.default_rng(0)) < 0.001
    True
    >>> permutation_test("abababab", "babababa", np.random.default_rng(0))
    1.0
    """
    permutations = max(PERMUTATIONS, math.ceil(2 * tests / LEVEL))
    count_one, count_both = Counter(one), Counter([*one, *two])
    counts = np.array([count_one[key] for key in count_both])
    total = np.array(list(count_both.values()))
    permuted = rng.multivariate_hypergeometric(total, len(one), size=permutations)
    observed = _chi_square(counts[None], total, len(one))
    as_extreme = _chi_square(permuted, total, len(one)) >= observed - 1e-9
    return float((1 + as_extreme.sum()) / (1 + permutations))


def _chi_square(
    counts: NDArray[np.int64], total: NDArray[np.int64], size: int
) -> NDArray[np.float64]:
    """Return the statistic of each row of counts (n, k), up to a constant factor."""
    expected = total * (size / total.sum())
    statistic: NDArray[np.float64] = ((counts - expected) ** 2 / expected).sum(axis=1)
    return statistic


def holm(p_values: Sequence[float]) -> list[bool]:
    """Return which of several tests are significant after Holm's correction.

    >>> holm([0.001, 0.04, 0.03])
    [True, False, False]
    """
    significant = [False] * len(p_values)
    for rank, i in enumerate(np.argsort(p_values)):
        if p_values[i] > LEVEL / (len(p_values) - rank):
            break
        significant[i] = True
    return significant


def min_repeats(tests: int) -> int:
    """Return the sample size with which one of several tests can be significant.

    Two samples of size n without a common outcome have a p-value of 2 / C(2n, n).

    >>> min_repeats(1), min_repeats(200)
    (4, 8)
    """
    return next(n for n in range(1, 100) if 2 / math.comb(2 * n, n) <= LEVEL / tests)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
