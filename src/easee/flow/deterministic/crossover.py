"""The exact optimum, from a good guess of which edges carry flow.

The tight edges determine the optimal visits (`potentials`), and these the flow of largest path
entropy (`max_entropy_flow`, or `max_entropy_paths` where some nodes do not count). A wrong guess
shows: an edge left out would improve on the potentials, or an edge taken in would carry a negative
flow. Such edges change sides, and after a few rounds the guess is right. This is an active-set
method, started close to the solution.
"""

import numpy as np

from easee._utils.arrays import Floats, Mask, sum_at
from easee.flow.deterministic.max_entropy_flow import max_entropy_flow
from easee.flow.deterministic.max_entropy_paths import max_entropy_paths
from easee.flow.deterministic.potentials import solve_potentials
from easee.flow.network import Network
from easee.flow.objective import NodeEntropy

VIOLATION = 1e-11  # an edge that improves on the potentials by more becomes tight


@np.errstate(all="ignore")
def exact_shares(objective: NodeEntropy, tight: Mask, guess: Floats, rounds: int) -> Floats | None:
    """Return the share of its tail's mass that each edge carries at the optimum, or None.

    The `tight` edges (m,) probably carry flow, and may be corrected in several rounds. The `guess`
    (n,) is approximately the optimal visits. If `tight` is wrong, potentials may be infinite, and
    shares not finite.
    """
    net = objective.network
    tight = tight.copy()
    for _ in range(rounds):
        visited = _visited(objective, tight)
        tight &= visited[net.tails]
        potentials = solve_potentials(objective, tight, guess)
        if potentials is None:
            return None
        visits, value = potentials
        gain = _gain(objective, visits, value, visited)
        better = ~tight & (gain > VIOLATION) & visited[net.tails]
        if better.any():
            tight |= better
        elif not objective.all_count:
            return max_entropy_paths(objective, tight, visits).shares
        elif not _plausible(net, tight, visits):
            return None
        else:
            result = max_entropy_flow(net, tight, visits)
            if result.shares is not None or not result.vanished.any():
                return result.shares
            tight &= ~result.vanished
        guess = np.where(objective.counts, visits, guess)
    return None


def _plausible(net: Network, tight: Mask, visits: Floats) -> bool:
    """Return whether the mass of each node fits into that of its tails, and of its heads."""
    tails, heads = net.tails[tight], net.heads[tight]
    offered = sum_at(heads, visits[tails], net.n_nodes)[1:]
    taken = sum_at(tails, visits[heads], net.n_nodes)
    taken[np.bincount(tails, minlength=net.n_nodes) == 0] = np.inf
    enough = 1.0 - 1e-6
    return bool((offered >= enough * visits[1:]).all() and (taken >= enough * visits).all())


def _visited(objective: NodeEntropy, tight: Mask) -> Mask:
    """Return the nodes that count, and those that tight edges lead to from visited ones."""
    net = objective.network
    visited = objective.counts.copy()
    visited[0] = True
    if not visited.all():
        for stage in net.stages:
            used = tight[stage.edges] & visited[stage.tails]
            visited[stage.targets][stage.heads[used]] = True
    return visited


def _gain(objective: NodeEntropy, visits: Floats, value: Floats, visited: Mask) -> Floats:
    """Return how much each edge improves on its tail's potential, (m,); none at the optimum."""
    net = objective.network
    value = np.where(visited, value, 0.0)
    reward = objective.gradient(np.where(objective.counts, visits, 1.0))
    if not visited.all():  # the value of a node that is never visited is that of its best path
        for stage in reversed(net.stages):
            worth = (reward[stage.targets] + value[stage.targets])[stage.heads]
            best = np.maximum.reduceat(worth, stage.starts)
            sources = stage.sources
            value[sources] = np.where(visited[sources], value[sources], best)
    return reward[net.heads] + value[net.heads] - value[net.tails]
