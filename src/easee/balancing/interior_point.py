"""A primal-dual interior-point method for the flow problem: it finds out which edges carry flow.

The unknowns are the flow F of every edge, and for every node two potentials: U, the worth of what
lies ahead, and L, the worth of arriving. At the optimum

    L(v) = U(v) - omega(v) (log p(v) + 1),    S = U(tail) - L(head) >= 0,    F S = 0.

The method keeps the flow feasible and follows F S = mu F0 as mu goes to 0. F0 is the flow that it
starts from: with that weight in the barrier, nodes visited once in a million paths count as much as
those near the root. Eliminating everything but U leaves one sparse positive definite system over
the inner nodes in each iteration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from easee.arrays import sum_at
from easee.balancing.linear import Factoriser, SingularError, Solve
from easee.flow import Floats, Network, best_values, marginal, spans

MOST_ITERATIONS = 60
TO_BOUNDARY = 0.995


@dataclass(frozen=True, eq=False)
class Iterate:
    """A point near the central path.

    Attributes:
        flow: float (m,), feasible and positive.
        slack: float (m,), how far each edge is from being tight, positive.
        value: float (n,), U; zero at the ends.
        arrival: float (n,), L.
        visits: float (n,), what the flow brings to each node.
        reference: float (m,), the flow F0.
    """

    flow: Floats
    slack: Floats
    value: Floats
    arrival: Floats
    visits: Floats
    reference: Floats

    @property
    def mu(self) -> float:
        """How far along the path: F S is about mu F0."""
        return float(self.flow @ self.slack / self.reference.sum())

    def tight(self, net: Network, before: Iterate) -> NDArray[np.bool_]:
        """Bool (m,): the edges that carry flow at the optimum, as far as can be seen from here.

        Between two points of the path either an edge's flow stays and its slack goes to zero, or
        the other way round. Their rates tell which long before their sizes do (Tapia indicators).
        """
        stays = self.flow / before.flow
        goes = self.slack / before.slack
        certainty = stays / (stays + goes)
        tight = certainty > 0.5
        # A node that counts keeps its surest way in; any node its surest way out.
        for ends, needed in ((net.heads, net.omega > 0), (net.tails, np.ones(net.n_nodes, bool))):
            surest = np.full(net.n_nodes, np.inf)
            surest[needed] = 0.0
            np.maximum.at(surest, ends, certainty)
            tight |= certainty >= surest[ends]
        return tight


def central_path(net: Network) -> Iterator[Iterate]:
    """Follow the central path, ever closer to the optimum, until rounding stops it."""
    step = _Step(net)
    point = _start(net)
    for _ in range(MOST_ITERATIONS):
        yield point
        try:
            with np.errstate(all="raise", under="ignore"):
                point = step.take(point)
        except (SingularError, FloatingPointError):
            return


def spread(net: Network) -> Floats:
    """Return a positive flow (m,): even over the ends, back to the root by equal splits."""
    mass = net.sizes.copy()
    mass[net.tails] = 0.0
    mass /= mass.sum()
    ways = net.sizes[net.tails] * net.copies
    ways /= sum_at(net.heads, ways, net.n_nodes)[net.heads]
    flow = np.empty(len(net.tails))
    for t, (first, last) in reversed(list(enumerate(spans(net)))):
        part = slice(first, last)
        flow[part] = mass[net.heads[part]] * ways[part]
        start, stop = net.layers[t], net.layers[t + 1]
        mass[start:stop] += sum_at(net.tails[part] - start, flow[part], stop - start)
    return flow


def arriving(net: Network, flow: Floats) -> Floats:
    """Return the visits (n,) of a flow; the root has 1."""
    visits = sum_at(net.heads, flow, net.n_nodes)
    visits[0] = 1.0
    return visits


def _start(net: Network) -> Iterate:
    flow = spread(net)
    visits = arriving(net, flow)
    reward = marginal(net, visits)
    value = best_values(net, reward)
    return Iterate(flow, np.ones(len(flow)), value, value + reward, visits, flow)


class _Step:
    """One iteration: Mehrotra's predictor and corrector with a single factorisation."""

    def __init__(self, net: Network) -> None:
        self.net = net
        n, m = net.n_nodes, len(net.tails)
        inner = np.zeros(n, bool)
        inner[net.tails] = True
        self.inner = np.flatnonzero(inner)
        row = np.cumsum(inner) - 1
        edge = np.arange(m)
        ones = np.ones(m)
        self.out = csr_array((ones, (row[net.tails], edge)), shape=(self.inner.size, m))
        self.into = csr_array((ones, (net.heads, edge)), shape=(n, m))
        self.log_sizes = np.log(net.sizes)
        self.factorise = Factoriser()

    def take(self, point: Iterate) -> Iterate:
        net = self.net
        system = _System(self, point)
        complementarity = point.flow * point.slack
        predictor = system.direction(-complementarity)
        length = _longest(point, predictor)
        ahead = (point.flow + length * predictor.flow) @ (point.slack + length * predictor.slack)
        centring = (ahead / complementarity.sum()) ** 3
        target = centring * point.mu * point.reference
        corrector = system.direction(target - complementarity - predictor.flow * predictor.slack)
        length = min(1.0, TO_BOUNDARY * _longest(point, corrector))
        flow = point.flow + length * corrector.flow
        return replace(
            point,
            flow=flow,
            slack=point.slack + length * corrector.slack,
            value=point.value + length * corrector.value,
            arrival=point.arrival + length * corrector.arrival,
            visits=arriving(net, flow),
        )


@dataclass(frozen=True, eq=False)
class _Direction:
    flow: Floats
    slack: Floats
    value: Floats
    arrival: Floats


class _System:
    """The linearised optimality conditions at a point, reduced to the inner nodes' U.

    With D = F / S for edges and g = omega / p for nodes, it is the Laplacian of an electrical
    network in which L(v) and U(v) are joined by the resistance g(v), U(tail) and L(head) by the
    conductance D. Resistances of 0 (nodes without weight) are fine.
    """

    def __init__(self, step: _Step, point: Iterate) -> None:
        net = step.net
        self.step = step
        self.point = point
        self.d = point.flow / point.slack
        self.g = net.omega / point.visits
        self.a = step.into @ self.d
        self.k = 1.0 / (1.0 + self.g * self.a)
        log_density = np.log(point.visits) - step.log_sizes
        self.node_residual = point.value - point.arrival - net.omega * (log_density + 1.0)
        self.node_residual[0] = 0.0
        self.edge_residual = point.value[net.tails] - point.arrival[net.heads] - point.slack
        outflow = sum_at(net.tails, point.flow, net.n_nodes)
        self.leak = (point.visits - outflow)[step.inner]
        self.solve = self._factorise()

    def _factorise(self) -> Solve:
        step, inner = self.step, self.step.inner
        weighted = step.out @ diags_array(self.d) @ step.into.T
        onward = (weighted @ diags_array(self.k))[:, inner]
        through = weighted @ diags_array(self.k * self.g) @ weighted.T
        diagonal = step.out @ self.d + (self.a * self.k)[inner]
        return step.factorise(diags_array(diagonal) - onward - onward.T - through)

    def direction(self, complementarity: Floats) -> _Direction:
        """Return the Newton step that changes F S by this much."""
        step, net, d, k, g = self.step, self.step.net, self.d, self.k, self.g
        push = complementarity / self.point.slack - d * self.edge_residual
        arrived = step.into @ push
        base = k * (self.node_residual - g * arrived)
        right = step.out @ (push + d * base[net.heads])
        right -= (arrived + self.a * base)[step.inner] + self.leak
        value = np.zeros(net.n_nodes)
        value[step.inner] = self.solve(right)
        arrival = base + k * (value + g * (step.into @ (d * value[net.tails])))
        arrival[0] = 0.0
        drop = value[net.tails] - arrival[net.heads]
        return _Direction(push - d * drop, drop + self.edge_residual, value, arrival)


def _longest(point: Iterate, direction: _Direction) -> float:
    """Return how far one can go before a flow or a slack reaches zero, at most a full step."""
    steepest = max(
        float(np.max(-direction.flow / point.flow)), float(np.max(-direction.slack / point.slack))
    )
    return 1.0 / max(steepest, TO_BOUNDARY)
