"""The flow of largest path entropy with given visits: matrix scaling.

The optimal visits are unique, the flow over the edges is not. Of all flows with these visits, the
one of largest path entropy has the form F = copies * exp(a(tail) + b(head)). Finding a and b is the
problem of scaling a matrix to given row and column sums, here for all pairs of neighbouring layers
at once: a few alternating scalings (Sinkhorn), then Newton's method on a, with b eliminated.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import Floats, Mask, components, dot, run_starts, sum_at
from easee.flow.linalg.laplacian import SingularError, StarMesh
from easee.flow.network import Network
from easee.flow.newton import ConvexScaling, Point, ScalingResult, scaled_shares

SINKHORN_STEPS = 6
MAX_CHANGE = 3.0  # largest change of the logarithm of a flow in a step


def max_entropy_flow(net: Network, tight: Mask, visits: Floats) -> ScalingResult:
    """Find the flow of largest path entropy over the tight edges (m,) with positive visits (n,)."""
    return scaled_shares(net, tight, lambda edges: _VisitScaling(net, edges, visits))


class _VisitScaling(ConvexScaling):
    """A flow F = copies * exp(a(tail)), scaled at each head to the head's visits.

    The parameters are a, and the constraints prescribe the outflow of the tails.
    """

    def __init__(self, net: Network, edges: NDArray[np.intp], visits: Floats) -> None:
        self.edges = edges[np.argsort(net.heads[edges], kind="stable")]
        heads = net.heads[self.edges]
        self.starts = run_starts(heads)  # edges are sorted by head: each head has a run of them
        self.head = np.repeat(np.arange(self.starts.size), np.diff(self.starts, append=heads.size))
        self.supply = visits[heads[self.starts]]
        sources, self.tails = np.unique(net.tails[self.edges], return_inverse=True)
        self.demand = visits[sources]
        self.copies = net.copies[self.edges]
        self.point = self.at(np.log(self.demand))
        for _ in range(SINKHORN_STEPS):
            ratio = self.demand / np.maximum(self.point.attained, 1e-300)
            self.point = self.at(self.point.parameters + np.log(ratio))

    def at(self, parameters: Floats) -> Point:
        exponent = parameters[self.tails]
        # Subtract the largest exponent of each head, so that exp cannot overflow.
        top = np.maximum.reduceat(exponent, self.starts)
        weight = self.copies * np.exp(exponent - top[self.head])
        total = np.add.reduceat(weight, self.starts)
        flow = weight * (self.supply / total)[self.head]
        cost = dot(self.supply, np.log(total) + top) - dot(self.demand, parameters)
        return Point(parameters, flow, cost, sum_at(self.tails, flow, len(self.demand)))

    @property
    def flow(self) -> Floats:
        return self.point.flow

    def error(self) -> float:
        """Return the largest relative error of the outflow of a node."""
        return float(np.abs(self.point.attained / self.demand - 1.0).max())

    def improve(self) -> bool:
        """Take a damped Newton step that lowers the cost; return whether there was one."""
        gradient = self.point.attained - self.demand
        try:
            step = -self._solve(gradient)
        except SingularError:
            return False
        slope = dot(gradient, step)
        if not np.isfinite(slope):
            return False
        change = step[self.tails]
        mean = np.add.reduceat(self.flow * change, self.starts) / self.supply
        log_change = float(np.abs(change - mean[self.head]).max())
        return self.descend(step, slope, min(1.0, MAX_CHANGE / max(1e-9, log_change)))

    @cached_property
    def _network(self) -> tuple[StarMesh, NDArray[np.int64]]:
        """The network of tails and heads, with the edges as conductors, and the row of each tail.

        Adding a constant to a in a connected component changes nothing, so one tail of each is
        grounded. It absorbs the rounding errors, so it is the one with the largest mass.
        """
        n, m = len(self.demand), len(self.starts)
        _, labels = components(self.tails, n + self.head, n + m)
        largest_first = np.argsort(-self.demand, kind="stable")
        _, first = np.unique(labels[largest_first], return_index=True)
        grounded = np.zeros(n + m, bool)
        grounded[largest_first[first]] = True
        size = n + m - first.size
        rows = np.where(grounded, size, np.cumsum(~grounded) - 1)
        is_head = np.arange(size) >= n - first.size
        return StarMesh(size, rows[self.tails], rows[n + self.head], is_head), rows[:n]

    def _solve(self, right: Floats) -> Floats:
        """Return the change of a that changes the outflow of the tails by `right`."""
        network, rows = self._network
        currents = np.zeros(network.size + 1)
        currents[rows] = right
        return np.append(network.factorise(self.flow)(currents[:-1]), 0.0)[rows]
