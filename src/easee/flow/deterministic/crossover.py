"""From a good guess of which edges carry flow to the exact optimum.

Given the tight edges, the optimal visits follow (`potentials`), and the most random flow with
these visits (`scaling`). Where the guess is wrong it shows: an edge left out would improve on the
potentials, or an edge taken in would have to carry a negative flow. Such edges change sides, and
after a few rounds the guess is right; an active-set method, started so close that it is quick.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import Floats, sum_at
from easee.flow.certificate import marginal
from easee.flow.deterministic.max_entropy_flow import most_random
from easee.flow.deterministic.max_entropy_paths import most_random_paths
from easee.flow.deterministic.potentials import Tied, tie
from easee.flow.network import Network

VIOLATION = 1e-11  # by how much an edge must improve on the potentials to be let in


def exact_shares(
    net: Network, tight: NDArray[np.bool_], guess: Floats, rounds: int
) -> Floats | None:
    """Return how each node of the optimum splits its mass, float (m,), or None if not found.

    Args:
        net: the network.
        tight: bool (m,), the edges that probably carry flow.
        guess: float (n,), roughly the optimal visits.
        rounds: how often the guess may be corrected.
    """
    # A wrong guess may send potentials anywhere; what comes of it is checked, not trusted.
    with np.errstate(all="ignore"):
        shares = _exact_shares(net, tight.copy(), guess, rounds)
    return shares if shares is not None and np.isfinite(shares).all() else None


def _exact_shares(
    net: Network, tight: NDArray[np.bool_], guess: Floats, rounds: int
) -> Floats | None:
    weighted = bool((net.omega[1:] > 0).all())
    for _ in range(rounds):
        visited = _visited(net, tight)
        tight &= visited[net.tails]
        tied = tie(net, tight, guess)
        if tied is None:
            return None
        better = ~tight & (_gain(net, tied, visited) > VIOLATION) & visited[net.tails]
        scale = most_random if weighted else most_random_paths
        if better.any():
            tight |= better
        elif weighted and not _plausible(net, tight, tied.visits):
            return None
        else:
            scaled = scale(net, tight, tied.visits)
            if scaled.shares is not None or not scaled.vanished.any():
                return scaled.shares
            tight &= ~scaled.vanished
        guess = np.where(net.omega > 0, tied.visits, guess)
    return None


def _plausible(net: Network, tight: NDArray[np.bool_], visits: Floats) -> bool:
    """Tell whether each node's mass could come from its tails, and go to its heads, at all."""
    tails, heads = net.tails[tight], net.heads[tight]
    offered = sum_at(heads, visits[tails], net.n_nodes)[1:]
    taken = sum_at(tails, visits[heads], net.n_nodes)
    taken[np.bincount(tails, minlength=net.n_nodes) == 0] = np.inf
    enough = 1.0 - 1e-6
    return bool((offered >= enough * visits[1:]).all() and (taken >= enough * visits).all())


def _visited(net: Network, tight: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Every node that counts is visited; the others if a tight edge from a visited node says so."""
    visited = net.omega > 0
    visited[0] = True
    if not visited.all():
        for stage in net.walk:
            used = tight[stage.edges] & visited[net.tails[stage.edges]]
            visited[stage.ahead][stage.heads[used]] = True
    return visited


def _gain(net: Network, tied: Tied, visited: NDArray[np.bool_]) -> Floats:
    """Return by how much each edge improves on its tail's potential: not at all at the optimum."""
    value = np.where(visited, tied.value, 0.0)
    reward = marginal(net, np.where(net.omega > 0, tied.visits, 1.0))
    if not visited.all():  # a node that is never visited is worth its best way on
        for stage in reversed(net.walk):
            worth = (reward[stage.ahead] + value[stage.ahead])[stage.heads]
            best = np.maximum.reduceat(worth, stage.begins)
            value[stage.nodes] = np.where(visited[stage.nodes], value[stage.nodes], best)
    return reward[net.heads] + value[net.heads] - value[net.tails]
