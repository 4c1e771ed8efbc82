"""The layered network of forward edges, and passes of mass and values over its layers.

A policy sends one unit of mass from the empty word along forward edges. The *visits* of a node are
the mass that reaches it. Mass stays at the ends (nodes at full depth and dead ends), so that the
mass of every time step is a distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import Floats, Ids, Mask, run_starts, sum_at
from easee.graph import LocalGraph


class Stage(NamedTuple):
    """The edges from one layer to the next."""

    edges: slice  # of the network's edges
    tails: Ids
    starts: NDArray[np.intp]  # position among these edges of the first edge of each source
    sources: Ids  # nodes of the layer that have an outgoing edge
    targets: slice  # the nodes of the next layer
    heads: Ids  # counted from the first target

    @property
    def n_targets(self) -> int:
        """Number of nodes of the next layer."""
        return int(self.targets.stop - self.targets.start)


@dataclass(frozen=True, eq=False)
class Network:
    """A layered graph, or its quotient by symmetry.

    In a quotient, a node stands for `sizes` equal nodes, and an edge for `copies` equal edges from
    each of them.
    """

    layers: NDArray[np.int64]  # (l + 1,): layer t has the nodes layers[t] up to layers[t + 1]
    tails: Ids  # (m,), in increasing order
    heads: Ids  # (m,)
    copies: Floats  # (m,)
    sizes: Floats  # (n,)

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
        bounds, layers = np.searchsorted(self.tails, self.layers).tolist(), self.layers.tolist()
        stages = []
        for t in range(len(layers) - 2):
            edges, targets = slice(*bounds[t : t + 2]), slice(*layers[t + 1 : t + 3])
            tails, heads = self.tails[edges], self.heads[edges] - targets.start
            starts = run_starts(tails)
            stages.append(Stage(edges, tails, starts, tails[starts], targets, heads))
        return stages


def network(graph: LocalGraph) -> Network:
    """Return the forward edges of a graph as a network."""
    tails, actions = np.nonzero(graph.forward)
    layers = np.searchsorted(graph.depths, np.arange(int(graph.depths[-1]) + 2))
    return Network.simple(layers, tails, graph.successors[tails, actions])


def push(net: Network, shares: Floats) -> Floats:
    """Return the visits (n,) if each edge carries these shares (m,) of its tail's mass."""
    visits = np.zeros(net.n_nodes)
    visits[0] = 1.0
    for stage in net.stages:
        mass = shares[stage.edges] * visits[stage.tails]
        visits[stage.targets] = sum_at(stage.heads, mass, stage.n_targets)
    return visits


def shares_of(net: Network, flow: Floats) -> Floats:
    """Return the shares (m,) of their tails' outflow that edges with a positive flow (m,) carry."""
    return flow / sum_at(net.tails, flow, net.n_nodes)[net.tails]


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
