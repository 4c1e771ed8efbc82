"""The flow of largest path entropy when only some visits are given: scaling along paths.

The visits of nodes without weight (in layers of weight 0, or not of interest) are free. The flow of
largest path entropy still has the form F = copies * exp(a(tail) + b(head)). At a node with given
visits, a and b scale the flow out of it and into it; at a free node, the flow through it is
exp(a + b). Alternating sweeps down and up the layers come first (one is enough if only the last
layer has weight), then Newton's method on all a and b at once.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array
from scipy.sparse.linalg import splu

from easee._utils.arrays import Floats, Ids, Mask, components, run_starts, sum_at
from easee.flow.network import Network
from easee.flow.newton import PRECISION, ScalingResult, scaled_shares
from easee.flow.objective import NodeEntropy

SWEEPS = 12
MAX_CHANGE = 2.0  # largest change of the logarithm of a flow in a step

_NodeSums = tuple[Ids, Floats]  # some nodes, and a value for each


def max_entropy_paths(objective: NodeEntropy, tight: Mask, visits: Floats) -> ScalingResult:
    """Find the flow of largest path entropy over the tight edges (m,) with some visits given.

    Only the visits (n,) of the root and of the nodes that count in the objective are used. Other
    nodes may have no tight edges.
    """
    fixed = objective.counts.copy()
    fixed[0] = True
    net = objective.network
    return scaled_shares(net, tight, lambda edges: _PathScaling(net, edges, fixed, visits))


class _PathScaling:
    """A flow F = copies * exp(a(tail) + b(head)) with given visits at the `fixed` nodes (n,)."""

    def __init__(self, net: Network, edges: NDArray[np.intp], fixed: Mask, visits: Floats) -> None:
        self.net, self.edges, self.fixed = net, edges, fixed
        self.tails, self.heads = net.tails[edges], net.heads[edges]
        self.log_copies = np.log(net.copies[edges])
        self.inner = np.bincount(self.tails, minlength=net.n_nodes) > 0
        self.reached = np.bincount(self.heads, minlength=net.n_nodes) > 0
        self.log_visits = np.log(np.where(fixed, visits, 1.0))
        self.a, self.b = np.zeros(net.n_nodes), np.zeros(net.n_nodes)
        self.out_of = _by_layer(self.tails, net.layers)
        self.into = _by_layer(self.heads, net.layers)
        for _ in range(SWEEPS):
            self._sweep()
            if self.error() <= PRECISION:
                break

    def _sweep(self) -> None:
        """Update every b from the ends up, then every a from the root down."""
        depth = len(self.net.layers) - 1
        for t in reversed(range(1, depth)):
            ahead = self._log_sum(self.out_of[t], self.tails, self.b, self.heads)
            behind = self._log_sum(self.into[t], self.heads, self.a, self.tails)
            self._assign(self.b, free=ahead, fixed=behind)
        for t in range(depth):
            behind = self._log_sum(self.into[t], self.heads, self.a, self.tails)
            ahead = self._log_sum(self.out_of[t], self.tails, self.b, self.heads)
            self._assign(self.a, free=behind, fixed=ahead)
        self.flow = np.exp(self.log_copies + self.a[self.tails] + self.b[self.heads])

    def _assign(self, x: Floats, free: _NodeSums, fixed: _NodeSums) -> None:
        """Set x of free nodes to their sums, and of fixed nodes to their log-visits minus these."""
        (nodes, sums), is_free = free, ~self.fixed[free[0]]
        x[nodes[is_free]] = sums[is_free]
        (nodes, sums), is_fixed = fixed, self.fixed[fixed[0]]
        x[nodes[is_fixed]] = (self.log_visits[nodes] - sums)[is_fixed]

    def _log_sum(self, edges: NDArray[np.intp], ends: Ids, x: Floats, others: Ids) -> _NodeSums:
        """Return the nodes at these ends of edges, and log of the sum of copies * exp(x(other))."""
        if not edges.size:
            return ends[:0], x[:0]
        starts = run_starts(ends[edges])
        terms = self.log_copies[edges] + x[others[edges]]
        return ends[edges[starts]], np.logaddexp.reduceat(terms, starts)

    def error(self) -> float:
        """Return the largest relative error of the inflow of a node; a sweep fixes the outflow."""
        arriving = sum_at(self.heads, self.flow, self.net.n_nodes)
        wanted = self.fixed & self.reached
        return float(np.abs(arriving[wanted] * np.exp(-self.log_visits[wanted]) - 1.0).max())

    def improve(self) -> bool:
        """Take a damped Newton step on the balance at both sides of every node, then sweep."""
        step = self._newton_step()
        if step is None or not np.isfinite(step).all():
            return False
        da, db = np.split(step, 2)
        length = min(1.0, MAX_CHANGE / max(1e-9, np.abs(da[self.tails] + db[self.heads]).max()))
        self.a += length * da
        self.b += length * db
        self._sweep()
        return True

    def _newton_step(self) -> Floats | None:
        """Return the changes of a and then of b, float (2n,); None if the system is singular."""
        n, flow = self.net.n_nodes, self.flow
        leaving = sum_at(self.tails, flow, n)
        arriving = sum_at(self.heads, flow, n)
        through = np.exp(np.where(self.fixed, self.log_visits, self.a + self.b))
        free = np.where(self.fixed, 0.0, through)
        # Equations (and unknowns): the outflow of v (with a(v)), then the inflow of v (with b(v)).
        a, b = np.arange(n), np.arange(n, 2 * n)
        rows = np.concatenate([a, b, a, b, self.tails, self.heads + n])
        columns = np.concatenate([a, b, b, a, self.heads + n, self.tails])
        values = np.concatenate([leaving - free, arriving - free, -free, -free, flow, flow])
        matrix = coo_array((values, (rows, columns)), shape=(2 * n, 2 * n)).tocsr()
        right = np.concatenate([through - leaving, through - arriving])
        unknown = self._unknowns()
        step = np.zeros(2 * n)
        try:
            factor = splu(csc_array(matrix[unknown][:, unknown]), permc_spec="COLAMD")
            step[unknown] = factor.solve(right[unknown])
        except RuntimeError:
            return None
        return step

    def _unknowns(self) -> NDArray[np.intp]:
        """Return the indices of the unknown a, and of the unknown b (plus n).

        b is 0 at a free end. In a component without a free end, a constant may be moved from a to
        b, so one a stays unchanged: that of the node with the largest mass.
        """
        n = self.net.n_nodes
        has_b = self.reached & (self.fixed | self.inner)
        through = np.flatnonzero(~self.fixed & self.reached & self.inner)
        first = np.concatenate([self.tails, through])
        second = np.concatenate([self.heads + n, through + n])
        count, labels = components(first, second, 2 * n)
        anchored = np.zeros(count, bool)
        anchored[labels[n:][self.reached & ~has_b]] = True
        has_a = self.inner.copy()
        mass = np.where(self.inner & self.fixed, self.log_visits, -np.inf)
        order = np.argsort(-mass, kind="stable")
        order = order[self.inner[order]]
        _, largest = np.unique(labels[order], return_index=True)
        chosen = order[largest]
        has_a[chosen[~anchored[labels[chosen]]]] = False
        return np.flatnonzero(np.concatenate([has_a, has_b]))


def _by_layer(ends: Ids, layers: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    """Return the edges of each layer, sorted by the node at this end."""
    order = np.argsort(ends, kind="stable")
    cuts = np.searchsorted(ends[order], layers)
    return [order[i:j] for i, j in zip(cuts[:-1], cuts[1:], strict=True)]
