"""The most random flow with given mixtures of outcomes.

The optimal q is unique, the flow is not: nodes may make up for each other. Of all flows with this q
the one of largest path entropy has the form

    share of an edge = exp(L(head) - U(tail)),    L = U + A' lambda,    U = log of the sum of exp L,

with one number lambda for every state at every step. They minimise U(root) - lambda q, which is
convex: Newton's method. It starts from a positive flow with this q, so there is a minimum. The gap
depends on q alone: which of these flows is taken makes no difference to it.
"""

from __future__ import annotations

import numpy as np

from easee._utils.arrays import Floats, dot, sum_at
from easee.flow.deterministic.interior_point import arriving
from easee.flow.linalg.laplacian import SingularError
from easee.flow.network import push
from easee.flow.stochastic.block_tridiagonal import Change, Ladder
from easee.flow.stochastic.time_expanded import Problem

NEWTON_STEPS = 60
PRECISION = 1e-13  # relative error of q, as a node sees it
ACCEPTABLE = 1e-10
# Outcomes of different nodes often depend on each other, and then many lambdas do the same: this
# share of the diagonal keeps the steps short among them. It costs a digit or two in each step.
REGULAR = 1e-8
LONGEST = 4.0  # exp is far from linear: no share may change by more than e^4 in a step


def most_random_mixture(problem: Problem, flow: Floats) -> Floats | None:
    """Return the shares (m,) of the flow of largest path entropy with the same q.

    Args:
        problem: the stochastic problem.
        flow: float (m,), positive.

    Returns:
        None if Newton's method fails.
    """
    try:
        with np.errstate(all="raise", under="ignore"):
            return _most_random(problem, flow)
    except (SingularError, FloatingPointError):
        return None


def _most_random(problem: Problem, flow: Floats) -> Floats | None:
    scaling = _MixedScaling(problem, flow)
    error, best = scaling.error(), scaling.shares
    for _ in range(NEWTON_STEPS):
        if error <= PRECISION or not scaling.improve():
            break
        before, error = error, scaling.error()
        if before <= 2 * error and before < ACCEPTABLE:
            error = before  # rounding has the last word
            break
        best = scaling.shares
    return best if error <= ACCEPTABLE else None


class _MixedScaling:
    def __init__(self, problem: Problem, flow: Floats) -> None:
        self.problem, self.net = problem, problem.network
        visits = arriving(self.net, flow)
        self.wanted = problem.spread(visits)
        # The numbers that fit the flow best, by least squares.
        shares = flow / visits[self.net.tails]
        nothing = np.zeros(len(self.wanted))
        self.place(self._step(flow, visits, -flow * np.log(shares), nothing)[0])

    def place(self, numbers: Floats) -> None:
        """Take new numbers lambda and compute the flow."""
        net = self.net
        self.numbers = numbers
        arrival: Floats = self.problem.transposed @ numbers
        value = np.zeros(net.n_nodes)
        self.shares = np.empty(len(net.tails))
        for stage in reversed(net.walk):
            worth = (arrival[stage.ahead] + value[stage.ahead])[stage.heads]
            value[stage.nodes] = np.logaddexp.reduceat(worth, stage.begins)
            self.shares[stage.edges] = np.exp(worth - value[net.tails[stage.edges]])
        self.visits = push(net, self.shares)
        self.flow = self.shares * self.visits[net.tails]
        self.missing = self.wanted - self.problem.spread(self.visits)
        self.cost = float(value[0]) - dot(numbers, self.wanted)

    def error(self) -> float:
        """Return the largest relative error of q, averaged over what a node may lead to."""
        seen: Floats = self.problem.transposed @ (np.abs(self.missing) / self.wanted)
        return float(seen.max())

    def improve(self) -> bool:
        """Take a damped Newton step down the cost; tell whether that was possible."""
        still = np.zeros(len(self.flow))
        step, change = self._step(self.flow, self.visits, still, self.missing)
        slope = -dot(self.missing, step)
        arrived = sum_at(self.net.heads, change.flow, self.net.n_nodes) / self.visits
        by_share = change.flow / self.flow - arrived[self.net.tails]
        length = min(1.0, LONGEST / max(1e-9, float(np.abs(by_share).max())))
        numbers, cost = self.numbers, self.cost
        for _ in range(30):
            self.place(numbers + length * step)
            # Below 1e-9 the cost itself has no digits left to compare.
            if self.cost <= cost + 0.1 * length * slope + 1e-13 * abs(cost) or -slope < 1e-9:
                return True
            length /= 2
        return False

    def _step(
        self, flow: Floats, visits: Floats, pushed: Floats, missing: Floats
    ) -> tuple[Floats, Change]:
        """Return the Newton step of lambda and what it does to the flow."""
        problem, net = self.problem, self.net
        scale = 1.0 / (REGULAR * self.wanted)
        # The entropy of a node's choice is that of its edges less its own.
        bend = -1.0 / visits
        bend[net.layers[-2] :] = 0.0
        ladder = Ladder(problem, flow, scale, bend)
        change = ladder.solve(pushed, np.zeros(net.n_nodes), problem.transposed @ (scale * missing))
        moved = problem.spread(sum_at(net.heads, change.flow, net.n_nodes))
        return scale * (missing - moved), change
