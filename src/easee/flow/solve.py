"""The optimal flow of a local-dynamics graph, certified (Section 4.2).

    graph ──► network ──► quotient by symmetry ──► optimal shares ──► lifted back ──► certificate

The certificate is computed on the whole graph from the policy alone, whatever came before it.

In the stochastic case nodes lead to states by chance, and symmetry does not help:

    graph, outcomes ──► mixture ──► problem step by step ──► candidates ──► certificate
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from easee._utils.arrays import Floats, sum_at
from easee._utils.timing import timed
from easee.flow.certificate import certificate, gap, linear_gap, mixed_certificate, objective
from easee.flow.deterministic.crossover import exact_shares
from easee.flow.deterministic.interior_point import Iterate, central_path, even
from easee.flow.deterministic.max_entropy_flow import most_random
from easee.flow.deterministic.potentials import conserves
from easee.flow.deterministic.symmetry import quotient
from easee.flow.network import Network, network, push
from easee.flow.objective import bound, node_weights
from easee.flow.outcomes import Mixture, mixture, refuse_interest
from easee.flow.stochastic.candidates import candidates
from easee.flow.stochastic.time_expanded import Problem, problem
from easee.graph import LocalGraph

SMALL = 600  # up to so many nodes looking for symmetry takes longer than it saves
FIRST_CROSSOVER = 1e-7  # the first mu at which the tight edges are worth a guess
CROSSOVER_EVERY = 1e-2
ROUGH = 1e-8  # from here on the interior-point method's own flows are worth keeping
LAST_MU = 1e-15  # beyond this the interior-point method only collects rounding errors
ROUNDS = 6
BEYOND_DOUBT = 0.1  # of the tolerance: a candidate that good is taken at once


@dataclass(frozen=True, eq=False)
class Solution:
    """A policy over a graph and what is known of it.

    Attributes:
        probabilities: float (n, k), zero where there is nowhere to go.
        visits: float (n,), how likely each node is reached.
        entropy: the objective J.
        bound: what uniform layers, or states, would give.
        gap: the duality gap.
    """

    probabilities: Floats
    visits: Floats
    entropy: float
    bound: float
    gap: float


def solve(
    graph: LocalGraph,
    *,
    weights: ArrayLike | None = None,
    interest: ArrayLike | None = None,
    outcomes: Any = None,
    tolerance: float = 1e-9,
) -> Solution:
    """Find the policy that visits the nodes, or the states they lead to, as evenly as possible.

    The best that was found is returned even if its gap misses the tolerance: look at `gap`.
    """
    if outcomes is not None:
        refuse_interest(interest)
        return _solve_mixed(graph, mixture(graph, outcomes, weights), weights, tolerance)
    omega = node_weights(graph, weights, interest)
    with timed("symmetry"):
        net = network(graph, omega)
        small = quotient(net) if net.n_nodes > SMALL else None
    with timed("iterate"):
        # Lifting and pushing round a little: leave some of the tolerance for that.
        shares = optimal_shares(net if small is None else small.network, 0.5 * tolerance)
    with timed("certificate"):
        shares = _fill_unvisited(net, shares if small is None else small.lift(shares))
        visits = push(net, shares)
        entropy, ceiling = objective(net, visits), bound(graph, weights, interest)
        certified = certificate(net, visits, ceiling - entropy)
        # Rounding may leave a hair above what cannot be exceeded.
        return Solution(_table(graph, shares), visits, min(entropy, ceiling), ceiling, certified)


def _table(graph: LocalGraph, shares: Floats) -> Floats:
    probabilities = np.zeros(graph.successors.shape)
    probabilities[graph.forward] = shares
    return probabilities


def _solve_mixed(
    graph: LocalGraph, mix: Mixture, weights: ArrayLike | None, tolerance: float
) -> Solution:
    """Find the policy whose mixture of outcomes has the largest entropy."""
    net = network(graph, node_weights(graph, weights))
    with timed("iterate"):
        if mix.separate:
            shares = solve(graph, weights=weights, tolerance=tolerance).probabilities[graph.forward]
        else:
            shares = _mixed_shares(net, mix, problem(graph, net, mix), tolerance)
    with timed("certificate"):
        visits = push(net, shares)
        certified = mixed_certificate(net, mix, visits)
        entropy = min(mix.objective(visits), mix.bound)
        return Solution(_table(graph, shares), visits, entropy, mix.bound, certified)


def _mixed_shares(net: Network, mix: Mixture, steps: Problem, tolerance: float) -> Floats:
    """Return the first candidate that is good beyond doubt, or else the best of them."""
    best, smallest = _fill_unvisited(net, np.zeros(len(net.tails))), np.inf
    for shares in candidates(steps):
        filled = _fill_unvisited(net, shares)
        visits = push(net, filled)
        # Not the certificate: it may be better than q is, where a uniform q is possible.
        found = linear_gap(net, mix.marginal(visits), visits)
        if found < smallest:
            best, smallest = filled, found
        if smallest <= BEYOND_DOUBT * tolerance:
            break
    return best


def optimal_shares(net: Network, tolerance: float) -> Floats:
    """Return how each node splits its mass, float (m,): the best that was found.

    Most graphs use every forward edge; that is tried first. Otherwise the interior-point method
    finds out which edges are used, and is left as soon as its guess proves right.
    """
    best = _Best(net)
    if _may_use_all(net):
        every = np.ones(len(net.tails), bool)
        visits = even(net)
        if (net.omega[1:] > 0).all() and conserves(net, visits):  # even layers: nothing is better
            best.offer(most_random(net, every, visits).shares)
        else:
            best.offer(exact_shares(net, every, visits, rounds=1))
        if best.gap <= tolerance:
            return best.shares
    before: Iterate | None = None
    threshold = FIRST_CROSSOVER
    rough = _Best(net)
    for point in central_path(net):
        if point.mu <= ROUGH:
            rough.offer(point.flow / point.visits[net.tails])
        if before is not None and point.mu <= threshold:
            best.offer(exact_shares(net, point.tight(net, before), point.visits, rounds=ROUNDS))
            threshold = point.mu * CROSSOVER_EVERY
        if best.gap <= tolerance or point.mu <= LAST_MU:
            break
        before = point
    rough.offer(point.flow / point.visits[net.tails])  # however far it came
    return best.shares if best.gap <= max(tolerance, rough.gap) else rough.shares


def _may_use_all(net: Network) -> bool:
    """Tell whether it is worth trying that all edges are in use.

    It hardly ever is so where some nodes of a layer have weight and others none, or with dead ends.
    """
    counts = (net.omega > 0).astype(float)
    share = np.add.reduceat(counts, net.layers[:-1]) / np.diff(net.layers)
    inner = np.unique(net.tails).size
    return bool(np.isin(share, (0.0, 1.0)).all() and inner == net.layers[-2])


class _Best:
    """The shares with the smallest gap so far."""

    def __init__(self, net: Network) -> None:
        self.net = net
        self.gap = np.inf
        self.shares: Floats = np.zeros(len(net.tails))

    def offer(self, shares: Floats | None) -> None:
        if shares is not None:
            found = gap(self.net, push(self.net, shares))
            if found < self.gap:
                self.gap, self.shares = found, shares


def _fill_unvisited(net: Network, shares: Floats) -> Floats:
    """Make every row sum to 1. A node that the optimum never visits goes on evenly."""
    total = sum_at(net.tails, shares, net.n_nodes)
    count = np.bincount(net.tails, minlength=net.n_nodes)
    visited: NDArray[np.bool_] = total > 0.5
    total[~visited] = 1.0
    scaled: Floats = np.where(visited[net.tails], shares / total[net.tails], 1.0 / count[net.tails])
    return scaled
