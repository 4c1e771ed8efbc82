"""Weighted graph Laplacians: the linear systems of the deterministic problem.

Its Newton steps are electrical networks: unknown potentials, conductances between them, and a
ground. Such a matrix is symmetric, and positive definite if every node is connected to the ground.
The positions of its entries and the order of elimination are computed once for each network.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpbtrf, dpbtrs
from scipy.sparse import csc_array, csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from easee._utils.arrays import Floats, sum_at
from easee._utils.timing import timed

Ids = NDArray[np.int64]
Solve = Callable[[Floats], Floats]

BAND = 24  # up to this bandwidth a banded factorisation beats a general sparse one
PANEL = 2  # columns that SuperLU updates at once; its default of 20 is slower for sparse factors
MAX_NEIGHBOURS = 6  # eliminating a node with more neighbours would cause too much fill-in


class SingularError(ArithmeticError):
    """The matrix is not positive definite to working precision."""


class Laplacian:
    """The Laplacian of a network with a fixed shape.

    Narrow networks use a banded Cholesky factorisation (LAPACK), all others SuperLU.

    Args:
        size: number of nodes with an unknown potential; node `size` is the ground.
        first, second: int (m,), the ends of each conductor. Conductors from a node to itself are
            ignored.

    >>> chain = Laplacian(2, np.array([0, 1]), np.array([1, 2]))  # 0 - 1 - ground
    >>> chain.factorise(np.array([1.0, 0.5]))(np.array([1.0, 0.0]))
    array([3., 2.])
    """

    def __init__(self, size: int, first: NDArray[Any], second: NDArray[Any]) -> None:
        self.size = size
        self.first, self.second = first.astype(np.int64), second.astype(np.int64)
        self.inside = np.flatnonzero((first < size) & (second < size) & (first != second))
        i, j = self.first[self.inside], self.second[self.inside]
        order = _narrow_order(size, i, j)
        self.pattern: _Band | _SparsePattern | None = None if order is None else _Band(order, i, j)

    def factorise(self, conductance: Floats) -> Solve:
        """Factorise for given conductances, float (m,), non-negative.

        Returns:
            A function from currents into the nodes, float (size,), to their potentials.

        Raises:
            SingularError: some node is not connected to the ground.
        """
        with timed("factor"):
            between = np.where(self.first != self.second, conductance, 0.0)
            at_first = sum_at(self.first, between, self.size + 1)
            diagonal = (at_first + sum_at(self.second, between, self.size + 1))[: self.size]
            off_diagonal = -conductance[self.inside]
            if self.pattern is not None:
                return self.pattern.factorise(off_diagonal, diagonal)
            # The first factorisation finds an order of minimum degree, which is kept.
            i, j = self.first[self.inside], self.second[self.inside]
            natural = _SparsePattern(np.arange(self.size), i, j)
            factor = _superlu(natural.matrix(off_diagonal, diagonal), "MMD_AT_PLUS_A")
            self.pattern = _SparsePattern(np.argsort(factor.perm_c).astype(np.int64), i, j)
            solve: Solve = factor.solve
            return solve


def _narrow_order(size: int, i: Ids, j: Ids) -> Ids | None:
    """Return an order of the nodes in which neighbours are at most BAND apart, if one is found."""
    if np.abs(i - j).max(initial=0) <= BAND:
        return np.arange(size)
    links = csr_array((np.ones(i.size, np.int8), (i, j)), shape=(size, size))
    symmetric = csr_array(links + links.T)
    order = reverse_cuthill_mckee(symmetric, symmetric_mode=True).astype(np.int64)
    rank = np.argsort(order)
    return order if np.abs(rank[i] - rank[j]).max() <= BAND else None


def _reordered(order: Ids, solve: Solve) -> Solve:
    """Return the solution of a system in its original order, given that in another one."""

    def solve_original(right: Floats) -> Floats:
        solution = np.empty(order.size)
        solution[order] = solve(right[order])
        return solution

    return solve_original


class _Band:
    """Positions of the entries (i, j) of a symmetric band matrix, in LAPACK's lower form."""

    def __init__(self, order: Ids, i: Ids, j: Ids) -> None:
        rank = np.argsort(order)
        distance = np.abs(rank[i] - rank[j])
        self.order = order
        self.rows = int(distance.max(initial=0)) + 1
        # Stored by columns: entry (r, c) with r >= c is at c * rows + (r - c).
        self.slots = np.minimum(rank[i], rank[j]) * self.rows + distance

    def factorise(self, off_diagonal: Floats, diagonal: Floats) -> Solve:
        size = self.order.size
        if not size:
            return lambda right: right
        band = sum_at(self.slots, off_diagonal, size * self.rows).reshape(size, self.rows)
        band[:, 0] += diagonal[self.order]
        factor, info = dpbtrf(band.T, lower=1, overwrite_ab=1)
        if info != 0:
            raise SingularError(f"pivot {info} is not positive")
        return _reordered(self.order, lambda right: dpbtrs(factor, right, lower=1)[0])


class _SparsePattern:
    """Positions of the entries (i, j) of a symmetric matrix in compressed columns."""

    def __init__(self, order: Ids, i: Ids, j: Ids) -> None:
        size, ids = order.size, np.arange(order.size)
        rank = np.argsort(order)
        rows = np.concatenate([rank[i], rank[j], ids])
        columns = np.concatenate([rank[j], rank[i], ids])
        keys, self.slots = np.unique(columns * size + rows, return_inverse=True)
        self.order = order
        self.indices = (keys % size).astype(np.int32)
        self.starts = np.searchsorted(keys, np.arange(size + 1) * size).astype(np.int32)

    def matrix(self, off_diagonal: Floats, diagonal: Floats) -> csc_array:
        entries = np.concatenate([off_diagonal, off_diagonal, diagonal[self.order]])
        data = sum_at(self.slots, entries, len(self.indices))
        size = self.order.size
        return csc_array((data, self.indices, self.starts), shape=(size, size))

    def factorise(self, off_diagonal: Floats, diagonal: Floats) -> Solve:
        factor = _superlu(self.matrix(off_diagonal, diagonal), "NATURAL")
        return _reordered(self.order, factor.solve)


class StarMesh:
    """A Laplacian some of whose nodes are eliminated first, all at once.

    Eliminating a node leaves a network in which every two of its neighbours are joined, by the
    product of their conductances to it divided by the sum of all (the star-mesh transform). Only
    positive numbers are added, so no digits are lost.

    Args:
        size, first, second: as for `Laplacian`.
        independent: bool (size,), nodes of which no two are joined. Those with few neighbours are
            eliminated.

    >>> star = StarMesh(3, np.array([0, 0, 0, 1]), np.array([1, 2, 3, 3]), np.arange(3) == 0)
    >>> ones = np.ones(4)
    >>> star.factorise(ones)(np.array([1.0, 0.0, 0.0]))
    array([0.66666667, 0.33333333, 0.66666667])
    """

    def __init__(
        self, size: int, first: NDArray[Any], second: NDArray[Any], independent: NDArray[np.bool_]
    ) -> None:
        self.size = size
        degree = np.bincount(np.concatenate([first, second]), minlength=size + 1)[:size]
        eliminated = independent & (degree <= MAX_NEIGHBOURS)
        remains = np.append(~eliminated, True)
        self.remaining = np.flatnonzero(~eliminated)
        self.eliminated = np.flatnonzero(eliminated & (degree > 0))
        position = np.where(remains, np.cumsum(remains) - 1, -1)  # the ground stays last
        is_link = remains[first] & remains[second]
        self.links = np.flatnonzero(is_link)
        # Conductors of eliminated nodes, sorted by node: from `centre`, the node, to `tip`.
        spokes = np.flatnonzero(~is_link)
        swap = remains[first[spokes]]
        centre = np.where(swap, second[spokes], first[spokes])
        by_centre = np.argsort(centre, kind="stable")
        self.spokes, self.centre = spokes[by_centre], centre[by_centre]
        self.tip = position[np.where(swap, first[spokes], second[spokes])[by_centre]]
        self.pairs = _pairs(self.centre)
        ends = zip((first, second), self.pairs, strict=True)
        self.inner = Laplacian(
            self.remaining.size,
            *(np.concatenate([position[end[self.links]], self.tip[pair]]) for end, pair in ends),
        )

    def factorise(self, conductance: Floats) -> Solve:
        """Factorise for given conductances; see `Laplacian.factorise`."""
        spoke = conductance[self.spokes]
        total = sum_at(self.centre, spoke, self.size)
        share = spoke / total[self.centre]
        mesh = share[self.pairs[0]] * spoke[self.pairs[1]]
        solve = self.inner.factorise(np.concatenate([conductance[self.links], mesh]))
        n_inner, eliminated = self.remaining.size, self.eliminated

        def solve_all(right: Floats) -> Floats:
            passed_on = sum_at(self.tip, share * right[self.centre], n_inner + 1)[:n_inner]
            inner = np.append(solve(right[self.remaining] + passed_on), 0.0)
            potential = sum_at(self.centre, share * inner[self.tip], self.size)
            potential[eliminated] += right[eliminated] / total[eliminated]
            potential[self.remaining] = inner[:n_inner]
            return potential

        return solve_all


def _pairs(groups: Ids) -> tuple[Ids, Ids]:
    """Return all pairs of positions, first before second, with the same (sorted) group."""
    first = np.arange(groups.size)[:, None]
    second = first + np.arange(1, MAX_NEIGHBOURS)
    same = second < groups.size
    same &= groups[np.minimum(second, groups.size - 1)] == groups[first] if groups.size else same
    return np.broadcast_to(first, second.shape)[same], second[same]


def _superlu(matrix: csc_array, ordering: str) -> Any:
    """Factorise a symmetric positive definite matrix, without pivoting."""
    try:
        return splu(
            matrix,
            permc_spec=ordering,
            diag_pivot_thresh=0.0,
            panel_size=PANEL,
            options={"SymmetricMode": True},
        )
    except (RuntimeError, LinAlgError) as error:
        raise SingularError(str(error)) from error
