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

With outcomes (`easee.flow.outcomes`) the objective is the entropy of states. It is concave in the
flow too, so the same gap bounds the distance from its optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import Floats, run_starts, sum_at
from easee.graph import LocalGraph

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
