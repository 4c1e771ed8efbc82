"""The most random flow with given visits: matrix scaling.

The optimal visits are unique, the flow over the edges is not. Of all flows with these visits the
one of largest path entropy has the form F = copies * exp(a(tail) + b(head)), with one number on
either side of each node. Finding them is the classical problem of scaling a matrix to given row
and column sums, here for all neighbouring layers at once: a few alternating scalings (Sinkhorn),
then Newton's method on the tails' numbers, the heads' being solved for exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from easee._utils.arrays import Floats, dot, run_starts, sum_at
from easee.flow.linalg.laplacian import SingularError, StarMesh
from easee.flow.network import Network

SINKHORN_STEPS = 6
NEWTON_STEPS = 40
PRECISION = 1e-13  # relative error of what leaves a node; rounding may stop a little short of it
ACCEPTABLE = 1e-10
FADING = 4  # steps in a row that an edge's flow must shrink by e before it is left out
HOPELESS = 12  # steps after which an error above 1 in 1000 means that there is no such flow


@dataclass(frozen=True, eq=False)
class Scaled:
    """The outcome of a scaling.

    Attributes:
        shares: float (m,), how each node splits its mass; None if no flow over the given edges
            has the given visits.
        vanished: bool (m,), in that case the edges whose flow went to zero on the way.
    """

    shares: Floats | None
    vanished: NDArray[np.bool_]


def most_random(net: Network, tight: NDArray[np.bool_], visits: Floats) -> Scaled:
    """Find the flow of largest path entropy with these visits.

    Args:
        net: the network.
        tight: bool (m,), the edges that may carry flow.
        visits: float (n,), what the flow has to bring to every node, all positive.
    """
    scaling = _Scaling(net, np.flatnonzero(tight), visits)
    for _ in range(SINKHORN_STEPS):
        scaling.alternate()
    early = scaling.flow
    error, best = scaling.error(), scaling.flow
    fading = Fading(early)
    for step in range(NEWTON_STEPS):
        if error <= PRECISION or (step >= HOPELESS and error > 1e-3) or not scaling.improve():
            break
        before, error = error, scaling.error()
        if before <= 2 * error and before < ACCEPTABLE:
            error = before  # rounding has the last word
            break
        best = scaling.flow
        gone = fading.watch(best, error / before)
        if gone is not None:
            again = _without(net, tight, scaling.edges[gone], visits)
            if again is not None:
                return again
    if error > ACCEPTABLE:
        vanished = np.zeros(len(net.tails), bool)
        vanished[scaling.edges] = best < 1e-3 * early
        return Scaled(None, vanished)
    shares = np.zeros(len(net.tails))
    shares[scaling.edges] = best / sum_at(scaling.tails, best, len(scaling.inner))[scaling.tails]
    return Scaled(shares, shares < 0)


def _without(
    net: Network, tight: NDArray[np.bool_], fading: NDArray[np.intp], visits: Floats
) -> Scaled | None:
    """Scale again without some edges; None if that does not work."""
    kept = tight.copy()
    kept[fading] = False
    for ends in (net.heads, net.tails):
        if (np.bincount(ends[kept], minlength=net.n_nodes)[ends[tight]] == 0).any():
            return None
    again = most_random(net, kept, visits)
    return again if again.shares is not None else None


class Fading:
    """Watches for edges that carry nothing at the optimum.

    Newton's method takes them there by a factor e a step, no faster; without them it converges as
    it should.
    """

    def __init__(self, flow: Floats) -> None:
        self.flow = flow
        self.steps = np.zeros(len(flow), int)

    def watch(self, flow: Floats, progress: float) -> NDArray[np.bool_] | None:
        """Look at the next flow; return the edges that have faded for some steps, if just now."""
        by_e = np.abs(flow / self.flow - np.exp(-1.0)) < 0.05
        self.flow = flow
        self.steps = np.where(by_e, self.steps + 1, 0)
        if self.steps.max(initial=0) == FADING and 0.3 < progress < 0.45:
            return self.steps >= FADING
        return None


class _Scaling:
    """A flow F = copies * exp(a(tail)) * visits(head) / (sum of that over the head's edges)."""

    def __init__(self, net: Network, edges: NDArray[np.intp], visits: Floats) -> None:
        self.edges = edges[np.argsort(net.heads[edges], kind="stable")]
        heads = net.heads[self.edges]
        self.starts = run_starts(heads)  # edges are sorted by head: each head has a run of them
        self.head = np.repeat(np.arange(self.starts.size), np.diff(self.starts, append=heads.size))
        self.supply = visits[heads[self.starts]]
        self.inner, self.tails = np.unique(net.tails[self.edges], return_inverse=True)
        self.demand = visits[self.inner]
        self.copies = net.copies[self.edges]
        self.place(np.log(self.demand))

    def place(self, a: Floats) -> None:
        """Take new numbers for the tails and compute the flow."""
        self.a = a
        lifted = a[self.tails]
        # exp of differences only: of a head's edges the largest a counts as 0.
        top = np.maximum.reduceat(lifted, self.starts)
        weight = self.copies * np.exp(lifted - top[self.head])
        total = np.add.reduceat(weight, self.starts)
        self.flow = weight * (self.supply / total)[self.head]
        self.outflow = sum_at(self.tails, self.flow, len(self.inner))
        self.cost = dot(self.supply, np.log(total) + top) - dot(self.demand, a)

    def error(self) -> float:
        """Return the largest relative error of what leaves a node."""
        return float(np.abs(self.outflow / self.demand - 1.0).max())

    def alternate(self) -> None:
        """Scale the tails once; `place` then scales the heads."""
        self.place(self.a + np.log(self.demand / np.maximum(self.outflow, 1e-300)))

    def improve(self) -> bool:
        """Take a damped Newton step down the (convex) cost; tell whether that was possible."""
        gradient = self.outflow - self.demand
        try:
            step = -self._solve(gradient)
        except SingularError:
            return False
        slope = dot(gradient, step)
        if not np.isfinite(slope):
            return False
        a, cost = self.a, self.cost
        length = min(1.0, 3.0 / max(1e-9, self._spread(step)))
        for _ in range(30):
            self.place(a + length * step)
            # Below 1e-9 the cost itself has no digits left to compare.
            if self.cost <= cost + 0.1 * length * slope + 1e-13 * abs(cost) or -slope < 1e-9:
                return True
            length /= 2
        return False

    def _spread(self, step: Floats) -> float:
        """Return how far a step goes apart over the edges into one head: all that F depends on."""
        moved = step[self.tails]
        mean = np.add.reduceat(self.flow * moved, self.starts) / self.supply
        return float(np.abs(moved - mean[self.head]).max())

    @cached_property
    def network(self) -> StarMesh:
        """Return the network of tails and heads, conductors being the edges.

        Adding a constant to a component changes nothing, so one tail of each is grounded. It takes
        up what rounding left over, so it is the one with the largest mass.
        """
        n, m = len(self.inner), len(self.starts)
        heads = n + self.head
        links = coo_array((np.ones(len(heads), np.int8), (self.tails, heads)), shape=(n + m, n + m))
        _, labels = connected_components(links, directed=False)
        largest_first = np.argsort(-self.demand, kind="stable")
        _, first = np.unique(labels[largest_first], return_index=True)
        grounded = np.zeros(n + m, bool)
        grounded[largest_first[first]] = True
        size = n + m - first.size
        self.position: NDArray[np.int64] = np.where(grounded, size, np.cumsum(~grounded) - 1)
        heads_only = np.flatnonzero(~grounded) >= n
        return StarMesh(size, self.position[self.tails], self.position[heads], heads_only)

    def _solve(self, right: Floats) -> Floats:
        """Return the change of the tails' numbers that changes what leaves them by `right`."""
        n, size = len(self.inner), self.network.size
        currents = np.zeros(size + 1)
        currents[self.position[:n]] = right
        potentials = self.network.factorise(self.flow)(currents[:size])
        change: Floats = np.append(potentials, 0.0)[self.position[:n]]
        return change
