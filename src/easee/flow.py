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

With outcomes (`easee.outcomes`) the objective is the entropy of states. It is concave in the flow
too, so the same gap bounds the distance from its optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from easee.arrays import Floats, dot, run_starts, sum_at
from easee.errors import ArgumentError, ArgumentTypeError
from easee.graph import LocalGraph
from easee.outcomes import Mixture, mixture, refuse_interest
from easee.weights import bound, node_weights

Ids = NDArray[np.int32]


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
    return 0.0 - float(np.sum(net.omega * visits * _log_density(net, visits)))


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
        wrong &= (total > 0) | _reached(graph, table)
    if wrong.any():
        node = int(np.flatnonzero(wrong)[0])
        raise ArgumentError(f"expected rows that sum to 1, found {total[node]:g} at node {node}")
    # What a row has too much would grow with every layer, and make a policy look better than it is.
    scaled: Floats = table / np.where(total > 0, total, 1.0)[:, None]
    return scaled


def _reached(graph: LocalGraph, probabilities: Floats) -> NDArray[np.bool_]:
    """Return which nodes a policy gets to, bool (n,)."""
    net = network(graph, np.zeros(len(graph)))
    reached: NDArray[np.bool_] = push(net, (probabilities > 0)[graph.forward].astype(float)) > 0
    return reached
