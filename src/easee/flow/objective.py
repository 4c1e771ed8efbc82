"""The objective of the flow problem: the entropy of nodes or of states (Section 4.2).

Without outcomes, a node counts as a state (`NodeEntropy`), and the objective is

    J = sum over t of w_t H(p_t) = sum over nodes of omega(v) * (-p(v) log p(v)),

where p are the visits and omega(v) is the weight of v's layer; at a dead end, where mass waits,
omega(v) also includes the weights of all later layers.

With outcomes (the paper's appendix), a node is a distribution over states (`StateEntropy`), and
J = sum over t of w_t H(q_t), where q_t is the mixture of these distributions at step t.

Both are concave, so for *any* flow the linearisation bounds the optimum: with c(v) = dJ/dp(v), the
duality gap is the largest sum of c along a path minus the flow's own average of it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from easee._utils.arrays import Floats, Mask, dot, sum_at
from easee._utils.memory import free_memory
from easee.errors import ArgumentError, GraphTooLargeError
from easee.flow.arguments import check_interest, check_outcomes, layer_weights
from easee.flow.network import Network, best_values, network
from easee.graph import LocalGraph

HOLDER_BYTES = 64  # memory for each pair of a node and a step
EQUAL_ENTROPY = 1e-12  # entropies of outcomes that differ by less are considered equal

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Objective(ABC):
    """A concave function of the visits of a network's nodes."""

    network: Network
    bound: float  # the value of uniform layers, or states; no flow has a larger one

    @abstractmethod
    def value(self, visits: Floats) -> float:
        """Return J for visits (n,)."""

    @abstractmethod
    def gradient(self, visits: Floats) -> Floats:
        """Return dJ/dp for every node, float (n,); infinite where p or q is 0 and counts."""

    def gap(self, visits: Floats) -> float:
        """Return the duality gap of a flow with these visits; infinite if the gradient is."""
        reward = self.gradient(visits)
        if not np.isfinite(reward).all():
            return float("inf")
        return max(0.0, float(best_values(self.network, reward)[0]) - dot(reward, visits))

    def certificate(self, visits: Floats) -> float:
        """Return the smaller of two bounds on the distance from the optimum: gap and `bound`."""
        return max(0.0, min(self.gap(visits), self.bound - self.value(visits)))


@dataclass(frozen=True, eq=False)
class NodeEntropy(Objective):
    """The weighted sum of the entropies of the nodes.

    >>> from easee.priors.equivalences import Equivalences
    >>> from easee.graph import unroll
    >>> make_objective(unroll(Equivalences(["a", "b"]), depth=2)).omega
    array([0. , 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    """

    omega: Floats  # (n,), the weight of each node's entropy
    offset: float = 0.0  # constant added to the value: the entropy of the outcomes of each node

    @cached_property
    def counts(self) -> Mask:
        """Bool (n,): nodes with a positive weight."""
        return np.asarray(self.omega > 0)

    @cached_property
    def all_count(self) -> bool:
        """Whether every node but the root has a positive weight."""
        return bool(self.counts[1:].all())

    def value(self, visits: Floats) -> float:
        """Return J for visits (n,)."""
        density = np.where(visits > 0, visits / self.network.sizes, 1.0)
        return self.offset - float(np.sum(self.omega * visits * np.log(density)))

    def gradient(self, visits: Floats) -> Floats:
        """Return dJ/dp for every node; infinite where a node that counts is never visited."""
        counts = self.counts
        reward = np.zeros(len(visits))
        with np.errstate(divide="ignore"):
            log_density = np.log((visits / self.network.sizes)[counts])
        reward[counts] = -self.omega[counts] * (log_density + 1.0)
        return reward


@dataclass(frozen=True, eq=False)
class StateEntropy(Objective):
    """The weighted sum over the steps of the entropy of the state.

    The rows of `matrix` are the states that each step can reach, sorted by step. Steps without
    weight have no rows.

    >>> from easee.priors.equivalences import Equivalences
    >>> from easee.graph import unroll
    >>> graph = unroll(Equivalences(["a", "b"]), depth=1)
    >>> objective = make_objective(graph, outcomes=[[0, 1], [0.5, 0.5], [0, 1]])
    >>> objective.mixture(np.array([1, 0.2, 0.8]))
    array([0.1, 0.9])
    """

    matrix: csr_array  # (r, n), probability of a state at a step, given the node
    weights: Floats  # (r,), weight of the row's step
    steps: Ids  # (r,), the row's step

    @cached_property
    def transposed(self) -> csr_array:
        """The matrix from states to nodes, csr (n, r)."""
        return csr_array(self.matrix.T)

    def node_offset(self) -> float | None:
        """Return the constant difference of J and the entropy of the nodes, or None.

        It is constant if no two nodes share a state at any step, and all nodes of a step are
        equally uncertain: then H(q_t) is H(p_t) plus the entropy of the outcomes of a node.
        """
        if (np.diff(self.matrix.indptr) > 1).any():
            return None
        n, chances = self.matrix.shape[1], self.matrix.data
        keys, holder = np.unique(self.steps * n + self.matrix.indices, return_inverse=True)
        entropy = sum_at(holder, -chances * np.log(chances), keys.size)
        steps = keys // n
        mean = sum_at(steps, entropy, 1) / np.maximum(np.bincount(steps), 1)
        if np.abs(entropy - mean[steps]).max() > EQUAL_ENTROPY:
            return None
        weights = np.zeros(len(mean))
        weights[self.steps] = self.weights
        return dot(weights, mean)

    def mixture(self, visits: Floats) -> Floats:
        """Return q, the probability of each state at each step, float (r,)."""
        return np.asarray(self.matrix @ visits)

    def value(self, visits: Floats) -> float:
        """Return J for visits (n,)."""
        q = self.mixture(visits)
        return float(-np.sum(self.weights * q * np.log(np.where(q > 0, q, 1.0))))

    def gradient(self, visits: Floats) -> Floats:
        """Return dJ/dp for every node; infinite where it leads to a state with q = 0."""
        with np.errstate(divide="ignore"):
            log_q = np.log(self.mixture(visits))
        return np.asarray(self.transposed @ (-self.weights * (log_q + 1.0)))


def make_objective(
    graph: LocalGraph,
    *,
    weights: ArrayLike | None = None,
    interest: ArrayLike | None = None,
    outcomes: Any = None,
) -> NodeEntropy | StateEntropy:
    """Check the arguments of `balance` and return its objective on the network of a graph.

    Outcomes that do not overlap and are equally uncertain do not change the optimal policy, so the
    objective is then a `NodeEntropy`.
    """
    if outcomes is not None and interest is not None:
        raise ArgumentError(
            "expected `interest` or `outcomes`, found both: with outcomes, states count instead "
            "of nodes, so leave out `interest`"
        )
    layers = layer_weights(graph, weights)
    if outcomes is None:
        return _node_entropy(graph, layers, interest)
    states = _state_entropy(graph, layers, check_outcomes(graph, outcomes))
    offset = states.node_offset()
    if offset is None:
        return states
    return replace(_node_entropy(graph, layers, None), bound=states.bound, offset=offset)


def _node_entropy(graph: LocalGraph, weights: Floats, interest: ArrayLike | None) -> NodeEntropy:
    layer = np.concatenate([[0.0], weights])
    omega = layer[graph.depths]
    # Mass waits at a dead end until step d, and counts at every step that it waits.
    dead = graph.ends & (graph.depths < graph.depth)
    omega[dead] = np.cumsum(layer[::-1])[::-1][graph.depths[dead]]
    chosen = np.ones(len(graph), bool)
    if interest is not None:
        chosen = check_interest(graph, interest)
        omega[~chosen] = 0.0
        if not omega.any():
            raise ArgumentError(
                "expected a node of interest in a layer with positive weight, found none: "
                "mark one, or give its layer some weight"
            )
    return NodeEntropy(network(graph), _node_bound(graph, weights, chosen), omega)


def _node_bound(graph: LocalGraph, weights: Floats, chosen: Mask) -> float:
    """Return the weighted sum of the largest entropies of the chosen nodes of each step.

    The sum of -p log p over one or two nodes is largest at p = 1/e each, if another node can hold
    the remaining mass. In all other cases it is largest for a uniform distribution.
    """
    counted = _sum_by_step(graph, chosen.astype(float))
    best = np.log(np.maximum(counted, 1.0))
    spare = (counted < layer_supports(graph)) & (counted < np.e)
    best[spare] = counted[spare] / np.e
    return float(weights @ best)


def _state_entropy(graph: LocalGraph, weights: Floats, outcomes: csr_array) -> StateEntropy:
    # Nothing moves after the deepest layer, so all later steps count as one.
    last = int(graph.depths[-1])
    layer = np.concatenate([[0.0], weights[: last - 1], [weights[last - 1 :].sum()]])
    nodes, steps = holders(graph)
    weighted = layer[steps] > 0
    nodes, steps = nodes[weighted], steps[weighted]
    n_states = outcomes.shape[1]
    entries = outcomes[nodes].tocoo()
    keys, rows = np.unique(steps[entries.row] * n_states + entries.col, return_inverse=True)
    positions, shape = (rows, nodes[entries.row]), (keys.size, len(graph))
    matrix = csr_array((entries.data, positions), shape=shape, dtype=float)
    row_steps = keys // n_states
    count = np.bincount(row_steps)[row_steps]
    bound = float(np.sum(layer[row_steps] * np.log(count) / count))
    return StateEntropy(network(graph), bound, matrix, layer[row_steps], row_steps)


def holders(graph: LocalGraph) -> tuple[Ids, Ids]:
    """Return all pairs of a node and a step at which it can hold mass, sorted by step and node.

    A node can hold mass at the step of its own layer, and a dead end also at all later ones up to
    the deepest layer.

    Raises:
        GraphTooLargeError: the pairs do not fit in memory.
    """
    own = graph.depths.astype(np.int64)
    last = np.where(graph.ends, own[-1], own)
    counts = last - own + 1
    if HOLDER_BYTES * int(counts.sum()) > free_memory():
        raise GraphTooLargeError(
            f"expected outcomes of a graph whose dead ends fit in memory with every step that mass "
            f"waits there, found {counts.sum():,} pairs of a node and a step: use a smaller depth"
        )
    nodes = np.repeat(np.arange(len(graph)), counts)
    waited = np.arange(nodes.size) - np.repeat(np.cumsum(counts) - counts, counts)
    steps = own[nodes] + waited
    order = np.argsort(steps, kind="stable")
    return nodes[order], steps[order]


def layer_supports(graph: LocalGraph) -> Floats:
    """Return the number of nodes that can hold mass after 1 to d steps, float (d,)."""
    return _sum_by_step(graph, np.ones(len(graph)))


def layer_entropies(graph: LocalGraph, visits: Floats) -> Floats:
    """Return the entropy of the distribution over nodes after 1 to d steps, float (d,)."""
    return _sum_by_step(graph, -visits * np.log(np.where(visits > 0, visits, 1.0)))


def _sum_by_step(graph: LocalGraph, amount: Floats) -> Floats:
    """Sum an amount per node over each layer from 1 to d and the dead ends before it."""
    layer = sum_at(graph.depths, amount, graph.depth + 1)
    dead = sum_at(graph.depths[graph.ends], amount[graph.ends], graph.depth + 1)
    return layer[1:] + np.cumsum(dead)[:-1]
