"""Array types and functions that many modules share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

Floats = NDArray[np.float64]
Ids = NDArray[np.int32]
Mask = NDArray[np.bool_]


def sum_at(index: NDArray[Any], values: Floats, size: int) -> Floats:
    """Return the sum of the values with each index, float (size,).

    >>> sum_at(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3)
    array([4., 0., 2.])
    """
    return np.bincount(index, values, minlength=size).astype(float, copy=False)


def run_starts(sorted_ids: NDArray[Any]) -> NDArray[np.intp]:
    """Return the start of each run of equal ids.

    >>> run_starts(np.array([3, 3, 5]))
    array([0, 2])
    """
    starts = np.ones(sorted_ids.size, bool)
    np.not_equal(sorted_ids[1:], sorted_ids[:-1], out=starts[1:])
    return starts.nonzero()[0]


def dot(x: Floats, y: Floats) -> float:
    """Return the inner product without BLAS, whose threads are slow on a busy machine.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(np.einsum("i,i", x, y))


def components(first: NDArray[Any], second: NDArray[Any], size: int) -> tuple[int, Ids]:
    """Return the number of connected components of a graph, and the component of each node.

    >>> components(np.array([0, 3]), np.array([2, 1]), 4)
    (2, array([0, 1, 0, 1], dtype=int32))
    """
    # SciPy's algorithm reads rows of floats; other types are converted, which takes longer.
    links = csr_array((np.ones(first.size), (first, second)), shape=(size, size))
    count, labels = connected_components(links, directed=False)
    return count, labels


def freeze(owner: object, *names: str) -> None:
    """Replace attributes that are arrays by read-only views; others are left unchanged."""
    for name in names:
        value = getattr(owner, name)
        if isinstance(value, np.ndarray):
            view = value.view()
            view.setflags(write=False)
            object.__setattr__(owner, name, view)


class ReadOnlyArrays:
    """A base of frozen dataclasses that makes their arrays read-only, also after unpickling."""

    def __post_init__(self) -> None:
        freeze(self, *vars(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        freeze(self, *state)
