"""The stochastic case (the appendix): a node is a distribution over states.

The objective is then the entropy of where one may be, J = sum over t of w_t H(q_t) with q_t the
`Mixture` of these distributions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from easee._utils.arrays import Floats, sum_at
from easee.errors import ArgumentError, ArgumentTypeError
from easee.flow.objective import layer_weights
from easee.graph import LocalGraph

EQUAL_ENTROPY = 1e-12  # outcome distributions whose entropies differ by less are as uncertain
NEGLIGIBLE = 1e-200  # chances below are taken for 0: together with few visits they would be anyway


@dataclass(frozen=True, eq=False)
class Mixture:
    """Where one may be at each step, given the outcome distributions of the nodes.

    A *holder* is a node at a step when it can hold mass: in its own layer, and a dead end also
    later. From the step on when nothing moves any more all steps count as one.

    Attributes:
        nodes: int (h,), the node of each holder, sorted by step and then by node.
        steps: int (h,), its step, from 0 on.
        matrix: csr (r, h), how likely each holder is in each state that its step can reach. Steps
            without weight have no rows.
        weights: float (r,), the weight of the row's step.
        rows: int (r,), the row's step; they are sorted by it.
    """

    nodes: NDArray[np.int64]
    steps: NDArray[np.int64]
    matrix: csr_array
    weights: Floats
    rows: NDArray[np.int64]

    @property
    def bound(self) -> float:
        """What a uniform distribution over the states would give at every step."""
        count = sum_at(self.rows, np.ones(len(self.rows)), 1)
        return float(np.sum(self.weights * np.log(count[self.rows]) / count[self.rows]))

    @property
    def separate(self) -> bool:
        """Whether no two nodes share a state at any step, and all are equally uncertain there.

        Then H(q_t) is H(p_t) and what the outcomes add, which no policy changes.
        """
        if (np.diff(self.matrix.indptr) > 1).any():
            return False
        chances = self.matrix.data
        own = sum_at(self.matrix.indices, -chances * np.log(chances), len(self.nodes))
        mean = sum_at(self.steps, own, 1) / np.bincount(self.steps)
        return bool(np.abs(own - mean[self.steps]).max() <= EQUAL_ENTROPY)

    def spread(self, visits: Floats) -> Floats:
        """Return q, float (r,): how likely each state is at each step, given the nodes' visits."""
        likely: Floats = self.matrix @ visits[self.nodes]
        return likely

    def objective(self, visits: Floats) -> float:
        """Return J, the weighted sum of the entropies of q."""
        q = self.spread(visits)
        return float(-np.sum(self.weights * q * np.log(np.where(q > 0, q, 1.0))))

    def marginal(self, visits: Floats) -> Floats:
        """Return dJ/dp for every node; infinite where it leads to a state with q = 0."""
        with np.errstate(divide="ignore"):
            reward = -self.weights * (np.log(self.spread(visits)) + 1.0)
        # A dead end's mass counts at every step that it waits: the sum over its holders.
        return sum_at(self.nodes, self.matrix.T @ reward, len(visits))


def mixture(graph: LocalGraph, outcomes: Any, weights: ArrayLike | None = None) -> Mixture:
    """Return the mixtures of outcome distributions (n, states) that the steps of a graph can have.

    >>> from easee.priors.equivalences import Equivalences
    >>> from easee.graph import unroll
    >>> graph = unroll(Equivalences(["a", "b"]), depth=1)
    >>> mix = mixture(graph, [[0, 1], [0.5, 0.5], [0, 1]])
    >>> mix.spread(np.array([1, 0.2, 0.8]))
    array([0.1, 0.9])
    """
    chances = checked_outcomes(graph, outcomes)
    last = int(graph.depths[-1])
    given = layer_weights(graph, weights)
    layer = np.concatenate([[0.0], given[: last - 1], [given[last - 1 :].sum()]])
    nodes, steps = _holders(graph)
    counted = np.flatnonzero(layer[steps] > 0)
    entries = chances[nodes[counted]].tocoo()
    key = steps[counted][entries.row] * chances.shape[1] + entries.col
    keys, row = np.unique(key, return_inverse=True)
    matrix = csr_array(
        (entries.data, (row, counted[entries.row])), shape=(keys.size, nodes.size), dtype=float
    )
    rows = keys // chances.shape[1]
    return Mixture(nodes, steps, matrix, layer[rows], rows)


def _holders(graph: LocalGraph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return who can hold mass when: nodes and steps, sorted by step and then by node."""
    own = graph.depths.astype(np.int64)
    last = np.where(graph.ends, own[-1], own)
    counts = last - own + 1
    nodes = np.repeat(np.arange(len(graph)), counts)
    later = np.arange(nodes.size) - np.repeat(np.cumsum(counts) - counts, counts)
    steps = own[nodes] + later
    order = np.argsort(steps, kind="stable")
    return nodes[order], steps[order]


def checked_outcomes(graph: LocalGraph, outcomes: Any) -> csr_array:
    """Return outcome distributions as a sparse matrix (n, states), or say what is wrong."""
    chances = _sparse_matrix(graph, outcomes)
    wrong = np.flatnonzero(~np.isfinite(chances.data) | (chances.data < 0))
    if wrong.size:
        node = int(np.searchsorted(chances.indptr, wrong[0], side="right")) - 1
        raise ArgumentError(
            f"expected outcomes that are probabilities, found {chances.data[wrong[0]]:g} in the "
            f"row of node {node}: every entry has to be a number from 0 to 1"
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
        given = outcomes if issparse(outcomes) else np.asarray(outcomes)
    except ValueError:  # rows of unequal length
        given = np.asarray(None)
    if given.dtype.kind not in "biuf":
        raise ArgumentTypeError(
            "expected outcomes as a matrix of numbers, dense or scipy.sparse, "
            f"found {type(outcomes).__name__}: give one row of probabilities for every node"
        )
    if given.ndim != 2 or given.shape[0] != len(graph) or not given.shape[1]:
        raise ArgumentError(
            f"expected outcomes of shape ({len(graph)}, states), a row for every node of the "
            f"graph, found {given.shape}: row i is where the word of node i may lead"
        )
    return csr_array(given, dtype=float, copy=True)


def refuse_interest(interest: ArrayLike | None) -> None:
    """Say that nodes of interest mean nothing where states are counted."""
    if interest is not None:
        raise ArgumentError(
            "expected `interest` or `outcomes`, found both: with outcomes it is states that "
            "count, not nodes, so leave out `interest`"
        )
