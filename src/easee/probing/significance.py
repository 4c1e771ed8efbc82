"""Do two words come out alike? Equal keys, or equal distributions where something is random."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from easee.probing.probe import Place, Probe

LEVEL = 0.05  # of the tests, after Holm's correction
PERMUTATIONS = 5000
Word = tuple[int, ...]


def interval(violations: int, trials: int) -> tuple[float, float]:
    """Return Clopper and Pearson's exact 95% interval of a rate.

    >>> [round(x, 3) for x in interval(0, 100)]
    [0.0, 0.036]
    """
    if not trials:
        return 0.0, 1.0
    low = betaincinv(violations, trials - violations + 1, 0.025) if violations else 0.0
    high = betaincinv(violations + 1, trials - violations, 0.975) if violations < trials else 1.0
    return float(low), float(high)


def is_random(probe: Probe, places: Sequence[Place], rng: np.random.Generator) -> bool:
    """Tell whether the same actions from the same place come out differently."""
    for place in places[:10]:
        word = rng.integers(probe.n_actions, size=5).tolist()
        if len({probe.after(place, word, fresh=_seed(rng)).key for _ in range(4)}) > 1:
            return True
    return False


def outcomes(
    probe: Probe, place: Place, word: Word, repeats: int, rng: np.random.Generator
) -> list[Hashable] | None:
    """Return the keys of repeated executions, or None if one was cut off."""
    found = [probe.after(place, word, fresh=_seed(rng)) for _ in range(repeats)]
    return None if any(end.truncated for end in found) else [end.key for end in found]


def permutation_test(
    one: Sequence[Hashable],
    two: Sequence[Hashable],
    rng: np.random.Generator,
    permutations: int = PERMUTATIONS,
) -> float:
    """Return the p-value of two samples of outcomes being from one distribution.

    The statistic is that of the chi-square test of homogeneity; its distribution comes from dealing
    the outcomes anew to both sides, so it holds for samples of any size. It is never below one in
    `permutations`.

    >>> permutation_test("aaaaaaaa", "bbbbbbbb", np.random.default_rng(0)) < 0.001
    True
    >>> permutation_test("abababab", "babababa", np.random.default_rng(0))
    1.0
    """
    kinds = {kind: i for i, kind in enumerate(dict.fromkeys([*one, *two]))}
    table = np.zeros((2, len(kinds)), np.int64)
    for row, side in zip(table, (one, two), strict=True):
        np.add.at(row, [kinds[key] for key in side], 1)
    total = table.sum(axis=0)
    dealt = rng.multivariate_hypergeometric(total, len(one), size=permutations)
    larger = _spread(dealt, total, len(one)) >= _spread(table[:1], total, len(one)) - 1e-9
    return float((1 + larger.sum()) / (1 + permutations))


def _spread(dealt: NDArray[np.int64], total: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    expected = total * (size / total.sum())
    spread: NDArray[np.float64] = ((dealt - expected) ** 2 / expected).sum(axis=1)
    return spread


def rejected(p_values: Sequence[float]) -> list[bool]:
    """Return which of several tests are significant together, by Holm's method.

    >>> rejected([0.001, 0.04, 0.03])
    [True, False, False]
    """
    found = [False] * len(p_values)
    for rank, i in enumerate(np.argsort(p_values)):
        if p_values[i] > LEVEL / (len(p_values) - rank):
            break
        found[i] = True
    return found


def permutations_for(tests: int) -> int:
    """Return how often to deal anew so that one of many tests can be significant among them."""
    return max(PERMUTATIONS, math.ceil(2 * tests / LEVEL))


def least_repeats(tests: int) -> int:
    """Return how many executions it takes for one of many tests to be significant among them.

    Two samples of n with no outcome in common are one of the 2 most uneven of C(2n, n) deals.

    >>> least_repeats(1), least_repeats(200)
    (4, 8)
    """
    return next(n for n in range(1, 100) if 2 / math.comb(2 * n, n) <= LEVEL / tests)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
