"""Symmetry reduction: colour refinement of the layered graph.

The coarsest *equitable partition* puts two nodes of a layer in one class if they have the same
weight and equally many edges to and from every other class. The flow problem is convex, so
spreading the flow evenly within classes never lowers its objective: a solution of the quotient is a
solution of the graph (Grohe et al., "Dimension Reduction via Colour Refinement", 2014). For most
priors the quotient is far smaller. Every symmetry of the prior is kept to the last bit, because
nodes that a symmetry exchanges share a class.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import Floats
from easee.flow.network import Network
from easee.flow.objective import NodeEntropy

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Quotient:
    """An objective on a network with one node per class, and the map back to the original one."""

    objective: NodeEntropy
    edge_class: NDArray[np.int64]  # (m,), the edge of the small network of every original edge

    def lift(self, shares: Floats) -> Floats:
        """Return the shares of the original edges, given those of the small network."""
        return (shares / self.objective.network.copies)[self.edge_class]


def quotient(objective: NodeEntropy) -> Quotient:
    """Return the quotient by the coarsest equitable partition."""
    net = objective.network
    labels, layers = _classes(objective)
    count = int(layers[-1])
    # The first node of a class represents it: its edges, counted by the class of their heads.
    first = np.zeros(count, np.int64)
    first[labels[::-1]] = np.arange(net.n_nodes)[::-1]
    represents = np.zeros(net.n_nodes, bool)
    represents[first] = True
    key = labels[net.tails] * count + labels[net.heads]
    edges, copies = np.unique(key[represents[net.tails]], return_counts=True)
    tails, heads = np.divmod(edges, count)
    sizes = np.bincount(labels, minlength=count).astype(float)
    ends = tails.astype(np.int32), heads.astype(np.int32)
    small = Network(layers, *ends, copies.astype(float), sizes)
    reduced = replace(objective, network=small, omega=objective.omega[first])
    return Quotient(reduced, np.searchsorted(edges, key))


def _classes(objective: NodeEntropy) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the class of every node, numbered layer by layer, and the layers' bounds.

    Colours are 64-bit hashes. With a million nodes, the probability of a collision is below one in
    a million. A collision would show in the gap of the lifted policy.
    """
    net = objective.network
    depth = np.repeat(np.arange(len(net.layers) - 1, dtype=np.uint64), np.diff(net.layers))
    colour = _mix(objective.omega.view(np.uint64) ^ _mix(depth))
    count = 0
    while True:
        colour = _sweep_down(net, _sweep_up(net, colour))
        _, first, labels = np.unique(colour, return_index=True, return_inverse=True)
        if first.size == count:
            break
        count = first.size
    # Nodes are sorted by layer, so classes numbered by their first node are too.
    rank = np.empty(count, np.int64)
    rank[np.argsort(first)] = np.arange(count)
    return rank[labels], np.searchsorted(np.sort(first), net.layers)


def _sweep_up(net: Network, colour: Hashes) -> Hashes:
    """Refine by the colours of successors, from the last layer to the root."""
    colour = colour.copy()
    for stage in reversed(net.stages):
        seen = np.add.reduceat(colour[stage.targets][stage.heads], stage.starts)
        colour[stage.sources] = _mix(colour[stage.sources] * _M1 + seen)
    return colour


def _sweep_down(net: Network, colour: Hashes) -> Hashes:
    """Refine by the colours of predecessors, from the root to the last layer."""
    colour = colour.copy()
    for stage in net.stages:
        seen = np.zeros(stage.n_targets, np.uint64)
        np.add.at(seen, stage.heads, colour[stage.tails])
        # A different factor from that of the other direction keeps the two apart.
        colour[stage.targets] = _mix(colour[stage.targets] * _M2 + seen)
    return colour


_STEP = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)


def _mix(x: Hashes) -> Hashes:
    """Scramble 64 bits (the finaliser of splitmix64)."""
    x = x + _STEP  # otherwise 0 would stay 0 and not count as a neighbour
    x = (x ^ (x >> np.uint64(30))) * _M1
    x = (x ^ (x >> np.uint64(27))) * _M2
    return x ^ (x >> np.uint64(31))
