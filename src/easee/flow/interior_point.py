"""A primal-dual interior-point method for concave objectives of a flow.

The unknowns are the flow F of every edge, and two potentials for every node: U, the value of
continuing from it, and L, the value of arriving at it. At the optimum

    L(v) = U(v) + dJ/dp(v),    S = U(tail) - L(head) >= 0,    F S = 0.

The method keeps the flow feasible and follows the central path F S = mu F0 S0 as mu goes to 0. F0
is the initial flow: with that weight in the barrier, nodes visited once in a million paths count as
much as those near the root. S0 is the scale of the slack. Each iteration is Mehrotra's predictor
and corrector with a single factorisation of a linear system, which depends on the objective.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from easee._utils.arrays import Floats, dot, sum_at
from easee.flow.linalg.laplacian import SingularError
from easee.flow.network import Network, best_values, inflow, shares_of
from easee.flow.objective import Objective

MAX_ITERATIONS = 200
TO_BOUNDARY = 0.995  # share of the longest feasible step to take


@dataclass(frozen=True, eq=False)
class Iterate:
    """A point near the central path."""

    flow: Floats  # (m,), feasible and positive
    slack: Floats  # S (m,), positive
    value: Floats  # U (n,), zero at the ends
    arrival: Floats  # L (n,)
    visits: Floats  # (n,), the visits of the flow
    reference: Floats  # F0 S0 (m,)

    @property
    def mu(self) -> float:
        """Position on the path: F S is about mu F0 S0."""
        return dot(self.flow, self.slack) / float(self.reference.sum())


class NewtonStep(NamedTuple):
    """Changes of the flow (m,), the slack (m,), U (n,) and L (n,)."""

    flow: Floats
    slack: Floats
    value: Floats
    arrival: Floats


class System(ABC):
    """The optimality conditions, linearised at a point."""

    def __init__(self, objective: Objective, point: Iterate) -> None:
        self.net, self.point = objective.network, point
        tails, heads = self.net.tails, self.net.heads
        self.conductance = point.flow / point.slack
        self.node_residual = point.value + objective.gradient(point.visits) - point.arrival
        self.edge_residual = point.value[tails] - point.arrival[heads] - point.slack
        # Rounding errors in the conservation of mass, which the next step corrects.
        outflow = sum_at(tails, point.flow, self.net.n_nodes)
        self.leak = np.where(self.net.inner, outflow - point.visits, 0.0)

    def newton_step(self, complementarity: Floats) -> NewtonStep:
        """Return the step that changes F S by `complementarity` (m,) and corrects the residuals."""
        pushed = complementarity / self.point.slack - self.conductance * self.edge_residual
        step = self.solve(pushed)
        return step._replace(slack=step.slack + self.edge_residual)

    @abstractmethod
    def solve(self, pushed: Floats) -> NewtonStep:
        """Return the step with dU(tail) - dL(head) as change of the slack.

        If the potentials did not change, the flow would change by `pushed` (m,).
        """

    def max_length(self, step: NewtonStep) -> float:
        """Return the largest multiple of a step, at most 1, that the objective allows."""
        return 1.0


def central_path(
    objective: Objective,
    slack: Floats,
    linearise: Callable[[Iterate], System],
    least_mu: float = 0.0,
) -> Iterator[Iterate]:
    """Yield points of the central path, ever closer to the optimum, until rounding prevents it.

    `slack` is S0 (m,), `linearise` returns the linear system at a point, and `least_mu` is the
    smallest mu to aim for.
    """
    flow = initial_flow(objective.network)
    visits = inflow(objective.network, flow)
    reward = objective.gradient(visits)
    value = best_values(objective.network, reward)
    point = Iterate(flow, slack, value, value + reward, visits, flow * slack)
    for _ in range(MAX_ITERATIONS):
        yield point
        try:
            with np.errstate(all="raise", under="ignore"):
                point = _advance(linearise(point), least_mu)
        except (SingularError, FloatingPointError):
            return


def _advance(system: System, least_mu: float) -> Iterate:
    point = system.point
    complementarity = point.flow * point.slack
    predictor = system.newton_step(-complementarity)
    length = _longest(point, predictor)
    ahead = dot(point.flow + length * predictor.flow, point.slack + length * predictor.slack)
    centring = (ahead / float(complementarity.sum())) ** 3
    target = max(centring * point.mu, least_mu) * point.reference
    step = system.newton_step(target - complementarity - predictor.flow * predictor.slack)
    length = min(system.max_length(step), TO_BOUNDARY * _longest(point, step))
    flow = point.flow + length * step.flow
    return replace(
        point,
        flow=flow,
        slack=point.slack + length * step.slack,
        value=point.value + length * step.value,
        arrival=point.arrival + length * step.arrival,
        visits=inflow(system.net, flow),
    )


def _longest(point: Iterate, step: NewtonStep) -> float:
    """Return the multiple of a step at which a flow or a slack reaches zero, or a little over 1."""
    steepest = max(float(np.max(-step.flow / point.flow)), float(np.max(-step.slack / point.slack)))
    return 1.0 / max(steepest, TO_BOUNDARY)


def initial_flow(net: Network) -> Floats:
    """Return a positive flow (m,) with enough mass everywhere.

    It is the mean of one flow for every layer: uniform over the layer and the ends before it, back
    to the root by equal splits, and on from there by equal splits. Any one of these alone would
    underflow along the narrow paths of a deep graph.
    """
    arriving = _uniform_mass(net)
    leaving = arriving.copy()
    back = net.sizes[net.tails] * net.copies
    back /= sum_at(net.heads, back, net.n_nodes)[net.heads]
    flow = np.empty(len(net.tails))
    for stage in reversed(net.stages):
        flow[stage.edges] = arriving[stage.targets][stage.heads] * back[stage.edges]
        arriving[stage.sources] += np.add.reduceat(flow[stage.edges], stage.starts)
    onward = shares_of(net, net.copies)
    for stage in net.stages:
        mass = leaving[stage.tails] * onward[stage.edges]
        leaving[stage.targets] += sum_at(stage.heads, mass, stage.n_targets)
        flow[stage.edges] += mass
    return flow


def _uniform_mass(net: Network) -> Floats:
    """Return the mean over the layers of uniform mass on a layer and on the ends before it."""
    last = len(net.layers) - 2
    depths = np.repeat(np.arange(last + 1), np.diff(net.layers))
    own = sum_at(depths, net.sizes, last + 1)
    ends = np.cumsum(sum_at(depths, np.where(net.inner, 0.0, net.sizes), last + 1))
    each = np.concatenate([[0.0], 1.0 / (last * (own[1:] + ends[:-1]))])
    later = np.cumsum(each[::-1])[::-1]  # ends also hold mass in all later layers
    return net.sizes * np.where(net.inner, each[depths], later[depths])
