"""The optimal visits, given the edges that carry flow.

At the optimum every edge that carries flow is *tight*: the value U of continuing from its tail
equals the value L of arriving at its head. Tight edges therefore join potentials into groups, with
one unknown for each group, the visits

    p(v) = exp((U(v) - L(v)) / omega(v) - 1),

and conservation of mass in every group. This is an unconstrained, smooth, convex problem, which
Newton's method solves to machine precision in a few steps.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import Floats, Mask, components, sum_at
from easee.flow.linalg.laplacian import Laplacian, SingularError
from easee.flow.network import Network
from easee.flow.objective import NodeEntropy

Ids = NDArray[np.int64]

MAX_STEPS = 40
# Clip log-visits: between heavy layers the optimum underflows, and clipping does not change which
# paths are optimal.
LOG_VISITS = (-460.0, 100.0)
NEGLIGIBLE = -50.0  # smaller log-visits do not limit the length of a step
PRECISION = 1e-14  # of the mass in a group, relative to the mass that flows through it
FAR = 0.5  # relative error of a group's mass above which logarithms of the mass are compared
ACCEPTABLE = 1e-3  # largest error if rounding stops Newton's method; the duality gap decides later


def uniform_visits(net: Network) -> Floats:
    """Return visits (n,) that are uniform in every layer; mass stays at dead ends."""
    visits = np.ones(net.n_nodes)
    mass = 1.0
    for start, stop in zip(net.layers[1:-1], net.layers[2:], strict=True):
        layer = slice(start, stop)
        visits[layer] = mass * net.sizes[layer] / net.sizes[layer].sum()
        mass = float(visits[layer][net.inner[layer]].sum())
    return visits


def conserves_mass(objective: NodeEntropy, visits: Floats) -> bool:
    """Return whether visits conserve mass in every group when all edges are tight."""
    groups = _Groups(objective, np.ones(len(objective.network.tails), bool))
    mass = visits[groups.nodes]
    return groups.error(groups.divergence(mass) - groups.supply, mass) <= PRECISION


def solve_potentials(
    objective: NodeEntropy, tight: Mask, guess: Floats
) -> tuple[Floats, Floats] | None:
    """Return the optimal visits and U, if just the `tight` edges (m,) may carry flow, of any sign.

    The visits are 0 where omega is 0. Every node that counts needs a tight edge into it and, if it
    is not an end, one out of it. The `guess` (n,) of the visits must be positive there. Returns
    None if Newton's method fails.
    """
    n = objective.network.n_nodes
    groups = _Groups(objective, tight)
    nodes, omega = groups.nodes, objective.omega[groups.nodes]
    mass = guess[nodes]
    try:
        # The potentials that fit the guess best, by least squares.
        fit = objective.gradient(guess)[nodes] * mass / omega
        start = groups.solve(mass / omega, groups.divergence(fit))
        sizes = objective.network.sizes[nodes]
        potential, mass, error = _conserve_in_groups(groups, omega, sizes, start)
    except SingularError:
        return None
    if not error <= ACCEPTABLE:
        return None
    visits = np.zeros(n)
    visits[nodes] = mass
    visits[0] = 1.0
    if objective.all_count:
        _balance_layers(objective.network, groups, visits)
    return visits, np.append(potential, 0.0)[groups.labels[n : 2 * n]]


def _conserve_in_groups(
    groups: _Groups, omega: Floats, sizes: Floats, potential: Floats
) -> tuple[Floats, Floats, float]:
    """Return potentials and visits that conserve mass, by Newton's method, and their error.

    Where omega is small, visits are more precise than the potentials that they follow from, so
    their logarithms are kept and updated separately.
    """
    log_density = -groups.drop(potential) / omega - 1.0
    error = np.inf
    for _ in range(MAX_STEPS):
        mass = sizes * np.exp(np.clip(log_density, *LOG_VISITS))
        excess = groups.divergence(mass) - groups.supply
        previous, error = error, groups.error(excess, mass)
        if error <= PRECISION or (previous < ACCEPTABLE and previous <= 2 * error):
            break
        conductance = mass / omega
        if error > FAR:
            excess = groups.log_scaled_excess(conductance, excess, mass)
        step = groups.solve(conductance, excess)
        change = groups.drop(step) / omega
        # exp is far from linear: no relevant visit may change by more than a factor e^2.
        before, after = (np.maximum(x, NEGLIGIBLE) for x in (log_density, log_density - change))
        length = min(1.0, 2.0 / np.abs(before - after).max())
        potential = potential + length * step
        log_density = log_density - length * change
    return potential, mass, error


def _balance_layers(net: Network, groups: _Groups, visits: Floats) -> None:
    """Scale visits in place, layer by layer, to conserve mass in each group to the last digit."""
    arrival, value = groups.labels[: net.n_nodes], groups.labels[net.n_nodes : 2 * net.n_nodes]
    for stage in net.stages:
        labels = arrival[stage.targets]
        offered = sum_at(value[stage.sources], visits[stage.sources], groups.count + 1)
        taken = sum_at(labels, visits[stage.targets], groups.count + 1)
        visits[stage.targets] *= offered[labels] / taken[labels]


class _Groups:
    """Groups of equal potentials: conservation of mass in every group and its linearisation.

    The last group is the ground, the potential 0 of continuing from an end; `count` is the number
    of the others. The nodes that count are `nodes`, and their L and U are in the groups `arrival`
    and `value`. The mass `supply` (count,) enters the groups from outside.
    """

    def __init__(self, objective: NodeEntropy, tight: Mask) -> None:
        n = objective.network.n_nodes
        self.nodes = np.flatnonzero(objective.counts)
        self.count, self.labels = _join(objective, tight)
        self.arrival, self.value = self.labels[self.nodes], self.labels[self.nodes + n]
        self.supply = (np.arange(self.count) == self.labels[n]).astype(float)

    def drop(self, potential: Floats) -> Floats:
        """Return L(v) - U(v) of every node that counts."""
        grounded = np.append(potential, 0.0)
        drop: Floats = grounded[self.arrival] - grounded[self.value]
        return drop

    def divergence(self, mass: Floats) -> Floats:
        """Return the inflow of each group minus its outflow."""
        into = sum_at(self.arrival, mass, self.count + 1)
        onward = sum_at(self.value, mass, self.count + 1)
        return (into - onward)[: self.count]

    def error(self, excess: Floats, mass: Floats) -> float:
        """Return the largest excess relative to the mass that flows through its group."""
        through = sum_at(self.arrival, mass, self.count + 1)[: self.count]
        relative = np.abs(excess) / np.maximum(through, 1e-100)
        return float(np.max(relative, initial=0.0))

    def log_scaled_excess(self, conductance: Floats, excess: Floats, mass: Floats) -> Floats:
        """Return the excess (count,), replaced where inflow and outflow differ by orders.

        There Newton's method would divide the larger one by e in each step, which takes hundreds
        of steps if the optimal visits underflow. So the equation log(inflow) = log(outflow) takes
        the place of inflow = outflow, scaled to the same slope in the group's own potential.
        """
        size, least = self.count + 1, np.finfo(float).tiny
        into = np.maximum(sum_at(self.arrival, mass, size)[:-1], least)
        # Not as inflow minus excess, which cancels where the outflow is far smaller.
        onward = np.maximum(sum_at(self.value, mass, size)[:-1] + self.supply, least)
        ratio = np.log(into / onward)
        slope_in = sum_at(self.arrival, conductance, size)[:-1]
        slope_on = sum_at(self.value, conductance, size)[:-1]
        mean = (slope_in + slope_on) / np.maximum(slope_in / into + slope_on / onward, least)
        return np.where(np.abs(ratio) > 1.0, ratio * mean, excess)

    @cached_property
    def _isolated(self) -> Ids:
        """Groups that no node that counts depends on. Their potentials are set to 0."""
        linked = np.zeros(self.count + 1, bool)
        apart = self.arrival != self.value
        linked[self.arrival[apart]] = linked[self.value[apart]] = True
        return np.flatnonzero(~linked[: self.count])

    @cached_property
    def _laplacian(self) -> Laplacian:
        first = np.concatenate([self.arrival, self._isolated])
        second = np.append(self.value, np.full(self._isolated.size, self.count))
        return Laplacian(self.count, first, second)

    def solve(self, conductance: Floats, right: Floats) -> Floats:
        """Solve the electrical network whose conductors are the nodes that count."""
        ones = np.ones(self._isolated.size)
        return self._laplacian.factorise(np.concatenate([conductance, ones]))(right)


def _join(objective: NodeEntropy, tight: Mask) -> tuple[int, Ids]:
    """Join U(tail) and L(head) of tight edges, and U(v) and L(v) where v does not count.

    Returns the number of groups without the ground, which is the last one, and the group of every
    item: L(v) is item v, U(v) is item n + v, the ground is item 2n.
    """
    net = objective.network
    n = net.n_nodes
    ends = np.flatnonzero(~net.inner)
    free = np.flatnonzero(~objective.counts)  # with the root, whose L is unused
    first = np.concatenate([net.tails[tight] + n, ends + n, free])
    second = np.concatenate([net.heads[tight], np.full(ends.size, 2 * n), free + n])
    count, labels = components(first, second, 2 * n + 1)
    ground, last = labels[2 * n], count - 1
    labels = np.where(labels == ground, last, np.where(labels == last, ground, labels))
    return last, labels.astype(np.int64)
