"""A few array idioms that many modules share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def sum_at(index: NDArray[Any], values: Floats, size: int) -> Floats:
    """Sum the values that have the same index, float (size,).

    >>> sum_at(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3)
    array([4., 0., 2.])
    """
    return np.bincount(index, values, minlength=size).astype(float, copy=False)


def run_starts(sorted_ids: NDArray[Any]) -> NDArray[np.intp]:
    """Return where each run of equal ids (0 or more) begins.

    >>> run_starts(np.array([3, 3, 5]))
    array([0, 2])
    """
    return np.flatnonzero(np.diff(sorted_ids, prepend=-1))


def dot(x: Floats, y: Floats) -> float:
    """Return the inner product, without the threads of BLAS, which stall on a busy machine.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(np.einsum("i,i", x, y))


def freeze(owner: object, *names: str) -> None:
    """Make arrays of an immutable object read-only; whoever else has them may still write.

    Names of what is no array are skipped.
    """
    for name in names:
        value = getattr(owner, name)
        if isinstance(value, np.ndarray):
            view = value.view()
            view.setflags(write=False)
            object.__setattr__(owner, name, view)
