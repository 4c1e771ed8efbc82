"""The layered network of forward edges, and passes of mass and values over its layers.

A policy sends one unit of mass from the empty word along forward edges. The *visits* of a node are
the mass that reaches it. The mass stays at the ends (nodes at full depth and dead ends), so that
the mass of every time step is a distribution.

A `Network` is either the graph itself or its quotient by symmetry, where a node stands for `sizes`
equal nodes and an edge for `copies` equal edges from each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import Floats, run_starts, sum_at
from easee.graph import LocalGraph

Ids = NDArray[np.int32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Network:
    """A layered graph.

    Attributes:
        layers: int (l + 1,), layer t has the nodes `layers[t]` up to `layers[t + 1]`.
        tails, heads: int (m,), the edges, sorted by tail.
        copies: float (m,), number of equal edges that each one stands for, per tail.
        sizes: float (n,), number of equal nodes that each one stands for.
    """

    layers: NDArray[np.int64]
    tails: Ids
    heads: Ids
    copies: Floats
    sizes: Floats

    @classmethod
    def simple(cls, layers: NDArray[np.int64], tails: NDArray[Any], heads: NDArray[Any]) -> Network:
        """Return a network in which every node and edge stands for itself alone."""
        copies, sizes = np.ones(len(tails)), np.ones(layers[-1])
        return cls(layers, tails.astype(np.int32), heads.astype(np.int32), copies, sizes)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.sizes)

    @cached_property
    def inner(self) -> Mask:
        """Bool (n,): nodes that have an outgoing edge."""
        inner = np.zeros(self.n_nodes, bool)
        inner[self.tails] = True
        return inner

    @cached_property
    def stages(self) -> list[Stage]:
        """The edges layer by layer, for passes down (or, reversed, up) the network."""
        bounds = np.searchsorted(self.tails, self.layers).tolist()
        layers = self.layers.tolist()
        stages = []
        for t, (first, last) in enumerate(zip(bounds[:-1], bounds[1:], strict=True)):
            if first < last:
                starts = run_starts(self.tails[first:last])
                stages.append(
                    Stage(
                        edges=slice(first, last),
                        starts=starts,
                        sources=self.tails[first:last][starts],
                        targets=slice(layers[t + 1], layers[t + 2]),
                        heads=self.heads[first:last] - layers[t + 1],
                    )
                )
        return stages


@dataclass(frozen=True, eq=False)
class Stage:
    """The edges from one layer to the next.

    Attributes:
        edges: slice of the network's edges.
        starts: int, position among these edges of the first edge of each source.
        sources: int, nodes of the layer that have an outgoing edge.
        targets: slice of the nodes of the next layer.
        heads: int, head of each edge, counted from the first target.
    """

    edges: slice
    starts: NDArray[np.intp]
    sources: Ids
    targets: slice
    heads: Ids

    @property
    def n_targets(self) -> int:
        """Number of nodes of the next layer."""
        return int(self.targets.stop - self.targets.start)


def network(graph: LocalGraph) -> Network:
    """Return the forward edges of a graph as a network."""
    tails, actions = np.nonzero(graph.forward)
    layers = np.searchsorted(graph.depths, np.arange(int(graph.depths[-1]) + 2))
    return Network.simple(layers, tails, graph.successors[tails, actions])


def push(net: Network, shares: Floats) -> Floats:
    """Send one unit of mass down from the root.

    Args:
        net: the network.
        shares: float (m,), share of its tail's mass that each edge carries.

    Returns:
        float (n,), the mass that reaches each node.
    """
    visits = np.zeros(net.n_nodes)
    visits[0] = 1.0
    for stage in net.stages:
        mass = shares[stage.edges] * visits[net.tails[stage.edges]]
        visits[stage.targets] = sum_at(stage.heads, mass, stage.n_targets)
    return visits


def inflow(net: Network, flow: Floats) -> Floats:
    """Return the visits (n,) of a flow (m,); those of the root are 1."""
    visits = sum_at(net.heads, flow, net.n_nodes)
    visits[0] = 1.0
    return visits


def best_values(net: Network, reward: Floats) -> Floats:
    """Return the largest sum of `reward` (n,) over the later nodes of a path from each node."""
    value = np.zeros(net.n_nodes)
    for stage in reversed(net.stages):
        worth = (reward[stage.targets] + value[stage.targets])[stage.heads]
        value[stage.sources] = np.maximum.reduceat(worth, stage.starts)
    return value
