"""Candidates for the optimum of the stochastic problem, the best ones first.

The interior-point method finds q to nearly all digits and shows which edges are used. The first
candidate is the flow of largest path entropy with that q over these edges. Unused edges that would
cost nothing leave q with half the digits; then the method is repeated on the used edges. The flows
of the interior-point method are candidates too. The caller chooses by the duality gap.
"""

from collections.abc import Iterator

import numpy as np

from easee._utils.arrays import Floats, Mask
from easee.flow.interior_point import Iterate
from easee.flow.network import push, shares_of
from easee.flow.stochastic.interior_point import LEAST_MU, state_central_path
from easee.flow.stochastic.max_entropy_flow import max_entropy_mixture
from easee.flow.stochastic.time_expanded import TimeExpanded

ROUNDS = 3  # of restricting the problem to the used edges
COMPARED_MU = 1e-9  # the flow at about this mu is compared with the last one
FAR_LARGER = 1e5  # ratio of flow and scaled slack of a used edge; 100 times less if both go to 0
PROGRESS = 0.5  # largest ratio of successive gaps, or values of mu, that counts as progress
PATIENCE = 6  # iterations without progress


def candidates(problem: TimeExpanded) -> Iterator[Floats]:
    """Yield shares of the forward edges of the graph, float (m,), of the mass of their tails."""
    solved: list[tuple[TimeExpanded, Floats]] = []
    part: TimeExpanded | None = problem
    while part is not None and len(solved) < ROUNDS:
        flow, used = _interior_solution(part)
        solved.append((part, flow))
        part = part.restrict(used, flow)
        if part is not None:
            yield from _max_entropy(part, _conserving(part, flow[part.parent_edges]))
    for part, flow in reversed(solved):
        yield from _max_entropy(part, flow)
        yield part.lift(shares_of(part.network, flow))


def _interior_solution(problem: TimeExpanded) -> tuple[Floats, Mask]:
    """Return the best flow (m,) of the interior-point method, and the edges that it uses."""
    smallest, mu, without_progress = np.inf, np.inf, 0
    best_flow: Floats | None = None
    for point in state_central_path(problem):
        flow = _conserving(problem, point.flow)
        gap = problem.gap(push(problem.network, shares_of(problem.network, flow)))
        # The gap may rise for a while as mu falls: then nodes of little mass are not settled yet.
        progress = gap < PROGRESS * smallest or point.mu < PROGRESS * mu
        without_progress, mu = 0 if progress else without_progress + 1, min(mu, point.mu)
        if best_flow is None or gap < smallest:
            best_flow, smallest, best_point = flow, gap, point
        converged = point.mu <= 2 * LEAST_MU
        if without_progress and (converged or without_progress >= PATIENCE):
            break
        if point.mu > COMPARED_MU:
            previous = point
    assert best_flow is not None
    return best_flow, _used(previous, best_point)


def _used(previous: Iterate, point: Iterate) -> Mask:
    """Return the edges that probably carry flow at the optimum, bool (m,).

    The flow of an unused edge goes to zero with mu, or with the root of mu if its slack does too.
    A small flow may take long to become constant, but its slack is far smaller by then.
    """
    if point.mu >= previous.mu:  # the best point came before: there is nothing to compare it with
        return np.ones(len(point.flow), bool)
    used: Mask = point.flow > previous.flow * (point.mu / previous.mu) ** 0.25
    return used | (point.flow > FAR_LARGER * point.slack * point.reference)


def _max_entropy(problem: TimeExpanded, flow: Floats) -> Iterator[Floats]:
    shares = max_entropy_mixture(problem, flow)
    if shares is not None:
        yield problem.lift(shares)


def _conserving(problem: TimeExpanded, flow: Floats) -> Floats:
    """Return the flow with the same shares that conserves mass to the last digit."""
    shares = shares_of(problem.network, flow)
    return shares * push(problem.network, shares)[problem.network.tails]
