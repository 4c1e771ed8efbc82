"""The flow of largest path entropy with given state distributions.

The optimal q is unique, the flow is not, because nodes may replace each other. Of all flows with
this q, the one of largest path entropy has the form

    share of an edge = exp(L(head) - U(tail)),    L = U + A' lambda,    U = log of the sum of exp L,

with one parameter lambda for every state at every step. They minimise the convex function
U(root) - lambda q. Newton's method starts from a positive flow with this q, so a minimum exists.
The duality gap depends on q alone, so the choice of the flow does not change it.
"""

import numpy as np

from easee._utils.arrays import Floats, dot, sum_at
from easee.flow.linalg.laplacian import SingularError
from easee.flow.network import inflow, push, shares_of
from easee.flow.newton import ACCEPTABLE, ConvexScaling, Point, newton_errors
from easee.flow.stochastic.block_tridiagonal import BlockTridiagonal
from easee.flow.stochastic.time_expanded import TimeExpanded

MAX_STEPS = 60
# Outcomes of different nodes are often linearly dependent, so lambda is not unique. This share of
# the diagonal keeps the steps short in such directions, at the cost of a digit or two per step.
REGULARISATION = 1e-8
MAX_CHANGE = 4.0  # largest change of the logarithm of a share in a step


def max_entropy_mixture(problem: TimeExpanded, flow: Floats) -> Floats | None:
    """Return the shares (m,) of the flow of largest path entropy with the q of a positive flow.

    None if Newton's method fails.
    """
    try:
        with np.errstate(all="raise", under="ignore"):
            scaling = _StateScaling(problem, flow)
            for error in newton_errors(scaling, MAX_STEPS):
                final_error, flow = error, scaling.point.flow
            return shares_of(problem.network, flow) if final_error <= ACCEPTABLE else None
    except (SingularError, FloatingPointError):
        return None


class _StateScaling(ConvexScaling):
    """A flow with the parameters lambda, whose constraints prescribe q (r,)."""

    def __init__(self, problem: TimeExpanded, flow: Floats) -> None:
        self.problem, self.net = problem, problem.network
        visits = inflow(self.net, flow)
        self.wanted = problem.mixture(visits)
        # The parameters that fit the flow best, by least squares.
        pushed = -flow * np.log(flow / visits[self.net.tails])
        parameters, _ = self._newton_step(flow, pushed, np.zeros(len(self.wanted)))
        self.point = self.at(parameters)

    def at(self, parameters: Floats) -> Point:
        net = self.net
        reward: Floats = self.problem.transposed @ parameters
        value = np.zeros(net.n_nodes)
        shares = np.empty(len(net.tails))
        for stage in reversed(net.stages):
            arrival = (reward[stage.targets] + value[stage.targets])[stage.heads]
            value[stage.sources] = np.logaddexp.reduceat(arrival, stage.starts)
            shares[stage.edges] = np.exp(arrival - value[stage.tails])
        visits = push(net, shares)
        cost = float(value[0]) - dot(parameters, self.wanted)
        return Point(parameters, shares * visits[net.tails], cost, self.problem.mixture(visits))

    def error(self) -> float:
        """Return the largest relative error of q, averaged over the outcomes of a node."""
        relative = np.abs(self.wanted - self.point.attained) / self.wanted
        return float((self.problem.transposed @ relative).max())

    def improve(self) -> bool:
        """Take a damped Newton step that lowers the cost; return whether there was one."""
        net, flow, missing = self.net, self.point.flow, self.wanted - self.point.attained
        step, flow_change = self._newton_step(flow, np.zeros(len(flow)), missing)
        tail_change = sum_at(net.heads, flow_change, net.n_nodes) / inflow(net, flow)
        log_change = float(np.abs(flow_change / flow - tail_change[net.tails]).max())
        length = min(1.0, MAX_CHANGE / max(1e-9, log_change))
        return self.descend(step, -dot(missing, step), length)

    def _newton_step(self, flow: Floats, pushed: Floats, missing: Floats) -> tuple[Floats, Floats]:
        """Return the step of lambda and the change of the flow that it causes."""
        problem, net = self.problem, self.net
        scale = 1.0 / (REGULARISATION * self.wanted)
        # The entropy of a node's choice is that of its edges minus its own.
        diagonal = -1.0 / inflow(net, flow)
        diagonal[net.layers[-2] :] = 0.0
        system = BlockTridiagonal(problem, flow, scale, diagonal)
        residual = problem.transposed @ (scale * missing)
        change = system.solve(pushed, np.zeros(net.n_nodes), residual).flow
        moved = problem.mixture(sum_at(net.heads, change, net.n_nodes))
        return scale * (missing - moved), change
