"""Weighted graph Laplacians: the one kind of linear system in the optimiser.

All of its Newton steps are electrical networks: unknown potentials, conductances between them, and
a ground. Such a matrix is symmetric and positive definite if every node is connected to the ground.
What depends on the network's shape alone (where entries go, the order of elimination) is worked out
once; each factorisation then only fills in numbers.
"""

from __future__ import annotations

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
FEW = 6  # eliminating a node with more neighbours would join too many


class SingularError(ArithmeticError):
    """The matrix is not positive definite to working precision."""


class Laplacian:
    """The Laplacian of a network with a fixed shape.

    Args:
        size: number of nodes with an unknown potential; node `size` is the ground.
        one, two: int (m,), the ends of each conductor. Conductors from a node to itself do nothing.

    >>> chain = Laplacian(2, np.array([0, 1]), np.array([1, 2]))  # 0 - 1 - ground
    >>> chain.factorise(np.array([1.0, 0.5]))(np.array([1.0, 0.0]))
    array([3., 2.])
    """

    def __init__(self, size: int, one: NDArray[Any], two: NDArray[Any]) -> None:
        self.size = size
        self.one, self.two = one.astype(np.int64), two.astype(np.int64)
        self.inside = np.flatnonzero((one < size) & (two < size) & (one != two))
        self.order = np.arange(size)
        self.sparse_slots: NDArray[np.int64] | None = None
        width = self._narrow()
        self.banded = width <= BAND
        if self.banded:
            self._prepare_band(width)

    def factorise(self, conductance: Floats) -> Solve:
        """Factorise for given conductances, float (m,), non-negative.

        Returns:
            A function from currents into the nodes, float (size,), to their potentials.

        Raises:
            SingularError: some node is not connected to the ground.
        """
        with timed("factor"):
            if self.banded:
                return self._factorise_band(conductance)
            return self._factorise_sparse(conductance)

    def _narrow(self) -> int:
        """Order the nodes so that neighbours are close, and return how close."""
        i, j = self.one[self.inside], self.two[self.inside]
        width = int(np.abs(i - j).max(initial=0))
        if width > BAND:  # otherwise they are close as they are
            links = csr_array((np.ones(i.size, np.int8), (i, j)), shape=(self.size, self.size))
            both = csr_array(links + links.T)
            self.order = reverse_cuthill_mckee(both, symmetric_mode=True).astype(np.int64)
            i, j = self._places()
            width = int(np.abs(i - j).max())
        return width

    def _places(self) -> tuple[Ids, Ids]:
        """Return where the ends of the conductors between unknown nodes come in the order."""
        place = np.empty_like(self.order)
        place[self.order] = np.arange(self.size)
        return place[self.one[self.inside]], place[self.two[self.inside]]

    def _diagonal(self, conductance: Floats) -> Floats:
        apart = np.where(self.one != self.two, conductance, 0.0)
        at_one = sum_at(self.one, apart, self.size + 1)
        return (at_one + sum_at(self.two, apart, self.size + 1))[self.order]

    def _reordered(self, solve: Solve) -> Solve:
        order = self.order

        def solved(right: Floats) -> Floats:
            solution = np.empty(order.size)
            solution[order] = solve(right[order])
            return solution

        return solved

    # --- narrow bands: LAPACK ---------------------------------------------------------------

    def _prepare_band(self, width: int) -> None:
        i, j = self._places()
        # Lower form, stored by columns: entry (r, c) with r >= c is at c * rows + (r - c).
        self.rows = width + 1
        self.slots = np.minimum(i, j) * self.rows + np.abs(i - j)

    def _factorise_band(self, conductance: Floats) -> Solve:
        band = sum_at(self.slots, -conductance[self.inside], self.size * self.rows)
        band = band.reshape(self.size, self.rows)
        band[:, 0] += self._diagonal(conductance)
        if not self.size:
            return lambda right: right
        factor, info = dpbtrf(band.T, lower=1, overwrite_ab=1)
        if info != 0:
            raise SingularError(f"pivot {info} is not positive")
        return self._reordered(lambda right: dpbtrs(factor, right, lower=1)[0])

    # --- anything else: SuperLU -------------------------------------------------------------

    def _factorise_sparse(self, conductance: Floats) -> Solve:
        """Take the order of minimum degree the first time, and keep it."""
        if self.sparse_slots is None:
            self.order = np.arange(self.size)
            self._prepare_sparse()
            factor = _superlu(self._matrix(conductance), "MMD_AT_PLUS_A")
            self.order = np.argsort(factor.perm_c).astype(np.int64)
            self._prepare_sparse()
            first: Solve = factor.solve
            return first
        return self._reordered(_superlu(self._matrix(conductance), "NATURAL").solve)

    def _prepare_sparse(self) -> None:
        """Find out where each entry goes in compressed columns."""
        i, j = self._places()
        ids = np.arange(self.size)
        rows, columns = np.concatenate([i, j, ids]), np.concatenate([j, i, ids])
        keys, slots = np.unique(columns * self.size + rows, return_inverse=True)
        self.sparse_slots = slots
        self.indices = (keys % self.size).astype(np.int32)
        self.starts = np.searchsorted(keys, np.arange(self.size + 1) * self.size).astype(np.int32)

    def _matrix(self, conductance: Floats) -> csc_array:
        assert self.sparse_slots is not None
        inside = -conductance[self.inside]
        entries = np.concatenate([inside, inside, self._diagonal(conductance)])
        data = sum_at(self.sparse_slots, entries, len(self.indices))
        return csc_array((data, self.indices, self.starts), shape=(self.size, self.size))


class StarMesh:
    """A Laplacian of which some nodes are eliminated first, all at once.

    Removing a node leaves a network in which every two of its neighbours are joined, by the product
    of their conductances to it over the sum of all (the star-mesh transform). Only positive
    numbers are added, so no digits are lost.

    Args:
        size, one, two: as for `Laplacian`.
        independent: bool (size,), nodes of which no two are joined. Those with few neighbours are
            eliminated.

    >>> star = StarMesh(3, np.array([0, 0, 0, 1]), np.array([1, 2, 3, 3]), np.arange(3) == 0)
    >>> ones = np.ones(4)
    >>> star.factorise(ones)(np.array([1.0, 0.0, 0.0]))
    array([0.66666667, 0.33333333, 0.66666667])
    """

    def __init__(
        self, size: int, one: NDArray[Any], two: NDArray[Any], independent: NDArray[np.bool_]
    ) -> None:
        self.size = size
        degree = np.bincount(np.concatenate([one, two]), minlength=size + 1)[:size]
        gone = independent & (degree <= FEW)
        left = np.append(~gone, True)
        self.kept, self.gone = np.flatnonzero(~gone), np.flatnonzero(gone & (degree > 0))
        place = np.where(left, np.cumsum(left) - 1, -1)  # the ground stays last
        self.rest = np.flatnonzero(left[one] & left[two])
        # Conductors of eliminated nodes, sorted by node: `centre` is the node, `tip` the other end.
        spokes = np.flatnonzero(~(left[one] & left[two]))
        swap = left[one[spokes]]
        centre = np.where(swap, two[spokes], one[spokes])
        by_centre = np.argsort(centre, kind="stable")
        self.spokes, self.centre = spokes[by_centre], centre[by_centre]
        self.tip = place[np.where(swap, one[spokes], two[spokes])[by_centre]]
        self.first, self.second = _pairs(self.centre)
        self.inner = Laplacian(
            self.kept.size,
            np.concatenate([place[one[self.rest]], self.tip[self.first]]),
            np.concatenate([place[two[self.rest]], self.tip[self.second]]),
        )

    def factorise(self, conductance: Floats) -> Solve:
        """Factorise for given conductances; see `Laplacian.factorise`."""
        spoke = conductance[self.spokes]
        total = sum_at(self.centre, spoke, self.size)
        share = spoke / total[self.centre]
        mesh = share[self.first] * spoke[self.second]
        solve = self.inner.factorise(np.concatenate([conductance[self.rest], mesh]))
        kept, gone = self.kept.size, self.gone

        def solved(right: Floats) -> Floats:
            passed_on = sum_at(self.tip, share * right[self.centre], kept + 1)[:kept]
            inner = np.append(solve(right[self.kept] + passed_on), 0.0)
            potential = sum_at(self.centre, share * inner[self.tip], self.size)
            potential[gone] += right[gone] / total[gone]
            potential[self.kept] = inner[:kept]
            return potential

        return solved


def _pairs(groups: Ids) -> tuple[Ids, Ids]:
    """Return every two positions, first before second, that have the same (sorted) group."""
    ahead = np.arange(1, FEW)
    first = np.arange(groups.size)[:, None]
    second = first + ahead
    same = second < groups.size
    same &= groups[np.minimum(second, groups.size - 1)] == groups[first] if groups.size else same
    return np.broadcast_to(first, second.shape)[same], second[same]


def _superlu(matrix: csc_array, ordering: str) -> Any:
    """Factorise a symmetric and definite matrix: no pivoting."""
    try:
        return splu(
            matrix,
            permc_spec=ordering,
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except (RuntimeError, LinAlgError) as error:
        raise SingularError(str(error)) from error
