"""Solving the sparse positive definite systems of the optimiser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import coo_array, csc_array
from scipy.sparse.linalg import splu

from easee.arrays import Floats, sum_at

Ids = NDArray[np.int64]
Solve = Callable[[Floats], Floats]

DENSE = 64  # up to so many rows dense is faster; more would also wake BLAS threads, which may stall


class SingularError(ArithmeticError):
    """The matrix is not positive definite to working precision."""


def assemble(shape: tuple[int, int], rows: Ids, columns: Ids, values: Floats) -> Any:
    """Sum entries into a matrix: a dense array where that is faster, else a sparse one.

    >>> assemble((1, 2), np.array([0, 0]), np.array([1, 1]), np.array([1.0, 2.0]))
    array([[0., 3.]])
    """
    if max(shape) <= DENSE:
        flat = sum_at(rows * shape[1] + columns, values, shape[0] * shape[1])
        return flat.reshape(shape)
    return coo_array((values, (rows, columns)), shape=shape).tocsr()


class Factoriser:
    """Factorises symmetric positive definite matrices of one pattern, one after the other.

    Ordering the unknowns so that the factor stays sparse takes as long as factorising, and depends
    on the pattern alone: it is done once.

    >>> Factoriser()(np.diag([1.0, 2.0]))(np.array([2.0, 2.0]))
    array([2., 1.])
    """

    def __init__(self) -> None:
        self._order: Ids | None = None

    def __call__(self, matrix: Any) -> Solve:
        """Factorise a matrix, dense or sparse.

        Returns:
            A function that solves for one right-hand side.

        Raises:
            SingularError: a pivot is not positive.
        """
        if isinstance(matrix, np.ndarray):
            return _dense(matrix)
        if matrix.shape[0] <= DENSE:
            return _dense(matrix.toarray())
        if self._order is None:
            factor = _sparse(csc_array(matrix), "MMD_AT_PLUS_A")
            self._order = np.argsort(factor.perm_c)
            first: Solve = factor.solve
            return first
        order = self._order
        solve = _sparse(csc_array(matrix.tocsr()[order][:, order]), "NATURAL").solve

        def solve_reordered(right: Floats) -> Floats:
            solution = np.empty_like(right)
            solution[order] = solve(right[order])
            return solution

        return solve_reordered


def _sparse(matrix: csc_array, ordering: str) -> Any:
    """Factorise for a symmetric and definite matrix: no pivoting."""
    try:
        return splu(
            matrix,
            permc_spec=ordering,
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError as error:
        raise SingularError(str(error)) from error


def _dense(matrix: Floats) -> Solve:
    try:
        factor = cho_factor(matrix, check_finite=False)
    except LinAlgError as error:
        raise SingularError(str(error)) from error
    return lambda right: cho_solve(factor, right, check_finite=False)
