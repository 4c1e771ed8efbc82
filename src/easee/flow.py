"""The convex problem: how evenly a flow over the layers visits the nodes (Section 4.2).

A policy sends one unit of mass from the empty word along forward edges. `visits` is the mass that
reaches each node; it stays at the ends (full depth and dead ends), so that the mass of every time
step is a distribution. The objective is

    J = sum over t of w_t H(p_t) = sum over nodes of omega(v) * (-p(v) log p(v)),

where omega(v) is the weight of v's layer, and at a dead end also of all later ones. J is concave,
so for *any* flow the linearisation bounds the optimum: with c(v) = dJ/dp(v), the best path's sum
of c minus the flow's own average of it. That is the duality gap; it costs one backward pass.

A `Network` may be the graph itself or its quotient by symmetry, where a node stands for `sizes`
equal nodes and an edge for `copies` equal edges from each of them.

In the stochastic case (the appendix) a node is a distribution over states, and the objective is the
entropy of where one may be: J = sum over t of w_t H(q_t) with q_t the `Mixture` of these
distributions. It is concave in the flow too, so the same gap bounds the distance from its optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from easee.arrays import dot, run_starts, sum_at
from easee.errors import ArgumentError, ArgumentTypeError
from easee.graph import LocalGraph

Floats = NDArray[np.float64]
Ids = NDArray[np.int32]

EQUAL_ENTROPY = 1e-12  # outcome distributions whose entropies differ by less are as uncertain
NEGLIGIBLE = 1e-200  # chances below are taken for 0: together with few visits they would be anyway


@dataclass(frozen=True, eq=False)
class Network:
    """A layered graph with everything the optimiser needs to know.

    Attributes:
        layers: int (l + 1,), layer t has the nodes `layers[t]` up to `layers[t + 1]`.
        stages: int (l,), the edges out of layer t are `stages[t]` up to `stages[t + 1]`.
        tails, heads: int (m,), the edges, sorted by tail.
        copies: float (m,), how many equal edges each one stands for, per tail.
        sizes: float (n,), how many equal nodes each one stands for.
        omega: float (n,), the weight of each node's entropy.
    """

    layers: NDArray[np.int64]
    stages: NDArray[np.int64]
    tails: Ids
    heads: Ids
    copies: Floats
    sizes: Floats
    omega: Floats

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.omega)

    @cached_property
    def walk(self) -> list[Stage]:
        """The edges layer by layer, for passes down (or, reversed, up) the network."""
        bounds = [*self.stages.tolist(), len(self.tails)]
        layers = self.layers.tolist()
        stages = []
        for t, (first, last) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
            if first < last:
                begins = run_starts(self.tails[first:last])
                stages.append(
                    Stage(
                        edges=slice(first, last),
                        begins=begins,
                        nodes=self.tails[first:last][begins],
                        ahead=slice(layers[t + 1], layers[t + 2]),
                        heads=self.heads[first:last] - layers[t + 1],
                    )
                )
        return stages


@dataclass(frozen=True, eq=False)
class Stage:
    """The edges from one layer to the next.

    Attributes:
        edges: which they are.
        begins: where among them the edges of each inner node of the layer begin.
        nodes: these inner nodes.
        ahead: the nodes of the next layer.
        heads: the head of each edge, counted from the first of these.
    """

    edges: slice
    begins: NDArray[np.intp]
    nodes: Ids
    ahead: slice
    heads: Ids


def network(graph: LocalGraph, omega: Floats) -> Network:
    """Return the forward edges of a graph as a network."""
    tails, actions = np.nonzero(graph.forward)
    heads = graph.successors[tails, actions]
    deepest = int(graph.depths[-1])
    layers = np.searchsorted(graph.depths, np.arange(deepest + 2))
    stages = np.searchsorted(tails, layers)
    return Network(
        layers=layers,
        stages=stages[: deepest + 1],
        tails=tails.astype(np.int32),
        heads=heads,
        copies=np.ones(len(tails)),
        sizes=np.ones(len(graph)),
        omega=omega,
    )


def node_weights(
    graph: LocalGraph,
    weights: ArrayLike | None = None,
    interest: ArrayLike | None = None,
) -> Floats:
    """Return omega, the weight of every node's entropy, float (n,).

    >>> from easee.equivalences import Equivalences
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


def push(net: Network, shares: Floats) -> Floats:
    """Send one unit of mass down from the root; `shares` (m,) says how each node splits its own.

    Returns:
        float (n,), the mass that reaches each node.
    """
    visits = np.zeros(net.n_nodes)
    visits[0] = 1.0
    for stage in net.walk:
        mass = shares[stage.edges] * visits[net.tails[stage.edges]]
        visits[stage.ahead] = sum_at(stage.heads, mass, stage.ahead.stop - stage.ahead.start)
    return visits


def best_values(net: Network, reward: Floats) -> Floats:
    """Return for every node the largest sum of `reward` over nodes that a path from it collects."""
    value = np.zeros(net.n_nodes)
    for stage in reversed(net.walk):
        worth = (reward[stage.ahead] + value[stage.ahead])[stage.heads]
        value[stage.nodes] = np.maximum.reduceat(worth, stage.begins)
    return value


def objective(net: Network, visits: Floats) -> float:
    """Return J of a flow with these visits."""
    return float(-np.sum(net.omega * visits * _log_density(net, visits)))


def gap(net: Network, visits: Floats) -> float:
    """Bound how far a flow with these visits is from the optimum. Infinite where p(v) = 0."""
    return linear_gap(net, marginal(net, visits), visits)


def linear_gap(net: Network, reward: Floats, visits: Floats) -> float:
    """Return the best path's sum of a reward less the flow's own average; inf if the reward is."""
    finite = np.isfinite(reward)
    if not finite.all():
        return float("inf")
    return max(0.0, float(best_values(net, reward)[0]) - dot(reward, visits))


def marginal(net: Network, visits: Floats) -> Floats:
    """Return dJ/dp for every node; infinite where a node that counts is never visited."""
    counts = net.omega > 0
    reward = np.zeros(net.n_nodes)
    with np.errstate(divide="ignore"):
        reward[counts] = -net.omega[counts] * (np.log((visits / net.sizes)[counts]) + 1.0)
    return reward


def _log_density(net: Network, visits: Floats) -> Floats:
    return np.log(np.where(visits > 0, visits / net.sizes, 1.0))


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

    >>> from easee.equivalences import Equivalences
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


def duality_gap(
    graph: LocalGraph,
    probabilities: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    interest: ArrayLike | None = None,
    outcomes: Any = None,
) -> float:
    """Bound how far a policy is from the optimum, for any policy over forward actions.

    Args:
        graph: the local-dynamics graph.
        probabilities: float (n, k); rows of nodes that are reached sum to 1, and actions that are
            not forward have none.
        weights: as for `balance`.
        interest: as for `balance`.
        outcomes: as for `balance`.

    Returns:
        An upper bound on the optimal objective less that of the policy.

    >>> from easee.equivalences import Equivalences
    >>> from easee.graph import unroll
    >>> graph = unroll(Equivalences(["a", "b"], ["a b ~ b a"]), depth=2)
    >>> even = graph.forward / 2  # a, ab, b: the middle one is visited twice as often
    >>> round(duality_gap(graph, even), 4)
    0.0294
    """
    if not isinstance(graph, LocalGraph):
        raise ArgumentTypeError(f"expected a LocalGraph, found {type(graph).__name__}")
    table = checked_probabilities(graph, probabilities)
    if outcomes is not None:
        refuse_interest(interest)
    net = network(graph, node_weights(graph, weights, interest))
    visits = push(net, table[graph.forward])
    if outcomes is not None:
        return mixed_certificate(net, mixture(graph, outcomes, weights), visits)
    return certificate(net, visits, bound(graph, weights, interest) - objective(net, visits))


def refuse_interest(interest: ArrayLike | None) -> None:
    """Say that nodes of interest mean nothing where states are counted."""
    if interest is not None:
        raise ArgumentError(
            "expected `interest` or `outcomes`, found both: with outcomes it is states that "
            "count, not nodes, so leave out `interest`"
        )


def certificate(net: Network, visits: Floats, below_bound: float) -> float:
    """Return the smaller of two bounds on the distance from the optimum: linear, and uniform."""
    return max(0.0, min(gap(net, visits), below_bound))  # rounding may leave a hair below zero


def mixed_certificate(net: Network, mix: Mixture, visits: Floats) -> float:
    """Return the same for the entropy of a mixture of outcomes."""
    linear = linear_gap(net, mix.marginal(visits), visits)
    return max(0.0, min(linear, mix.bound - mix.objective(visits)))


def checked_probabilities(graph: LocalGraph, probabilities: ArrayLike) -> Floats:
    """Return probabilities as an array (n, k), or say why they are no policy on the graph."""
    try:
        table = np.asarray(probabilities, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentTypeError("expected probabilities as an array of numbers") from None
    if table.shape != graph.successors.shape:
        raise ArgumentError(
            f"expected probabilities of shape {graph.successors.shape} (nodes, actions), "
            f"found {table.shape}"
        )
    if not (table >= 0).all():
        raise ArgumentError("expected non-negative probabilities, found a negative one or NaN")
    if table[~graph.forward].any():
        raise ArgumentError(
            "expected probability 0 for every action that does not lead deeper, found some: "
            "set them to 0 where `graph.forward` is False and scale the rows to sum 1"
        )
    total = table.sum(axis=1)
    wrong = ~graph.ends & (np.abs(total - 1.0) > 1e-6)
    if wrong.any():
        node = int(np.flatnonzero(wrong)[0])
        raise ArgumentError(f"expected rows that sum to 1, found {total[node]:g} at node {node}")
    return table
