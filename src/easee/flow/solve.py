"""The optimal flow of a local-dynamics graph, with its certificate (Section 4.2).

    graph ──► objective ──► quotient by symmetry ──► optimal shares ──► lifted back ──► certificate

The certificate is computed on the whole graph from the finished policy alone. In the stochastic
case, where symmetry is not used, the steps are:

    graph ──► objective ──► time-expanded problem ──► candidates ──► certificate
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import Floats, sum_at
from easee._utils.timing import timed
from easee.flow.deterministic.crossover import exact_shares
from easee.flow.deterministic.interior_point import node_central_path, tight_edges
from easee.flow.deterministic.max_entropy_flow import max_entropy_flow
from easee.flow.deterministic.potentials import conserves_mass, uniform_visits
from easee.flow.deterministic.symmetry import quotient
from easee.flow.interior_point import Iterate
from easee.flow.network import Network, push
from easee.flow.objective import NodeEntropy, Objective, StateEntropy
from easee.flow.stochastic.candidates import candidates
from easee.flow.stochastic.time_expanded import time_expand
from easee.graph import LocalGraph

SMALL = 600  # up to this number of nodes, looking for symmetry takes longer than it saves
FIRST_CROSSOVER = 1e-7  # the first mu at which a crossover is tried
CROSSOVER_FACTOR = 1e-2  # ratio of mu between two attempts
ROUGH_MU = 1e-8  # from here on the flows of the interior-point method are candidates
LAST_MU = 1e-15  # beyond this the interior-point method only accumulates rounding errors
ROUNDS = 6  # of correcting the tight edges in a crossover
BEYOND_DOUBT = 0.1  # share of the tolerance: a candidate with a smaller gap is taken at once


@dataclass(frozen=True, eq=False)
class Solution:
    """A policy over a graph and its certificate.

    Attributes:
        probabilities: float (n, k), of each action at each node; zero for pruned actions.
        visits: float (n,), probability that each node is reached.
        entropy: the objective J.
        bound: the objective of uniform layers, or states.
        gap: the duality gap.
    """

    probabilities: Floats
    visits: Floats
    entropy: float
    bound: float
    gap: float


def solve(
    graph: LocalGraph, objective: NodeEntropy | StateEntropy, tolerance: float = 1e-9
) -> Solution:
    """Find the policy with the largest objective.

    The best policy found is returned even if its gap exceeds the tolerance: check `gap`.
    """
    if isinstance(objective, NodeEntropy):
        shares = _node_shares(objective, tolerance)
    else:
        shares = _state_shares(graph, objective, tolerance)
    with timed("certificate"):
        visits = push(objective.network, shares)
        probabilities = np.zeros(graph.successors.shape)
        probabilities[graph.forward] = shares
        # Rounding errors may exceed the bound by a little.
        entropy = min(objective.value(visits), objective.bound)
        gap = objective.certificate(visits)
        return Solution(probabilities, visits, entropy, objective.bound, gap)


def _node_shares(objective: NodeEntropy, tolerance: float) -> Floats:
    """Return the optimal shares (m,) for the entropy of nodes."""
    with timed("symmetry"):
        small = quotient(objective) if objective.network.n_nodes > SMALL else None
    with timed("iterate"):
        # Lifting and pushing cause rounding errors: leave some of the tolerance for them.
        reduced = objective if small is None else small.objective
        shares = optimal_shares(reduced, 0.5 * tolerance)
    with timed("certificate"):
        return _fill_unvisited(objective.network, shares if small is None else small.lift(shares))


def _state_shares(graph: LocalGraph, objective: StateEntropy, tolerance: float) -> Floats:
    """Return the optimal shares (m,) for the entropy of states."""
    net = objective.network
    with timed("iterate"):
        best = _Best(objective)
        for shares in candidates(time_expand(graph, objective)):
            # By its gap, not its certificate: the latter may be small although q is inaccurate.
            best.offer(_fill_unvisited(net, shares))
            if best.gap <= BEYOND_DOUBT * tolerance:
                break
        return _fill_unvisited(net, best.shares)


def optimal_shares(objective: NodeEntropy, tolerance: float) -> Floats:
    """Return the best shares (m,) found: the share of its tail's mass that each edge carries.

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
    for point in node_central_path(objective):
        if point.mu <= ROUGH_MU:
            rough.offer(point.flow / point.visits[net.tails])
        if previous is not None and point.mu <= threshold:
            tight = tight_edges(objective, previous, point)
            best.offer(exact_shares(objective, tight, point.visits, rounds=ROUNDS))
            threshold = point.mu * CROSSOVER_FACTOR
        if best.gap <= tolerance or point.mu <= LAST_MU:
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


class _Best:
    """The shares with the smallest gap so far."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.gap = np.inf
        self.shares: Floats = np.zeros(len(objective.network.tails))

    def offer(self, shares: Floats | None) -> None:
        if shares is not None:
            gap = self.objective.gap(push(self.objective.network, shares))
            if gap < self.gap:
                self.gap, self.shares = gap, shares


def _fill_unvisited(net: Network, shares: Floats) -> Floats:
    """Scale the shares of each node to sum 1, with equal shares at nodes that are never visited."""
    total = sum_at(net.tails, shares, net.n_nodes)
    count = np.bincount(net.tails, minlength=net.n_nodes)
    visited: NDArray[np.bool_] = total > 0.5
    total[~visited] = 1.0
    scaled: Floats = np.where(visited[net.tails], shares / total[net.tails], 1.0 / count[net.tails])
    return scaled
