"""A primal-dual interior-point method for the flow problem: it finds out which edges carry flow.

The unknowns are the flow F of every edge, and for every node two potentials: U, the worth of what
lies ahead, and L, the worth of arriving. At the optimum

    L(v) = U(v) - omega(v) (log p(v) + 1),    S = U(tail) - L(head) >= 0,    F S = 0.

The method keeps the flow feasible and follows F S = mu F0 S0 as mu goes to 0. F0 is the flow that
it starts from: with that weight in the barrier, nodes visited once in a million paths count as much
as those near the root. S0 is what is at stake: so layers of little weight count as much as others.
Eliminating everything but U leaves one sparse positive definite system over the inner nodes in each
iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import Floats, dot, sum_at
from easee.flow.certificate import marginal
from easee.flow.linalg.laplacian import SingularError, StarMesh
from easee.flow.network import Network, best_values

MOST_ITERATIONS = 200
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
        reference: float (m,), F0 S0.
    """

    flow: Floats
    slack: Floats
    value: Floats
    arrival: Floats
    visits: Floats
    reference: Floats

    @property
    def mu(self) -> float:
        """How far along the path: F S is about mu F0 S0."""
        return dot(self.flow, self.slack) / float(self.reference.sum())

    def tight(self, net: Network, before: Iterate) -> NDArray[np.bool_]:
        """Bool (m,): the edges that carry flow at the optimum, as far as can be seen from here.

        Between two points of the path either an edge's flow stays and its slack goes to zero, or
        the other way round. Their rates tell which long before their sizes do (Tapia indicators).
        """
        stays = self.flow / before.flow
        goes = self.slack / before.slack
        certainty = stays / (stays + goes)
        tight: NDArray[np.bool_] = certainty > 0.5
        tight |= certainty >= _largest(net.tails, certainty, net.n_nodes)[net.tails]
        # A node that counts is visited, so it keeps its surest way in, from a node that is then
        # visited too, and so on up to the root.
        needed = net.omega > 0
        for stage in reversed(net.walk):
            sure = certainty[stage.edges]
            surest = _largest(stage.heads, sure, stage.ahead.stop - stage.ahead.start)
            kept = needed[stage.ahead][stage.heads] & (sure >= surest[stage.heads])
            tight[stage.edges] |= kept
            needed[net.tails[stage.edges][kept]] = True
        return tight


def _largest(index: NDArray[np.int32], values: Floats, size: int) -> Floats:
    """Return the largest value with each index, float (size,); 0 where there is none."""
    largest = np.zeros(size)
    np.maximum.at(largest, index, values)
    return largest


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
    """Return a positive flow (m,) with enough mass everywhere to start from.

    It is the mean of one flow for every layer: even over the layer (and the ends before it), back
    to the root by equal splits, and on from there by equal splits. Any one of these alone would
    fade to nothing along the narrow ways of a deep graph.
    """
    arrives = _evenly(net)
    waits = arrives.copy()  # for the way back to the root, and for the way on
    ways = net.sizes[net.tails] * net.copies
    ways /= sum_at(net.heads, ways, net.n_nodes)[net.heads]
    flow = np.empty(len(net.tails))
    for stage in reversed(net.walk):
        flow[stage.edges] = arrives[stage.ahead][stage.heads] * ways[stage.edges]
        arrives[stage.nodes] += np.add.reduceat(flow[stage.edges], stage.begins)
    splits = net.copies / sum_at(net.tails, net.copies, net.n_nodes)[net.tails]
    for stage in net.walk:
        on = waits[net.tails[stage.edges]] * splits[stage.edges]
        waits[stage.ahead] += sum_at(stage.heads, on, stage.ahead.stop - stage.ahead.start)
        flow[stage.edges] += on
    return flow


def _evenly(net: Network) -> Floats:
    """Return the mean over the layers of even mass on a layer and on the ends before it."""
    ends = np.ones(net.n_nodes, bool)
    ends[net.tails] = False
    depths = np.repeat(np.arange(len(net.layers) - 1), np.diff(net.layers))
    last = len(net.layers) - 2
    own = sum_at(depths, net.sizes, last + 1)
    before = np.cumsum(sum_at(depths, np.where(ends, net.sizes, 0.0), last + 1))
    holding = own[1:] + before[:-1]
    each = np.concatenate([[0.0], 1.0 / (last * holding)])
    later = np.cumsum(each[::-1])[::-1]  # an end holds mass in all layers to come, too
    mass: Floats = net.sizes * np.where(ends, later[depths], each[depths])
    return mass


def even(net: Network) -> Floats:
    """Return visits (n,) that are even in every layer, leaving mass at dead ends on the way."""
    visits = np.ones(net.n_nodes)
    inner = np.zeros(net.n_nodes, bool)
    inner[net.tails] = True
    mass = 1.0
    for start, stop in zip(net.layers[1:-1], net.layers[2:], strict=True):
        layer = slice(start, stop)
        visits[layer] = mass * net.sizes[layer] / net.sizes[layer].sum()
        mass = float(visits[layer][inner[layer]].sum())
    return visits


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
    slack = _stakes(net)
    return Iterate(flow, slack, value, value + reward, visits, flow * slack)


def _stakes(net: Network) -> Floats:
    """Return the scale of the slack of each edge, (m,): how much weight lies ahead of its tail.

    Where only some nodes of a layer count, that says nothing of what an edge is worth.
    """
    if not (net.omega[1:] > 0).all():
        return np.ones(len(net.tails))
    ahead = best_values(net, net.omega)
    scale: Floats = (ahead / ahead[0])[net.tails]
    return scale


@dataclass(frozen=True, eq=False)
class Direction:
    """Changes of the flow, the slack, U and L."""

    flow: Floats
    slack: Floats
    value: Floats
    arrival: Floats


def advance(
    net: Network,
    point: Iterate,
    direction: Callable[[Floats], Direction],
    most: Callable[[Direction], float] = lambda _: 1.0,
    least: float = 0.0,
) -> Iterate:
    """Take one iteration: Mehrotra's predictor and corrector with a single factorisation.

    Args:
        net: the network.
        point: where it starts.
        direction: returns the Newton step that changes F S by as much as it is given.
        most: returns how much of such a step may be taken.
        least: the smallest mu to aim at.
    """
    complementarity = point.flow * point.slack
    predictor = direction(-complementarity)
    length = _longest(point, predictor)
    ahead = dot(point.flow + length * predictor.flow, point.slack + length * predictor.slack)
    centring = (ahead / float(complementarity.sum())) ** 3
    target = max(centring * point.mu, least) * point.reference
    corrector = direction(target - complementarity - predictor.flow * predictor.slack)
    length = min(most(corrector), TO_BOUNDARY * _longest(point, corrector))
    flow = point.flow + length * corrector.flow
    return replace(
        point,
        flow=flow,
        slack=point.slack + length * corrector.slack,
        value=point.value + length * corrector.value,
        arrival=point.arrival + length * corrector.arrival,
        visits=arriving(net, flow),
    )


def _longest(point: Iterate, direction: Direction) -> float:
    """Return how far one can go before a flow or a slack reaches zero, at most a full step."""
    steepest = max(
        float(np.max(-direction.flow / point.flow)), float(np.max(-direction.slack / point.slack))
    )
    return 1.0 / max(steepest, TO_BOUNDARY)


class _Step:
    """What depends on the network alone; `take` is one iteration."""

    def __init__(self, net: Network) -> None:
        self.net = net
        n = net.n_nodes
        inner = np.zeros(n, bool)
        inner[net.tails] = True
        weighted = net.omega > 0
        # Unknown are U of inner nodes and L of nodes with weight; without weight L is U. Ahead of
        # an end there is nothing: its U is the ground.
        size = int(inner.sum() + weighted.sum())
        self.value = np.where(inner, np.cumsum(inner) - 1, size)
        own = inner.sum() + np.cumsum(weighted) - 1
        self.arrival = np.where(weighted, own, self.value)
        self.nodes = np.flatnonzero(weighted)
        self.size = size
        self.network = StarMesh(
            size,
            np.concatenate([self.value[net.tails], self.value[self.nodes]]),
            np.concatenate([self.arrival[net.heads], self.arrival[self.nodes]]),
            np.arange(size) >= inner.sum(),
        )
        self.log_sizes = np.log(net.sizes)

    def take(self, point: Iterate) -> Iterate:
        return advance(self.net, point, _System(self, point).direction)


class _System:
    """The linearised optimality conditions at a point: an electrical network.

    U(tail) and L(head) are joined by the conductance F / S, U(v) and L(v) by p / omega.
    """

    def __init__(self, step: _Step, point: Iterate) -> None:
        net = step.net
        self.step = step
        self.point = point
        self.edges = point.flow / point.slack
        self.nodes = point.visits[step.nodes] / net.omega[step.nodes]
        log_density = np.log(point.visits) - step.log_sizes
        node_residual = point.value - point.arrival - net.omega * (log_density + 1.0)
        self.node_residual = node_residual[step.nodes]
        self.edge_residual = point.value[net.tails] - point.arrival[net.heads] - point.slack
        outflow = sum_at(net.tails, point.flow, net.n_nodes)
        # Rounding lets some mass leak at inner nodes; every step mends it.
        self.leak = np.where(step.value < step.size, point.visits - outflow, 0.0)
        self.solve = step.network.factorise(np.concatenate([self.edges, self.nodes]))

    def direction(self, complementarity: Floats) -> Direction:
        """Return the Newton step that changes F S by this much."""
        step, net = self.step, self.step.net
        size = step.size
        edge_push = complementarity / self.point.slack - self.edges * self.edge_residual
        node_push = self.nodes * self.node_residual
        # Mass that would pile up at each potential if none of them moved.
        pile = -sum_at(step.arrival[net.heads], edge_push, size + 1)
        pile += sum_at(step.value[net.tails], edge_push, size + 1)
        pile += sum_at(step.arrival[step.nodes], node_push, size + 1)
        pile -= sum_at(step.value[step.nodes], node_push, size + 1)
        pile -= sum_at(step.value, self.leak, size + 1)
        potential = np.append(self.solve(pile[:size]), 0.0)
        value, arrival = potential[step.value], potential[step.arrival]
        arrival[0] = 0.0
        drop = value[net.tails] - arrival[net.heads]
        return Direction(edge_push - self.edges * drop, drop + self.edge_residual, value, arrival)
