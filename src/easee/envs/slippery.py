"""Outcomes of words on a slippery CardinalGrid, the paper's stochastic case.

With probability `slip` a move is replaced by one in a random direction. A word then leads to a
distribution over cells that depends only on how often it contains each move. `right left ~` is no
longer true, but a policy over forward actions takes only shortest words, for which the prior holds.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from easee._utils.arrays import Floats
from easee._utils.checks import checked_share
from easee.envs.grids import MOVES, CardinalGrid
from easee.errors import ArgumentError, ArgumentTypeError
from easee.graph import LocalGraph


def slippery_outcomes(graph: LocalGraph, slip: float) -> csr_array:
    """Return the outcomes of each node's shortest words on a slippery, unbounded grid.

    Args:
        graph: graph of a prior over the actions right, left, up and down, in which equivalent words
            of the same length consist of the same moves, as in `cardinal-grid`.
        slip: probability that a move is replaced by one in a random direction of the four.

    Returns:
        csr (n, (2 d + 1)^2), the `outcomes` argument of `balance`: each node's distribution over
        the cells (x, y) around the start, cell (x, y) in column `(x + d) * (2 d + 1) + (y + d)`.

    >>> from easee import priors, unroll
    >>> graph = unroll(priors.get("cardinal-grid"), depth=1)
    >>> outcomes = slippery_outcomes(graph, 0.2)
    >>> outcomes[graph.node("right")].toarray().reshape(3, 3).round(3)  # rows are x = -1, 0, 1
    array([[0.  , 0.05, 0.  ],
           [0.05, 0.  , 0.05],
           [0.  , 0.85, 0.  ]])
    """
    moves = _checked_moves(graph)
    slip = checked_share(slip, "slip")
    tails, actions = _first_edges(graph)
    side = 2 * graph.depth + 1
    layer = np.zeros((1, side, side))
    layer[0, graph.depth, graph.depth] = 1.0
    start, rows = 0, [_flat(layer)]
    for stop in np.cumsum(graph.layer_sizes)[:-1]:
        size = graph.layer_sizes[len(rows)]
        heads = slice(stop, stop + size)
        layer = _step(layer[tails[heads] - start], moves[actions[heads]], slip)
        rows.append(_flat(layer))
        start = int(stop)
    return csr_array(vstack(rows))


def _checked_moves(graph: LocalGraph) -> NDArray[np.int64]:
    """Return the move of each action, an index into MOVES."""
    if not isinstance(graph, LocalGraph):
        raise ArgumentTypeError(f"expected a LocalGraph, found {type(graph).__name__}")
    names = CardinalGrid.action_names
    if not set(graph.actions) <= set(names):
        raise ArgumentError(
            f"expected a graph of the actions {', '.join(names)}, found "
            f"{', '.join(graph.actions)}: use a prior of CardinalGrid, such as 'cardinal-grid'"
        )
    return np.array([names.index(name) for name in graph.actions])


def _first_edges(graph: LocalGraph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the tail and the action of each node's first incoming edge, and zeros for the root.

    Raises:
        ArgumentError: the words that lead to a node consist of different moves.
    """
    tails, actions = np.nonzero(graph.forward)
    heads = graph.successors[tails, actions]
    nodes, first = np.unique(heads, return_index=True)
    tail, action = np.zeros(len(graph), np.int64), np.zeros(len(graph), np.int64)
    tail[nodes], action[nodes] = tails[first], actions[first]
    count = np.zeros((len(graph), len(graph.actions)), np.int64)
    for node in range(1, len(graph)):  # tails come before heads
        count[node] = count[tail[node]]
        count[node, action[node]] += 1
    edge_count = count[tails]
    edge_count[np.arange(len(tails)), actions] += 1
    wrong = np.flatnonzero((edge_count != count[heads]).any(axis=1))
    if wrong.size:
        node = int(heads[wrong[0]])
        raise ArgumentError(
            f"expected equivalent words to consist of the same moves, found different ones at node "
            f"{node} ({' '.join(graph.word(node))}): its outcome would depend on the word"
        )
    return tail, action


def _step(before: Floats, moves: NDArray[np.int64], slip: float) -> Floats:
    """Return the distributions (k, side, side) after one more move."""
    # np.roll wraps around, but no mass reaches the border before the last step.
    shifted = [np.roll(before, tuple(move), axis=(1, 2)) for move in MOVES]
    after: Floats = slip / len(MOVES) * np.sum(shifted, axis=0)
    for direction, moved in enumerate(shifted):
        chosen = moves == direction
        after[chosen] += (1.0 - slip) * moved[chosen]
    return after


def _flat(layer: Floats) -> csr_array:
    return csr_array(layer.reshape(len(layer), -1))
