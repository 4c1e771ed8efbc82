"""The optimum of the stochastic problem, as a list of candidates, the best first.

The interior-point method gives q to nearly all digits and tells which edges are used. Over these
edges alone the most random flow with that q is taken. Edges that carry nothing at the optimum and
yet would cost nothing (a sure thing beside a coin flip may be such a case) leave q with half the
digits; then the method runs again on the used edges. Where Newton's method fails, the flow of the
interior-point method stands. Which candidate is good enough is for the gap to say.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import Floats, sum_at
from easee.flow.deterministic.interior_point import Iterate
from easee.flow.network import push
from easee.flow.stochastic.interior_point import LEAST_MU, mixed_path
from easee.flow.stochastic.max_entropy_flow import most_random_mixture
from easee.flow.stochastic.time_expanded import Problem

ROUNDS = 3  # of leaving out edges
HALF_WAY = 1e-9  # the mu from which on edges show whether they are used
BY_FAR = 1e5  # edges that go to zero with the root of mu may have a hundredth of this
BETTER = 0.5  # a gap that is not smaller by this factor is no progress
PATIENCE = 6  # iterations without progress


def candidates(problem: Problem) -> Iterator[Floats]:
    """Yield how each node splits its mass, float (m,) over the forward edges of the graph."""
    solved: list[tuple[Problem, Floats]] = []
    part: Problem | None = problem
    while part is not None and len(solved) < ROUNDS:
        flow, used = _follow(part)
        solved.append((part, flow))
        part = part.restrict(used, flow)
        if part is not None:
            yield from _most_random(part, _flow(part, flow[part.kept]))
    for tried, flow in reversed(solved):
        yield from _most_random(tried, flow)
        yield tried.lift(_shares(tried, flow))


def _follow(problem: Problem) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the best flow that the interior-point method finds, and which edges it uses."""
    best, smallest, waited = np.zeros(0), np.inf, 0
    for point in mixed_path(problem):
        flow = _flow(problem, point.flow)
        gap = problem.gap(push(problem.network, _shares(problem, flow)))
        waited = 0 if gap < BETTER * smallest else waited + 1
        if not best.size or gap < smallest:
            best, smallest, last = flow, gap, point
        if waited and (point.mu <= 2 * LEAST_MU or waited >= PATIENCE):
            break
        if point.mu > HALF_WAY:
            before = point
    return best, _used(before, last)


def _used(before: Iterate, after: Iterate) -> NDArray[np.bool_]:
    """Bool (m,): the edges that carry flow at the optimum, as far as can be seen from here.

    An edge's flow stays, or it goes to zero with mu, or with the root of mu if its slack goes too.
    A small flow may take a while until it stays; then its slack is still smaller by far.
    """
    if after.mu >= before.mu:  # the best is where it began: nothing is known
        return np.ones(len(after.flow), bool)
    used: NDArray[np.bool_] = after.flow > before.flow * (after.mu / before.mu) ** 0.25
    return used | (after.flow > BY_FAR * after.slack * after.reference)


def _most_random(problem: Problem, flow: Floats) -> Iterator[Floats]:
    shares = most_random_mixture(problem, flow)
    if shares is not None:
        yield problem.lift(shares)


def _shares(problem: Problem, flow: Floats) -> Floats:
    net = problem.network
    shares: Floats = flow / sum_at(net.tails, flow, net.n_nodes)[net.tails]
    return shares


def _flow(problem: Problem, flow: Floats) -> Floats:
    """Return the flow of the same shares that conserves mass to the last digit."""
    shares = _shares(problem, flow)
    conserved: Floats = shares * push(problem.network, shares)[problem.network.tails]
    return conserved
