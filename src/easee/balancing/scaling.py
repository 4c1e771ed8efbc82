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

from easee.arrays import sum_at
from easee.balancing.laplacian import SingularError, StarMesh
from easee.flow import Floats, Network

SINKHORN_STEPS = 6
NEWTON_STEPS = 40
PRECISION = 1e-13  # relative error of what leaves a node; rounding may stop a little short of it
ACCEPTABLE = 1e-10
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
    edges = np.flatnonzero(tight)
    scaling = _Scaling(net, edges, visits)
    for _ in range(SINKHORN_STEPS):
        scaling.alternate()
    early = scaling.flow
    error, best = scaling.error(), scaling.flow
    for step in range(NEWTON_STEPS):
        if error <= PRECISION or (step >= HOPELESS and error > 1e-3) or not scaling.improve():
            break
        before, error = error, scaling.error()
        if before <= 2 * error and before < ACCEPTABLE:
            error = before  # rounding has the last word
            break
        best = scaling.flow
    if error > ACCEPTABLE:
        vanished = np.zeros(len(net.tails), bool)
        vanished[edges] = best < 1e-3 * early
        return Scaled(None, vanished)
    shares = np.zeros(len(net.tails))
    shares[edges] = best / np.bincount(scaling.tails, best)[scaling.tails]
    return Scaled(shares, shares < 0)


class _Scaling:
    """A flow F = copies * exp(a(tail)) * visits(head) / (sum of that over the head's edges)."""

    def __init__(self, net: Network, edges: NDArray[np.intp], visits: Floats) -> None:
        self.inner, self.tails = np.unique(net.tails[edges], return_inverse=True)
        self.heads = net.heads[edges]
        self.copies = net.copies[edges]
        self.visits = visits
        self.demand = visits[self.inner]
        self.fed, self.heads_in_use = np.unique(self.heads, return_inverse=True)
        self.place(np.log(self.demand))

    def place(self, a: Floats) -> None:
        """Take new numbers for the tails and compute the flow."""
        self.a = a
        # exp of differences only: of a head's edges the largest a counts as 0.
        top = np.full(len(self.visits), -np.inf)
        np.maximum.at(top, self.heads, a[self.tails])
        weight = self.copies * np.exp(a[self.tails] - top[self.heads])
        total = sum_at(self.heads, weight, len(self.visits))
        self.flow = self.visits[self.heads] * weight / total[self.heads]
        self.outflow = sum_at(self.tails, self.flow, len(self.inner))
        log_total = np.log(total[self.fed]) + top[self.fed]
        self.cost = float(self.visits[self.fed] @ log_total - self.demand @ a)

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
        slope = float(gradient @ step)
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
        mean = sum_at(self.heads, self.flow * moved, len(self.visits))
        return float(np.abs(moved - (mean[self.heads] / self.visits[self.heads])).max())

    @cached_property
    def network(self) -> StarMesh:
        """Return the network of tails and heads, conductors being the edges.

        Adding a constant to a component changes nothing, so one tail of each is grounded. It takes
        up what rounding left over, so it is the one with the largest mass.
        """
        n = len(self.inner)
        heads = n + self.heads_in_use
        links = coo_array(
            (np.ones(len(self.tails), np.int8), (self.tails, heads)),
            shape=(n + self.fed.size,) * 2,
        )
        _, labels = connected_components(links, directed=False)
        largest_first = np.argsort(-self.demand, kind="stable")
        _, first = np.unique(labels[largest_first], return_index=True)
        grounded = np.zeros(n + self.fed.size, bool)
        grounded[largest_first[first]] = True
        size = grounded.size - int(grounded.sum())
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
