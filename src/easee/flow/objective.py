"""What counts in the convex problem: the weights of layers and nodes, and the bound they give."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from easee._utils.arrays import Floats, sum_at
from easee.errors import ArgumentError
from easee.graph import LocalGraph


def node_weights(
    graph: LocalGraph,
    weights: ArrayLike | None = None,
    interest: ArrayLike | None = None,
) -> Floats:
    """Return omega, the weight of every node's entropy, float (n,).

    >>> from easee.priors.equivalences import Equivalences
    >>> from easee.graph import unroll
    >>> node_weights(unroll(Equivalences(["a", "b"]), depth=2))
    array([0. , 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    """
    layer = np.concatenate([[0.0], layer_weights(graph, weights)])
    omega = layer[graph.depths]
    # Mass waits at a dead end until step d, and counts at every step that it waits.
    dead = graph.ends & (graph.depths < graph.depth)
    omega[dead] = np.cumsum(layer[::-1])[::-1][graph.depths[dead]]
    if interest is not None:
        omega[~_checked_interest(graph, interest)] = 0.0
        if not omega.any():
            raise ArgumentError("no node of interest is in a layer that has weight")
    return omega


def layer_weights(graph: LocalGraph, weights: ArrayLike | None = None) -> Floats:
    """Return the weights of layers 1 to d, scaled to sum 1; all equal by default (the paper's)."""
    if weights is None:
        return np.full(graph.depth, 1.0 / graph.depth)
    try:
        given = np.asarray(weights, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"expected {graph.depth} numbers, found weights={weights!r}") from None
    if given.shape != (graph.depth,):
        raise ArgumentError(
            f"expected {graph.depth} weights, one for each layer from 1 to {graph.depth}, "
            f"found an array of shape {given.shape}"
        )
    if not np.isfinite(given).all() or (given < 0).any():
        raise ArgumentError(f"expected finite non-negative weights, found {given.tolist()}")
    if not given.any():
        raise ArgumentError("expected at least one positive weight, found only zeros")
    given = given / given.max()  # first, so that the sum cannot overflow
    scaled: Floats = given / given.sum()
    return scaled


def _checked_interest(graph: LocalGraph, interest: ArrayLike) -> NDArray[np.bool_]:
    chosen = np.asarray(interest)
    if chosen.shape != (len(graph),) or chosen.dtype != bool:
        raise ArgumentError(
            f"expected interest as a bool array with one entry for each of {len(graph)} nodes, "
            f"found {chosen.dtype} of shape {chosen.shape}"
        )
    if not chosen[1:].any():
        raise ArgumentError("the set of interest is empty: mark at least one node below the root")
    return chosen


def bound(
    graph: LocalGraph,
    weights: ArrayLike | None = None,
    interest: ArrayLike | None = None,
) -> float:
    """Return what uniform layers would give: no flow has a larger objective.

    With nodes of interest, uniform over those. Of one or two such nodes the sum of -p log p is
    largest at p = 1/e each, if there is another node to hold the rest.
    """
    chosen = np.ones(len(graph), bool) if interest is None else _checked_interest(graph, interest)
    held = layer_supports(graph)
    counted = _holding(graph, chosen.astype(float))
    best = np.log(np.maximum(counted, 1.0))
    spare = (counted < held) & (counted < np.e)
    best[spare] = counted[spare] / np.e
    return float(layer_weights(graph, weights) @ best)


def layer_supports(graph: LocalGraph) -> Floats:
    """Count the nodes that can hold mass at steps 1 to d: a layer and the dead ends before it."""
    return _holding(graph, np.ones(len(graph)))


def layer_entropies(graph: LocalGraph, visits: Floats) -> Floats:
    """Return the entropy of where one is after 1 to d steps, float (d,)."""
    return _holding(graph, -visits * np.log(np.where(visits > 0, visits, 1.0)))


def _holding(graph: LocalGraph, amount: Floats) -> Floats:
    """Sum an amount per node over each layer from 1 to d and the dead ends before it."""
    layer = sum_at(graph.depths, amount, graph.depth + 1)
    dead = sum_at(graph.depths[graph.ends], amount[graph.ends], graph.depth + 1)
    return layer[1:] + np.cumsum(dead)[:-1]
