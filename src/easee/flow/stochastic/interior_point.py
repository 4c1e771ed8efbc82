"""The interior-point method for the entropy of states.

Here the gradient dJ/dp of a node depends on all visits of its step. The curvature of J at a step is
the matrix

    H = A' diag(w / q) A,    q = A p,

with A the step's outcome distributions. It may be singular (two nodes with the same outcomes, more
nodes than states). The barrier compensates for that and leads to the middle of the optimal flows.
"""

from collections.abc import Iterator

import numpy as np

from easee._utils.arrays import Floats, sum_at
from easee.flow.interior_point import Iterate, NewtonStep, System, central_path
from easee.flow.stochastic.block_tridiagonal import BlockTridiagonal
from easee.flow.stochastic.time_expanded import TimeExpanded

LARGEST_FALL = 0.9  # largest share of a state's mass that it may lose in one step
# If states have very little mass, mu converges long before the gradient does. It is kept from
# falling below this value, where rounding errors would dominate the steps.
LEAST_MU = 1e-14


def state_central_path(problem: TimeExpanded) -> Iterator[Iterate]:
    """Yield points of the central path, ever closer to the optimum."""
    slack = np.ones(len(problem.network.tails))
    return central_path(problem, slack, lambda point: _StateSystem(problem, point), LEAST_MU)


class _StateSystem(System):
    def __init__(self, problem: TimeExpanded, point: Iterate) -> None:
        super().__init__(problem, point)
        self.problem = problem
        self.q = problem.mixture(point.visits)
        scale, diagonal = problem.weights / self.q, np.zeros(self.net.n_nodes)
        self.system = BlockTridiagonal(problem, self.conductance, scale, diagonal)

    def solve(self, pushed: Floats) -> NewtonStep:
        return self.system.solve(pushed, self.leak, self.node_residual)

    def max_length(self, step: NewtonStep) -> float:
        """Return the largest multiple of a step at which no q falls below a tenth.

        Below the optimum log q is so steep that Newton's method would recover slowly.
        """
        change = self.problem.mixture(sum_at(self.net.heads, step.flow, self.net.n_nodes))
        return min(1.0, LARGEST_FALL / max(LARGEST_FALL, float(np.max(-change / self.q))))
