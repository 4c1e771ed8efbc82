"""The optimal visits, once it is known which edges carry flow.

At the optimum every edge that carries flow is *tight*: the worth U of what lies ahead of its tail
equals the worth L of arriving at its head. Tight edges therefore tie potentials together, and all
that remains is one unknown for each group of tied ones, with the visits

    p(v) = exp((U(v) - L(v)) / omega(v) - 1)

and mass conservation in every group. That is an unconstrained, smooth, convex problem: Newton's
method solves it to machine precision in a few steps, where an interior-point method, which never
quite decides whether an edge is used, runs out of digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from easee._utils.arrays import Floats, sum_at
from easee.flow.certificate import marginal
from easee.flow.linalg.laplacian import Laplacian, SingularError
from easee.flow.network import Network

Ids = NDArray[np.int64]

MOST_STEPS = 40
# Between heavy layers a light one would like to have some visits once in e^100000 paths, which is
# no number. As many as are one cost nothing: nobody would rather take a path through there.
LOG_VISITS = (-460.0, 100.0)
NOTHING = -50.0  # the logarithm of visits that do not matter
PRECISION = 1e-14  # of the mass in a group, relative to what flows through it
ACCEPTABLE = 1e-3  # where rounding stops Newton's method short of that; the gap will tell


@dataclass(frozen=True, eq=False)
class Tied:
    """What follows from knowing the tight edges.

    Attributes:
        visits: float (n,), zero (meaning: not determined) where omega is 0.
        arrival: float (n,), L.
        value: float (n,), U.
    """

    visits: Floats
    arrival: Floats
    value: Floats


def conserves(net: Network, visits: Floats) -> bool:
    """Tell whether visits conserve mass in every group when all edges are tight."""
    nodes = np.flatnonzero(net.omega > 0)
    system = _Groups(net, np.ones(len(net.tails), bool), nodes)
    mass = visits[nodes]
    return system.error(system.divergence(mass) - system.supply, mass) <= PRECISION


def tie(net: Network, tight: NDArray[np.bool_], guess: Floats) -> Tied | None:
    """Return the visits that are optimal if just the `tight` edges may carry flow.

    They satisfy conservation in every group of tied potentials; whether a non-negative flow has
    these visits is for `scaling` to find out.

    Args:
        net: the network.
        tight: bool (m,). Every node with weight needs a tight edge into it, and if it is not an
            end one out of it.
        guess: float (n,), visits to start from, positive where omega is.

    Returns:
        None if Newton's method fails.
    """
    nodes = np.flatnonzero(net.omega > 0)
    system = _Groups(net, tight, nodes)
    omega, sizes = net.omega[nodes], net.sizes[nodes]
    mass = guess[nodes]
    try:
        # The potentials that fit the guess best, by least squares.
        fit = marginal(net, guess)[nodes] * mass / omega
        start = system.solve(mass / omega, system.divergence(fit))
        potential, mass, error = _conserving(system, omega, sizes, start)
    except SingularError:
        return None
    if not error <= ACCEPTABLE:
        return None
    visits = np.zeros(net.n_nodes)
    visits[nodes] = mass
    visits[0] = 1.0
    if nodes.size == net.n_nodes - 1:
        _conserve(net, system, visits)
    items = np.append(potential, 0.0)[system.labels]
    return Tied(visits, items[: net.n_nodes], items[net.n_nodes : 2 * net.n_nodes])


def _conserving(
    system: _Groups, omega: Floats, sizes: Floats, potential: Floats
) -> tuple[Floats, Floats, float]:
    """Return potentials and visits that conserve mass, by Newton's method, and how well they do.

    Where omega is small, visits have more digits than the potentials that they follow from: they
    are kept as logarithms of their own, and changed by differences alone.
    """
    density = -system.drop(potential) / omega - 1.0
    error = np.inf
    for _ in range(MOST_STEPS):
        mass = sizes * np.exp(np.clip(density, *LOG_VISITS))
        excess = system.divergence(mass) - system.supply
        before, error = error, system.error(excess, mass)
        if error <= PRECISION or (before < ACCEPTABLE and before <= 2 * error):
            break
        step = system.solve(mass / omega, excess)
        change = system.drop(step) / omega
        # exp is far from linear: no visit that matters may change by more than a factor e^2.
        seen = np.maximum(density, NOTHING) - np.maximum(density - change, NOTHING)
        length = min(1.0, 2.0 / np.abs(seen).max())
        potential = potential + length * step
        density = density - length * change
    return potential, mass, error


def _conserve(net: Network, system: _Groups, visits: Floats) -> None:
    """Make what arrives in each group exactly what goes on, layer by layer."""
    arrival, value = system.labels[: net.n_nodes], system.labels[net.n_nodes : 2 * net.n_nodes]
    for stage in net.walk:
        groups = arrival[stage.ahead]
        come = sum_at(value[stage.nodes], visits[stage.nodes], system.count + 1)
        go = sum_at(groups, visits[stage.ahead], system.count + 1)
        visits[stage.ahead] *= come[groups] / go[groups]


class _Groups:
    """Potentials tied together: mass conservation in every group and its linearisation.

    The last group is the ground, the potential 0 ahead of every end.
    """

    def __init__(self, net: Network, tight: NDArray[np.bool_], nodes: Ids) -> None:
        count, labels = _join(net, tight)
        self.labels = labels
        self.count = count  # without the ground
        self.arrival = labels[nodes]
        self.value = labels[nodes + net.n_nodes]
        self.supply = np.zeros(count)
        root = labels[net.n_nodes]
        if root < count:
            self.supply[root] = 1.0

    def drop(self, potential: Floats) -> Floats:
        """Return L(v) - U(v) of every node that counts."""
        grounded = np.append(potential, 0.0)
        drop: Floats = grounded[self.arrival] - grounded[self.value]
        return drop

    def divergence(self, mass: Floats) -> Floats:
        """Return what arrives in each group less what goes on from it."""
        into = sum_at(self.arrival, mass, self.count + 1)
        onward = sum_at(self.value, mass, self.count + 1)
        return (into - onward)[: self.count]

    def error(self, excess: Floats, mass: Floats) -> float:
        """Return the largest excess relative to the mass that flows through its group, if any."""
        through = sum_at(self.arrival, mass, self.count + 1)[: self.count]
        relative = np.abs(excess) / np.maximum(through, 1e-100)
        return float(np.max(relative, initial=0.0))

    @cached_property
    def laplacian(self) -> Laplacian:
        """The network whose conductors are the nodes that count."""
        # Groups that no weight depends on may have any potential: a conductor makes it 0.
        linked = np.zeros(self.count + 1, bool)
        apart = self.arrival != self.value
        linked[self.arrival[apart]] = linked[self.value[apart]] = True
        self.lone = np.flatnonzero(~linked[: self.count])
        return Laplacian(
            self.count,
            np.concatenate([self.arrival, self.lone]),
            np.concatenate([self.value, np.full(self.lone.size, self.count)]),
        )

    def solve(self, conductance: Floats, right: Floats) -> Floats:
        """Solve the network whose conductors are the nodes that count."""
        laplacian = self.laplacian
        ones = np.ones(self.lone.size)
        return laplacian.factorise(np.concatenate([conductance, ones]))(right)


def _join(net: Network, tight: NDArray[np.bool_]) -> tuple[int, Ids]:
    """Join U(tail) and L(head) of tight edges, U(v) and L(v) where v has no weight of its own.

    Returns:
        The number of groups without the ground, which is the last one; and the group of every
        item: L(v) is item v, U(v) is item n + v.
    """
    n = net.n_nodes
    inner = np.zeros(n, bool)
    inner[net.tails] = True
    ends = np.flatnonzero(~inner)
    free = np.flatnonzero(net.omega == 0)  # with the root, whose L nobody asks for
    one = np.concatenate([net.tails[tight] + n, ends + n, free])
    two = np.concatenate([net.heads[tight], np.full(ends.size, 2 * n), free + n])
    links = coo_array((np.ones(one.size, np.int8), (one, two)), shape=(2 * n + 1, 2 * n + 1))
    count, labels = connected_components(links, directed=False)
    ground, last = labels[2 * n], count - 1
    labels = np.where(labels == ground, last, np.where(labels == last, ground, labels))
    return last, labels.astype(np.int64)
