"""The most random flow when only some visits are given: scaling along paths.

Nodes without weight (other layers than the weighted ones, nodes of no interest) may be visited at
will. The flow of largest path entropy still has the form F = copies * exp(a(tail) + b(head)). At a
node whose visits are given, a and b are what scales the flow out of it and into it; at any other,
the flow through it is exp(a + b). Alternating sweeps down and up the layers come first (one is
enough where only the last layer has weight), then Newton's method on all numbers at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from easee._utils.arrays import Floats, run_starts, sum_at
from easee.flow.deterministic.max_entropy_flow import (
    ACCEPTABLE,
    HOPELESS,
    PRECISION,
    Fading,
    Scaled,
)
from easee.flow.network import Network

SWEEPS = 12
NEWTON_STEPS = 40


def most_random_paths(net: Network, tight: NDArray[np.bool_], visits: Floats) -> Scaled:
    """Find the flow of largest path entropy whose visits are as given where omega is positive.

    Args:
        net: the network.
        tight: bool (m,), the edges that may carry flow. A node without weight may have none.
        visits: float (n,); only entries with positive omega, and the root's, count.
    """
    scaling = _PathScaling(net, np.flatnonzero(tight), visits)
    for _ in range(SWEEPS):
        scaling.sweep()
        if scaling.error() <= PRECISION:
            break
    error, best = scaling.error(), scaling.shares()
    fading = Fading(scaling.flow)
    for step in range(NEWTON_STEPS):
        hopeless = step >= HOPELESS and error > 1e-3
        if error <= PRECISION or hopeless or not scaling.improve():
            break
        scaling.sweep()
        before, error = error, scaling.error()
        if before <= 2 * error and before < ACCEPTABLE:
            error = before
            break
        best = scaling.shares()
        gone = fading.watch(scaling.flow, error / before)
        if gone is not None and _still_whole(net, tight, scaling.edges[gone]):
            kept = tight.copy()
            kept[scaling.edges[gone]] = False
            again = most_random_paths(net, kept, visits)
            if again.shares is not None:
                return again
    nothing = np.zeros(len(net.tails), bool)
    return Scaled(best if error <= ACCEPTABLE else None, nothing)


def _still_whole(net: Network, tight: NDArray[np.bool_], without: NDArray[np.intp]) -> bool:
    """Tell whether every node that had edges in and out still has some."""
    kept = tight.copy()
    kept[without] = False
    return all(
        np.bincount(ends[kept], minlength=net.n_nodes)[ends[tight]].all()
        for ends in (net.heads, net.tails)
    )


class _PathScaling:
    def __init__(self, net: Network, edges: NDArray[np.intp], visits: Floats) -> None:
        self.net = net
        self.edges = edges
        self.tails, self.heads = net.tails[edges], net.heads[edges]
        self.log_copies = np.log(net.copies[edges])
        self.given = net.omega > 0
        self.given[0] = True
        self.inner = np.zeros(net.n_nodes, bool)
        self.inner[self.tails] = True
        self.reached = np.zeros(net.n_nodes, bool)
        self.reached[self.heads] = True
        self.log_visits = np.log(np.where(self.given, visits, 1.0))
        self.a = np.zeros(net.n_nodes)
        self.b = np.zeros(net.n_nodes)
        self.out_of = _by_layer(self.tails, net.layers)
        self.into = _by_layer(self.heads, net.layers)

    def sweep(self) -> None:
        """Set every b from the ends up, then every a from the root down."""
        depth = len(self.net.layers) - 1
        for t in reversed(range(1, depth)):
            nodes, ahead = self._log_sum(self.out_of[t], self.tails, self.b, self.heads)
            free = ~self.given[nodes]
            self.b[nodes[free]] = ahead[free]
            nodes, behind = self._log_sum(self.into[t], self.heads, self.a, self.tails)
            given = self.given[nodes]
            self.b[nodes[given]] = (self.log_visits[nodes] - behind)[given]
        for t in range(depth):
            nodes, behind = self._log_sum(self.into[t], self.heads, self.a, self.tails)
            free = ~self.given[nodes]
            self.a[nodes[free]] = behind[free]
            nodes, ahead = self._log_sum(self.out_of[t], self.tails, self.b, self.heads)
            given = self.given[nodes]
            self.a[nodes[given]] = (self.log_visits[nodes] - ahead)[given]

    def _log_sum(
        self, edges: NDArray[np.intp], ends: NDArray[np.int32], x: Floats, others: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], Floats]:
        """For each node among `ends`, log of the sum over its edges of copies * exp(x(other))."""
        if not edges.size:
            return ends[:0], x[:0]
        begins = run_starts(ends[edges])
        terms = self.log_copies[edges] + x[others[edges]]
        return ends[edges[begins]], np.logaddexp.reduceat(terms, begins)

    @property
    def flow(self) -> Floats:
        return np.exp(self.log_copies + self.a[self.tails] + self.b[self.heads])

    def error(self) -> float:
        """Return the largest relative error of a visit; what leaves a node is right by `sweep`."""
        arriving = sum_at(self.heads, self.flow, self.net.n_nodes)
        wanted = self.given & self.reached
        return float(np.abs(arriving[wanted] * np.exp(-self.log_visits[wanted]) - 1.0).max())

    def shares(self) -> Floats:
        """Return how each node splits its mass, (m,); none at nodes that are never visited."""
        flow = self.flow
        leaving = sum_at(self.tails, flow, self.net.n_nodes)
        shares = np.zeros(len(self.net.tails))
        shares[self.edges] = flow / leaving[self.tails]
        return shares

    def improve(self) -> bool:
        """Take a damped Newton step on the flow's balance at both sides of every node."""
        n = self.net.n_nodes
        flow = self.flow
        leaving = sum_at(self.tails, flow, n)
        arriving = sum_at(self.heads, flow, n)
        through = np.exp(np.where(self.given, self.log_visits, self.a + self.b))
        free = np.where(self.given, 0.0, through)
        nodes = np.arange(n)
        # Unknowns and equations: a(v) with what leaves v, then b(v) with what arrives at v.
        blocks: list[tuple[NDArray[Any], NDArray[Any], Floats]] = [
            (self.tails, self.heads + n, flow),
            (self.heads + n, self.tails, flow),
            (nodes, nodes, leaving - free),
            (nodes + n, nodes + n, arriving - free),
            (nodes, nodes + n, -free),
            (nodes + n, nodes, -free),
        ]
        rows, columns, values = (np.concatenate(part) for part in zip(*blocks, strict=True))
        matrix = coo_array((values, (rows, columns)), shape=(2 * n, 2 * n))
        right = np.concatenate([through - leaving, through - arriving])
        keep = self._unknown()
        try:
            solved = splu(csc_array(matrix.tocsr()[keep][:, keep]), permc_spec="COLAMD").solve(
                right[keep]
            )
        except RuntimeError:
            return False
        step = np.zeros(2 * n)
        step[keep] = solved
        if not np.isfinite(step).all():
            return False
        da, db = step[:n], step[n:]
        length = min(1.0, 2.0 / max(1e-9, np.abs(da[self.tails] + db[self.heads]).max()))
        self.a += length * da
        self.b += length * db
        return True

    def _unknown(self) -> NDArray[np.intp]:
        """Which of the numbers a and b are to be found.

        b is 0 at a free end. In a component without one, a constant may move from a to b: there
        one a stays where it is, that of the node with the largest mass.
        """
        n = self.net.n_nodes
        has_b = self.reached & (self.given | self.inner)
        through = np.flatnonzero(~self.given & self.reached & self.inner)
        one = np.concatenate([self.tails, through])
        two = np.concatenate([self.heads + n, through + n])
        links = coo_array((np.ones(one.size, np.int8), (one, two)), shape=(2 * n, 2 * n))
        count, labels = connected_components(links, directed=False)
        anchored = np.zeros(count, bool)
        anchored[labels[n:][self.reached & ~has_b]] = True
        has_a = self.inner.copy()
        mass = np.where(self.inner & self.given, self.log_visits, -np.inf)
        order = np.argsort(-mass, kind="stable")
        order = order[self.inner[order]]
        _, first = np.unique(labels[order], return_index=True)
        chosen = order[first]
        has_a[chosen[~anchored[labels[chosen]]]] = False
        return np.flatnonzero(np.concatenate([has_a, has_b]))


def _by_layer(ends: NDArray[np.int32], layers: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    """Return for each layer its edges, sorted by the node at this end."""
    order = np.argsort(ends, kind="stable")
    cuts = np.searchsorted(ends[order], layers)
    return [order[i:j] for i, j in zip(cuts[:-1], cuts[1:], strict=True)]
