"""The stochastic objective on a time-expanded network.

It has a copy of every dead end for each step that mass waits there, so that a layer contains all
nodes that can hold mass at one step, and determines the state distribution of that step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from easee._utils.arrays import Floats, Mask
from easee._utils.memory import free_memory
from easee.errors import GraphTooLargeError
from easee.flow.linalg.dense import gram
from easee.flow.network import Network
from easee.flow.objective import StateEntropy, holders
from easee.graph import LocalGraph

Ids = NDArray[np.int64]

ARRAYS = 5  # number of dense arrays, nodes by nodes of a step, that exist at a time
DENSE = 0.1  # blocks with a larger share of non-zero entries are faster as dense arrays
NEARLY_LARGEST = 0.999  # equal flows that a symmetry exchanges must stay together


@dataclass(frozen=True, eq=False)
class TimeExpanded(StateEntropy):
    """The entropy of the states on a network whose layers are steps."""

    edges: Ids  # (m,), the forward edge of the graph that each edge copies; -1 where mass waits
    n_forward: int  # number of forward edges of the graph
    parent_edges: Ids  # (m,), edges of the problem that this one was restricted from
    row_bounds: Ids  # (l + 1,): layer t has the rows row_bounds[t] up to row_bounds[t + 1]

    @cached_property
    def _blocks(self) -> list[csr_array | Floats]:
        """The part of the matrix of each layer, states by nodes."""
        layers, rows, blocks = self.network.layers, self.row_bounds, []
        for t in range(len(layers) - 1):
            block = self.matrix[rows[t] : rows[t + 1], layers[t] : layers[t + 1]]
            blocks.append(block.toarray() if block.nnz > DENSE * np.prod(block.shape) else block)
        return blocks

    def curvature(self, layer: int, scale: Floats) -> Floats:
        """Return A' diag(scale) A for the outcomes A of one layer, as a new array."""
        # Multiply by the root on either side: the scale may be huge where probabilities are tiny.
        root = np.sqrt(scale[self.row_bounds[layer] : self.row_bounds[layer + 1], None])
        block = self._blocks[layer]
        if isinstance(block, np.ndarray):
            return gram(root * block)
        scaled = csr_array(block.multiply(root))
        return np.asarray((scaled.T @ scaled).toarray())

    def lift(self, shares: Floats) -> Floats:
        """Return the shares of the graph's forward edges; 0 for those that are not used."""
        forward = self.edges >= 0
        lifted = np.zeros(self.n_forward)
        lifted[self.edges[forward]] = shares[forward]
        return lifted

    def restrict(self, used: Mask, flow: Floats) -> TimeExpanded | None:
        """Return the problem on the used edges (m,) and the nodes they lead to.

        At the optimum every state has some mass. If no used edge leads to a state, the edges with
        the largest flow (m,) that do are added. None if that adds all edges.
        """
        net = self.network
        used = _connected(net, used)
        missing = self.matrix @ _reached(net, used).astype(float) == 0.0
        if missing.any():
            needed: Mask = self.transposed @ missing.astype(float) > 0.0
            used = _connected(net, used | _largest_paths(net, used, needed, flow))
        if used.all():
            return None
        nodes = _reached(net, used)
        position = np.concatenate([[0], np.cumsum(nodes)])
        ends = position[net.tails[used]], position[net.heads[used]]
        return replace(
            self,
            network=Network.simple(position[net.layers], *ends),
            edges=self.edges[used],
            parent_edges=np.flatnonzero(used),
            matrix=csr_array(self.matrix[:, nodes]),
        )


def time_expand(graph: LocalGraph, objective: StateEntropy) -> TimeExpanded:
    """Return the objective of a graph on its time-expanded network.

    Raises:
        GraphTooLargeError: the dense blocks of the Newton steps would not fit in memory.
    """
    n, net = len(graph), objective.network
    nodes, steps = holders(graph)
    last = int(steps[-1])
    layers = np.searchsorted(steps, np.arange(last + 2))
    _check_memory(np.diff(layers))
    key = steps * n + nodes  # sorted
    waits = np.flatnonzero(graph.ends[nodes] & (steps < last))
    first = np.searchsorted(key, graph.depths.astype(np.int64) * n + np.arange(n))
    tails = np.concatenate([first[net.tails], waits])
    heads = np.concatenate([first[net.heads], np.searchsorted(key, key[waits] + n)])
    edges = np.concatenate([np.arange(len(net.tails)), np.full(waits.size, -1)])
    order = np.argsort(tails, kind="stable")
    entries = objective.matrix.tocoo()
    columns = np.searchsorted(key, objective.steps[entries.row] * n + entries.col)
    shape = (len(objective.steps), key.size)
    return TimeExpanded(
        network=Network.simple(layers, tails[order], heads[order]),
        bound=objective.bound,
        matrix=csr_array((entries.data, (entries.row, columns)), shape=shape),
        weights=objective.weights,
        steps=objective.steps,
        edges=edges[order],
        n_forward=len(net.tails),
        parent_edges=np.arange(edges.size),
        row_bounds=np.searchsorted(objective.steps, np.arange(last + 2)),
    )


def _check_memory(widths: Ids) -> None:
    needed = ARRAYS * 8 * int((widths.astype(np.int64) ** 2).sum())
    if needed > free_memory() // 2:
        raise GraphTooLargeError(
            f"overlapping outcomes couple all nodes of a step, here up to {widths.max():,}: "
            f"that takes about {needed / 2**30:,.0f} GB, more than half of the free memory: "
            "lower the depth, or give a prior that merges more words"
        )


def _connected(net: Network, used: Mask) -> Mask:
    """Return the used edges that are on a path of used edges from the root to the last layer."""
    used = used.copy()
    alive = np.arange(net.n_nodes) >= net.layers[-2]
    for stage in reversed(net.stages):
        used[stage.edges] &= alive[stage.targets][stage.heads]
        alive[stage.tails[used[stage.edges]]] = True
    reached = np.arange(net.n_nodes) == 0
    for stage in net.stages:
        used[stage.edges] &= reached[stage.tails]
        reached[stage.targets][stage.heads[used[stage.edges]]] = True
    return used


def _reached(net: Network, used: Mask) -> Mask:
    """Return the root and the heads of the used edges, bool (n,)."""
    nodes = np.zeros(net.n_nodes, bool)
    nodes[net.heads[used]] = nodes[0] = True
    return nodes


def _largest_paths(net: Network, used: Mask, needed: Mask, flow: Floats) -> Mask:
    """Return paths of largest flow from the used edges to the needed nodes and on, bool (m,)."""
    paths = np.zeros(len(net.tails), bool)
    reached = _reached(net, used)
    for ends, others, stages in (
        (net.heads, net.tails, net.stages[::-1]),
        (net.tails, net.heads, net.stages),
    ):
        largest = np.zeros(net.n_nodes)
        np.maximum.at(largest, ends, flow)
        open_nodes = needed & ~reached
        for stage in stages:
            edges = stage.edges
            large = flow[edges] >= NEARLY_LARGEST * largest[ends[edges]]
            taken = open_nodes[ends[edges]] & large
            paths[edges] |= taken
            open_nodes[others[edges][taken & ~reached[others[edges]]]] = True
    return paths
