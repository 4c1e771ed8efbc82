"""The optimal flow of a local-dynamics graph (Section 4.2).

Deterministic: objective ──► quotient by symmetry ──► optimal shares ──► lifted back
Stochastic:    objective ──► time-expanded problem ──► candidates ──► best one
"""

import numpy as np

from easee._utils.arrays import Floats, sum_at
from easee._utils.timing import timed
from easee.flow.deterministic.crossover import exact_shares
from easee.flow.deterministic.interior_point import node_central_path, tight_edges
from easee.flow.deterministic.max_entropy_flow import max_entropy_flow
from easee.flow.deterministic.potentials import conserves_mass, uniform_visits
from easee.flow.deterministic.symmetry import quotient
from easee.flow.interior_point import Iterate, initial_flow
from easee.flow.network import Network, push, shares_of
from easee.flow.objective import NodeEntropy, Objective, StateEntropy
from easee.flow.stochastic.candidates import candidates
from easee.flow.stochastic.time_expanded import time_expand
from easee.graph import LocalGraph

SMALL = 600  # up to this number of nodes, looking for symmetry takes longer than it saves
FIRST_CROSSOVER = 1e-7  # the first mu at which a crossover is tried
CROSSOVER_FACTOR = 1e-2  # ratio of mu between two attempts
ROUGH_MU = 1e-8  # from here on the flows of the interior-point method are candidates
LAST_MU = 1e-15  # beyond this the interior-point method mostly accumulates rounding errors
PROGRESS, PATIENCE = 0.5, 6  # beyond LAST_MU: stop after so many iterations that do not halve mu
ROUNDS = 6  # of correcting the tight edges in a crossover
VISITED = 0.5  # sum of the shares of a node above which it is visited; it is 0 or about 1
EVERYWHERE = 1e-12  # part of a flow that visits all nodes; it costs about this much entropy
BEYOND_DOUBT = 0.1  # share of the tolerance: a candidate with a smaller gap is taken at once


def optimal_shares(
    graph: LocalGraph, objective: NodeEntropy | StateEntropy, tolerance: float
) -> Floats:
    """Return the best shares found, float (m,): share of its tail's mass that each edge carries.

    The search ends as soon as the duality gap is within the tolerance; it may exceed it.
    """
    net = objective.network
    if isinstance(objective, NodeEntropy):
        with timed("symmetry"):
            small = quotient(objective) if net.n_nodes > SMALL else None
        with timed("iterate"):
            # Lifting and pushing cause rounding errors: leave some of the tolerance for them.
            shares = _solve_network(small.objective if small else objective, 0.5 * tolerance)
            return _fill_unvisited(net, small.lift(shares) if small else shares)
    with timed("iterate"):
        best = _Best(objective)
        for shares in candidates(time_expand(graph, objective)):
            # By its gap, not its certificate: the latter may be small although q is inaccurate.
            best.offer(_fill_unvisited(net, shares))
            if best.gap <= BEYOND_DOUBT * tolerance:
                break
        return _fill_unvisited(net, best.shares)


def _solve_network(objective: NodeEntropy, tolerance: float) -> Floats:
    """Return the best shares (m,) found on a network.

    Most graphs use every forward edge, so that is tried first. Otherwise the interior-point method
    identifies the edges that are used, and ends as soon as a crossover from its guess succeeds.
    """
    net = objective.network
    best = _Best(objective)
    if _may_use_all(objective):
        every = np.ones(len(net.tails), bool)
        visits = uniform_visits(net)
        if objective.all_count and conserves_mass(objective, visits):
            best.offer(max_entropy_flow(net, every, visits).shares)
        else:
            best.offer(exact_shares(objective, every, visits, rounds=1))
        if best.gap <= tolerance:
            return best.shares
    previous: Iterate | None = None
    threshold = FIRST_CROSSOVER
    rough = _Best(objective)
    smallest, stalled = np.inf, 0
    for point in node_central_path(objective):
        if point.mu <= ROUGH_MU:
            rough.offer(point.flow / point.visits[net.tails])
        if previous is not None and point.mu <= threshold:
            tight = tight_edges(objective, previous, point)
            best.offer(exact_shares(objective, tight, point.visits, rounds=ROUNDS))
            threshold = point.mu * CROSSOVER_FACTOR
        stalled = 0 if point.mu < PROGRESS * smallest else stalled + 1
        smallest = min(smallest, point.mu)
        # It still helps where nodes of interest have visits that underflow.
        enough = rough.gap <= tolerance or stalled >= PATIENCE
        if best.gap <= tolerance or (smallest <= LAST_MU and enough):
            break
        previous = point
    rough.offer(point.flow / point.visits[net.tails])
    return best.shares if best.gap <= max(tolerance, rough.gap) else rough.shares


def _may_use_all(objective: NodeEntropy) -> bool:
    """Return whether the optimum may use all edges.

    It rarely does with dead ends, or if only some nodes of a layer count.
    """
    net = objective.network
    share = np.add.reduceat(objective.counts.astype(float), net.layers[:-1]) / np.diff(net.layers)
    return bool(np.isin(share, (0.0, 1.0)).all() and net.inner.sum() == net.layers[-2])


def visiting_all(net: Network, shares: Floats) -> Floats:
    """Return the shares (m,) of a flow with a very small part everywhere, and else as given."""
    flow = shares * push(net, shares)[net.tails]
    return shares_of(net, (1.0 - EVERYWHERE) * flow + EVERYWHERE * initial_flow(net))


class _Best:
    """The shares with the smallest gap so far."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.gap = np.inf
        self.shares: Floats = np.zeros(len(objective.network.tails))

    def offer(self, shares: Floats | None) -> None:
        if shares is not None and np.isfinite(shares).all():
            net = self.objective.network
            # Scaled first: the gap of a flow that creates mass would be too small.
            shares = _scaled(net, shares)
            gap = self.objective.gap(push(net, shares))
            if gap < self.gap:
                self.gap, self.shares = gap, shares


def _scaled(net: Network, shares: Floats) -> Floats:
    """Scale the shares of each node that is visited to sum 1."""
    total = sum_at(net.tails, shares, net.n_nodes)
    return shares / np.where(total > VISITED, total, 1.0)[net.tails]


def _fill_unvisited(net: Network, shares: Floats) -> Floats:
    """Scale the shares of each node to sum 1, with equal shares at nodes that are never visited."""
    visited = sum_at(net.tails, shares, net.n_nodes) > VISITED
    count = np.bincount(net.tails, minlength=net.n_nodes)
    return np.where(visited[net.tails], _scaled(net, shares), 1.0 / count[net.tails])
