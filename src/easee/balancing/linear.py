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

DENSE = 150  # up to so many rows a dense factorisation is faster than a sparse one


class SingularError(ArithmeticError):
    """The matrix is not positive definite to working precision."""


def assemble(shape: tuple[int, int], rows: Ids, columns: Ids, values: Floats) -> Any:
    """Sum entries into a matrix: a dense array where that is faster, else a sparse one.

    >>> assemble((1, 2), np.array([0, 0]), np.array([1, 1]), np.array([1.0, 2.0]))
    array([[0., 3.]])
    """
    if max(shape) <= 2 * DENSE:
        flat = sum_at(rows * shape[1] + columns, values, shape[0] * shape[1])
        return flat.reshape(shape)
    return coo_array((values, (rows, columns)), shape=shape).tocsr()


def factorise(matrix: Any) -> Solve:
    """Factorise a symmetric positive definite matrix, dense or sparse.

    Returns:
        A function that solves for one right-hand side.

    Raises:
        SingularError: a pivot is not positive.

    >>> factorise(np.diag([1.0, 2.0]))(np.array([2.0, 2.0]))
    array([2., 1.])
    """
    if matrix.shape[0] <= DENSE:
        return _dense(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())
    try:
        # The matrix is symmetric and definite: order for that, and never pivot.
        factor = splu(
            csc_array(matrix),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError as error:
        raise SingularError(str(error)) from error
    solve: Solve = factor.solve
    return solve


def _dense(matrix: Floats) -> Solve:
    try:
        factor = cho_factor(matrix, check_finite=False)
    except LinAlgError as error:
        raise SingularError(str(error)) from error
    return lambda right: cho_solve(factor, right, check_finite=False)
