"""Nodes that look the same may be treated as one: colour refinement of the layered graph.

The coarsest *equitable partition* puts two nodes of a layer together when they have the same weight
and equally many edges to and from every other class. The flow problem is convex, so spreading the
flow evenly within classes never lowers its objective: solving the quotient solves the graph
(Grohe et al., "Dimension Reduction via Colour Refinement", 2014). It is far smaller for most
priors, and every symmetry of the prior is kept to the last bit, because nodes that a symmetry
exchanges share one class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import Floats
from easee.flow.network import Network

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Quotient:
    """A smaller network and the way back.

    Attributes:
        network: one node per class.
        node_class: int (n,), the class of every original node.
        edge_class: int (m,), the edge of the small network of every original edge.
    """

    network: Network
    node_class: NDArray[np.int64]
    edge_class: NDArray[np.int64]

    def lift(self, shares: Floats) -> Floats:
        """Return the shares of the original edges, given those of the small network."""
        return (shares / self.network.copies)[self.edge_class]


def quotient(net: Network) -> Quotient:
    """Return the network of the coarsest equitable partition."""
    labels, layers = _classes(net)
    count = int(layers[-1])
    # One node speaks for its class: its edges, counted by the class of their heads.
    speaker = np.zeros(count, np.int64)
    speaker[labels[::-1]] = np.arange(net.n_nodes)[::-1]
    speaks = np.zeros(net.n_nodes, bool)
    speaks[speaker] = True
    key = labels[net.tails] * count + labels[net.heads]
    edges, copies = np.unique(key[speaks[net.tails]], return_counts=True)
    tails, heads = np.divmod(edges, count)
    small = Network(
        layers=layers,
        stages=np.searchsorted(tails, layers[:-1]),
        tails=tails.astype(np.int32),
        heads=heads.astype(np.int32),
        copies=copies.astype(float),
        sizes=np.bincount(labels, minlength=count).astype(float),
        omega=net.omega[speaker],
    )
    return Quotient(small, labels, np.searchsorted(edges, key))


def _classes(net: Network) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the class of every node, numbered layer by layer, and the layers' bounds.

    Colours are 64-bit hashes. Two that collide would spoil the quotient with a chance of one in
    millions for a million nodes, and then the gap of the lifted policy shows it.
    """
    depth = np.repeat(np.arange(len(net.layers) - 1, dtype=np.uint64), np.diff(net.layers))
    colour = _mix(net.omega.view(np.uint64) ^ _mix(depth))
    count = 0
    while True:
        colour = _sweep_down(net, _sweep_up(net, colour))
        found, first, labels = np.unique(colour, return_index=True, return_inverse=True)
        if found.size == count:
            break
        count = found.size
    # Nodes come layer by layer, so classes numbered by their first node do too.
    rank = np.empty(count, np.int64)
    rank[np.argsort(first)] = np.arange(count)
    return rank[labels], np.searchsorted(np.sort(first), net.layers)


def _sweep_up(net: Network, colour: Hashes) -> Hashes:
    """Refine by the colours of successors, from the last layer to the root."""
    colour = colour.copy()
    for stage in reversed(net.walk):
        seen = np.add.reduceat(colour[stage.ahead][stage.heads], stage.begins)
        colour[stage.nodes] = _mix(colour[stage.nodes] * _M1 + seen)
    return colour


def _sweep_down(net: Network, colour: Hashes) -> Hashes:
    """Refine by the colours of predecessors, from the root to the last layer."""
    colour = colour.copy()
    for stage in net.walk:
        seen = np.zeros(stage.ahead.stop - stage.ahead.start, np.uint64)
        np.add.at(seen, stage.heads, colour[net.tails[stage.edges]])
        # Another factor than on the way up: seen from above is not seen from below.
        colour[stage.ahead] = _mix(colour[stage.ahead] * _M2 + seen)
    return colour


_STEP = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)


def _mix(x: Hashes) -> Hashes:
    """Scramble 64 bits (the finaliser of splitmix64)."""
    x = x + _STEP  # or 0 would stay 0, and a node without weight would look like none at all
    x = (x ^ (x >> np.uint64(30))) * _M1
    x = (x ^ (x >> np.uint64(27))) * _M2
    return x ^ (x >> np.uint64(31))
