"""Checks of the arguments of `balance`: weights, nodes of interest and outcomes."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse

from easee._utils.arrays import Floats, Mask
from easee._utils.checks import checked_array
from easee.errors import ArgumentError, ArgumentTypeError
from easee.graph import LocalGraph

NEGLIGIBLE = 1e-200  # smaller outcome probabilities are set to 0: products with visits underflow


def layer_weights(graph: LocalGraph, weights: ArrayLike | None = None) -> Floats:
    """Return the weights of layers 1 to d, scaled to sum 1; all equal by default (the paper's)."""
    if weights is None:
        return np.full(graph.depth, 1.0 / graph.depth)
    values = checked_array(weights, "weights", (graph.depth,), "one for each layer from 1 to d")
    if not values.any():
        raise ArgumentError("expected at least one positive weight, found only zeros")
    values = values / float(values.max())  # first, so that the sum cannot overflow
    return values / float(values.sum())


def without_small_weights(weights: ArrayLike, smallest: float) -> Floats:
    """Return weights with those set to 0 that are smaller than a share of their sum.

    >>> without_small_weights([1e-20, 1.0, 3.0], 1e-12)
    array([0., 1., 3.])
    """
    values = np.asarray(weights, float)
    scaled = values / values.max()
    return np.where(scaled < smallest * scaled.sum(), 0.0, values)


def check_interest(graph: LocalGraph, interest: ArrayLike) -> Mask:
    """Return the nodes of interest as an array, bool (n,)."""
    chosen = np.asarray(interest)
    if chosen.shape != (len(graph),) or chosen.dtype != bool:
        raise ArgumentError(
            f"expected interest as a bool array with one entry for each of {len(graph)} nodes, "
            f"found {chosen.dtype} of shape {chosen.shape}"
        )
    if not chosen[1:].any():
        raise ArgumentError("the set of interest is empty: mark at least one node below the root")
    return chosen


def check_outcomes(graph: LocalGraph, outcomes: Any) -> csr_array:
    """Return outcome distributions as a normalised sparse matrix (n, states)."""
    chances = _sparse_matrix(graph, outcomes)
    wrong = np.flatnonzero(~np.isfinite(chances.data) | (chances.data < 0))
    if wrong.size:
        node = int(np.searchsorted(chances.indptr, wrong[0], side="right")) - 1
        raise ArgumentError(
            f"expected outcomes that are probabilities, found {chances.data[wrong[0]]:g} in the "
            f"row of node {node}: every entry must be a number from 0 to 1"
        )
    total = np.asarray(chances.sum(axis=1), dtype=float)
    wrong = np.flatnonzero(np.abs(total - 1.0) > 1e-9)
    if wrong.size:
        node = int(wrong[0])
        raise ArgumentError(
            f"expected outcomes whose rows sum to 1, found {total[node]:.12g} in the row of node "
            f"{node}: divide every row by its sum"
        )
    chances.data[chances.data < NEGLIGIBLE] = 0.0
    chances.eliminate_zeros()
    chances.data /= np.repeat(total, np.diff(chances.indptr))
    return chances


def _sparse_matrix(graph: LocalGraph, outcomes: Any) -> csr_array:
    """Return a copy of a dense or sparse matrix that has a row for every node."""
    try:
        matrix = outcomes if issparse(outcomes) else np.asarray(outcomes)
    except ValueError:  # rows of unequal length
        matrix = np.asarray(None)
    if matrix.dtype.kind not in "biuf":
        raise ArgumentTypeError(
            "expected outcomes as a matrix of numbers, dense or scipy.sparse, "
            f"found {type(outcomes).__name__}: give one row of probabilities for every node"
        )
    if matrix.ndim != 2 or matrix.shape[0] != len(graph) or not matrix.shape[1]:
        raise ArgumentError(
            f"expected outcomes of shape ({len(graph)}, states), a row for every node of the "
            f"graph, found {matrix.shape}: row i is the distribution over states of node i"
        )
    return csr_array(matrix, dtype=float, copy=True)
