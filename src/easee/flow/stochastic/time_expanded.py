"""The stochastic problem step by step: dead ends wait in copies of themselves.

With a copy of every dead end for each step that it waits, a layer of the network is just where the
mass can be at one step, and the mixture of outcomes at that step depends on that layer alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from easee._utils.arrays import Floats
from easee._utils.memory import free_memory
from easee.errors import GraphTooLargeError
from easee.flow.certificate import linear_gap
from easee.flow.linalg.dense import gram
from easee.flow.network import Network
from easee.flow.outcomes import Mixture
from easee.graph import LocalGraph

Ids = NDArray[np.int64]

ARRAYS = 5  # of a number for every two nodes of a step, that exist at a time
DENSE = 0.1  # a block with more of its entries than this is faster as a plain array


@dataclass(frozen=True, eq=False)
class Problem:
    """A network whose layers are steps, and the entropy to be maximised on it.

    Attributes:
        network: one node for every holder of mass.
        edges: int (m,), which of the graph's forward edges each one is; -1 where mass waits.
        moves: how many forward edges the graph has.
        kept: int (m,), which edge of the problem that this one is a part of.
        matrix: csr (r, h), from holders to states; see `Mixture`.
        weights: float (r,), the weight of each state.
        cuts: int (l + 1,), the states of layer t are rows `cuts[t]` up to `cuts[t + 1]`.
    """

    network: Network
    edges: Ids
    moves: int
    kept: Ids
    matrix: csr_array
    weights: Floats
    cuts: Ids

    @cached_property
    def blocks(self) -> list[csr_array | Floats]:
        """For every layer, its part of the matrix: states by nodes."""
        layers, parts = self.network.layers, []
        for t in range(len(layers) - 1):
            part = self.matrix[self.cuts[t] : self.cuts[t + 1], layers[t] : layers[t + 1]]
            parts.append(part.toarray() if part.nnz > DENSE * np.prod(part.shape) else part)
        return parts

    @cached_property
    def transposed(self) -> csr_array:
        """The matrix from states to holders."""
        return csr_array(self.matrix.T)

    def spread(self, visits: Floats) -> Floats:
        """Return q, float (r,)."""
        likely: Floats = self.matrix @ visits
        return likely

    def marginal(self, q: Floats) -> Floats:
        """Return dJ/dp for every holder, given q."""
        with np.errstate(divide="ignore"):
            reward: Floats = self.transposed @ (-self.weights * (np.log(q) + 1.0))
        return reward

    def gap(self, visits: Floats) -> float:
        """Bound how far a flow with these visits is from the optimum."""
        return linear_gap(self.network, self.marginal(self.spread(visits)), visits)

    def curvature(self, layer: int, scale: Floats) -> Floats:
        """Return A' diag(scale) A for the outcomes A of one layer, as an array of its own."""
        # The root on either side: scale itself may be huge where chances are tiny.
        root = np.sqrt(scale[self.cuts[layer] : self.cuts[layer + 1], None])
        part = self.blocks[layer]
        if isinstance(part, np.ndarray):
            return gram(root * part)
        spread = csr_array(part.multiply(root))
        return np.asarray((spread.T @ spread).toarray())

    def lift(self, shares: Floats) -> Floats:
        """Return the shares of the graph's forward edges; 0 where they are not used."""
        moving = self.edges >= 0
        lifted = np.zeros(self.moves)
        lifted[self.edges[moving]] = shares[moving]
        return lifted

    def restrict(self, used: NDArray[np.bool_], flow: Floats) -> Problem | None:
        """Return the problem with the used edges alone, and the nodes that these lead to.

        At the optimum every state has some mass, however little. If no used edge leads to a state,
        the largest flows (m,) that do are taken in. None if that makes all edges.
        """
        net = self.network
        used = _connected(net, used)
        missing = self.matrix @ _reached(net, used).astype(float) == 0.0
        if missing.any():
            needed: NDArray[np.bool_] = self.transposed @ missing.astype(float) > 0.0
            used = _connected(net, used | _ways(net, used, needed, flow))
        if used.all():
            return None
        nodes = _reached(net, used)
        place = np.concatenate([[0], np.cumsum(nodes)])
        part = _network(place[net.layers], place[net.tails[used]], place[net.heads[used]])
        return replace(
            self,
            network=part,
            edges=self.edges[used],
            kept=np.flatnonzero(used),
            matrix=csr_array(self.matrix[:, nodes]),
        )


def problem(graph: LocalGraph, net: Network, mix: Mixture) -> Problem:
    """Return the stochastic problem of a graph.

    Args:
        graph: the local-dynamics graph.
        net: its forward edges.
        mix: the mixtures of its outcomes.

    Raises:
        GraphTooLargeError: the blocks of `ladder` would not fit in memory.
    """
    last = int(mix.steps[-1])
    layers = np.searchsorted(mix.steps, np.arange(last + 2))
    _check_memory(np.diff(layers))
    key = mix.steps * len(graph) + mix.nodes  # sorted, as holders are
    depth = graph.depths.astype(np.int64)
    waits = np.flatnonzero(graph.ends[mix.nodes] & (mix.steps < last))
    place = np.searchsorted(key, depth * len(graph) + np.arange(len(graph)))
    tails = np.concatenate([place[net.tails], waits])
    heads = np.concatenate(
        [place[net.heads], np.searchsorted(key, key[waits] + len(graph))]  # the same, a step later
    )
    edges = np.concatenate([np.arange(len(net.tails)), np.full(waits.size, -1)])
    order = np.argsort(tails, kind="stable")
    steps = _network(layers, tails[order], heads[order])
    cuts = np.searchsorted(mix.rows, np.arange(last + 2))
    return Problem(
        network=steps,
        edges=edges[order],
        moves=len(net.tails),
        kept=np.arange(edges.size),
        matrix=mix.matrix,
        weights=mix.weights,
        cuts=cuts,
    )


def _check_memory(widths: Ids) -> None:
    needed = ARRAYS * 8 * int((widths.astype(np.int64) ** 2).sum())
    if needed > free_memory() // 2:
        raise GraphTooLargeError(
            f"outcomes that overlap tie all nodes of a step together, here up to {widths.max():,}: "
            f"that takes about {needed / 2**30:,.0f} GB, more than there is: "
            "lower the depth, or give a prior that merges more words"
        )


def _network(layers: Ids, tails: Ids, heads: Ids) -> Network:
    """Return a network of single nodes; their weights are none of its business here."""
    n = int(layers[-1])
    return Network(
        layers=layers,
        stages=np.searchsorted(tails, layers[:-1]),
        tails=tails.astype(np.int32),
        heads=heads.astype(np.int32),
        copies=np.ones(len(tails)),
        sizes=np.ones(n),
        omega=np.zeros(n),
    )


def _connected(net: Network, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Keep only edges on a path from the root to the last layer."""
    kept = kept.copy()
    alive = np.zeros(net.n_nodes, bool)
    alive[net.layers[-2] :] = True
    for stage in reversed(net.walk):
        kept[stage.edges] &= alive[net.heads[stage.edges]]
        alive[net.tails[stage.edges][kept[stage.edges]]] = True
    reached = np.zeros(net.n_nodes, bool)
    reached[0] = True
    for stage in net.walk:
        kept[stage.edges] &= reached[net.tails[stage.edges]]
        reached[net.heads[stage.edges][kept[stage.edges]]] = True
    return kept


def _reached(net: Network, used: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Bool (n,): the nodes on the used edges."""
    nodes = np.zeros(net.n_nodes, bool)
    nodes[net.heads[used]] = nodes[0] = True
    return nodes


def _ways(
    net: Network, used: NDArray[np.bool_], needed: NDArray[np.bool_], flow: Floats
) -> NDArray[np.bool_]:
    """Bool (m,): the edges of largest flow from the used ones to the needed nodes, and onwards."""
    ways = np.zeros(len(net.tails), bool)
    there = _reached(net, used)
    for ends, stages in ((net.heads, reversed(net.walk)), (net.tails, iter(net.walk))):
        largest = np.zeros(net.n_nodes)
        np.maximum.at(largest, ends, flow)
        others = net.tails if ends is net.heads else net.heads
        asked = needed & ~there
        for stage in stages:
            edges = stage.edges
            # Nearly as large will do: edges that a symmetry exchanges stay together.
            taken = asked[ends[edges]] & (flow[edges] >= 0.999 * largest[ends[edges]])
            ways[edges] |= taken
            asked[others[edges][taken & ~there[others[edges]]]] = True
    return ways
