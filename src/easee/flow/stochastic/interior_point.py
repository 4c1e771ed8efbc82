"""The interior-point method for the stochastic problem, where states count instead of nodes.

As in `interior_point`, but the worth of arriving at a node is L = U + dJ/dp with a gradient that
depends on all visits of its step. The curvature of J there is the matrix

    H = A' diag(w / q) A,    q = A p,

with A the step's outcome distributions. It may well be singular (two nodes with the same outcomes,
more nodes than states): the barrier makes up for that and leads to the middle of the optimal flows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from easee._utils.arrays import Floats, sum_at
from easee.flow.deterministic.interior_point import (
    MOST_ITERATIONS,
    Direction,
    Iterate,
    advance,
    arriving,
    spread,
)
from easee.flow.linalg.laplacian import SingularError
from easee.flow.network import best_values
from easee.flow.stochastic.block_tridiagonal import Ladder
from easee.flow.stochastic.time_expanded import Problem

LARGEST_FALL = 0.9  # of a state's mass in one step
# Where states have very little mass mu arrives long before the gradient is right. It waits here:
# further on rounding would spoil the steps.
LEAST_MU = 1e-14


def mixed_path(problem: Problem) -> Iterator[Iterate]:
    """Follow the central path, ever closer to the optimum, until rounding stops it."""
    point = _start(problem)
    for _ in range(MOST_ITERATIONS):
        yield point
        try:
            with np.errstate(all="raise", under="ignore"):
                system = _System(problem, point)
                point = advance(problem.network, point, system.direction, system.most, LEAST_MU)
        except (SingularError, FloatingPointError):
            return


def _start(problem: Problem) -> Iterate:
    net = problem.network
    flow = spread(net)
    visits = arriving(net, flow)
    reward = problem.marginal(problem.spread(visits))
    value = best_values(net, reward)
    return Iterate(flow, np.ones(len(flow)), value, value + reward, visits, flow)


class _System:
    """The linearised optimality conditions at a point."""

    def __init__(self, problem: Problem, point: Iterate) -> None:
        net = problem.network
        self.problem = problem
        self.point = point
        self.q = q = problem.spread(point.visits)
        self.edges = point.flow / point.slack
        straight = np.zeros(net.n_nodes)
        self.ladder = Ladder(problem, self.edges, problem.weights / q, straight)
        self.node_residual = point.value + problem.marginal(q) - point.arrival
        self.edge_residual = point.value[net.tails] - point.arrival[net.heads] - point.slack
        # Rounding lets some mass leak at inner nodes; every step mends it.
        self.leak = sum_at(net.tails, point.flow, net.n_nodes) - point.visits
        self.leak[net.layers[-2] :] = 0.0

    def direction(self, complementarity: Floats) -> Direction:
        """Return the Newton step that changes F S by this much."""
        pushed = complementarity / self.point.slack - self.edges * self.edge_residual
        change = self.ladder.solve(pushed, self.leak, self.node_residual)
        slack = change.drop + self.edge_residual
        return Direction(change.flow, slack, change.value, change.arrival)

    def most(self, direction: Direction) -> float:
        """Return how much of a step may be taken before some q falls to a tenth.

        Below the optimum log q is so steep that Newton's method takes long to come back up.
        """
        net = self.problem.network
        change = self.problem.spread(sum_at(net.heads, direction.flow, net.n_nodes))
        return min(1.0, LARGEST_FALL / max(LARGEST_FALL, float(np.max(-change / self.q))))
