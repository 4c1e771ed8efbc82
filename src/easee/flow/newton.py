"""Newton's method for the flows of largest path entropy.

Several flows have the optimal visits (or state distributions). The one of largest path entropy has
an exponential form with a parameter for each constraint. Finding these parameters generalises the
problem of scaling a matrix to given row and column sums, hence *scaling*.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import Floats, Mask, sum_at
from easee.flow.network import Network

MAX_STEPS = 40
PRECISION = 1e-13  # relative error to aim for; rounding may stop the method a little before
ACCEPTABLE = 1e-10  # largest relative error of a solution
PATIENCE = 12  # steps after which an error above HOPELESS means that there is no such flow
HOPELESS = 1e-3
FADING_STEPS = 4  # consecutive steps in which a flow must shrink by e before its edge is left out
VANISHED = 1e-3  # flows that shrank by this factor went to zero


class Scaling(Protocol):
    """A flow whose parameters are adjusted until it satisfies some constraints."""

    def error(self) -> float:
        """Return the largest relative error of a constraint."""

    def improve(self) -> bool:
        """Take a Newton step; return whether it was possible."""


class EdgeScaling(Scaling, Protocol):
    """A scaling over some edges (e,) of a network."""

    edges: NDArray[np.intp]

    @property
    def flow(self) -> Floats:
        """Float (e,), the flow of each of these edges."""


class ScalingResult(NamedTuple):
    """The solution of a scaling problem, if there is one."""

    shares: Floats | None  # (m,), of their tails' mass that edges carry
    vanished: Mask  # (m,), edges whose flow went to zero if there is no solution


def newton_errors(
    scaling: Scaling, max_steps: int = MAX_STEPS, patience: int | None = None
) -> Iterator[float]:
    """Improve a scaling step by step; yield its error at the start and after each step.

    Iteration ends at full precision, when no further step is possible, when rounding errors
    prevent progress (without yielding the last step, which did not help), and when the error is
    still large after `patience` steps.
    """
    error = scaling.error()
    yield error
    for step in range(max_steps):
        hopeless = patience is not None and step >= patience and error > HOPELESS
        if error <= PRECISION or hopeless or not scaling.improve():
            return
        previous, error = error, scaling.error()
        if previous <= 2 * error and previous < ACCEPTABLE:
            return
        yield error


def scaled_shares(
    net: Network, allowed: Mask, start: Callable[[NDArray[np.intp]], EdgeScaling]
) -> ScalingResult:
    """Solve a scaling problem over the allowed edges (m,); `start` returns its initial scaling."""
    scaling = start(np.flatnonzero(allowed))
    initial = flow = scaling.flow
    fading = _FadingEdges(flow)
    for error in newton_errors(scaling, patience=PATIENCE):
        flow = scaling.flow
        faded = fading.update(flow, error)
        if faded is not None:
            remaining = allowed.copy()
            remaining[scaling.edges[faded]] = False
            if _same_ends(net, allowed, remaining):
                result = scaled_shares(net, remaining, start)
                if result.shares is not None:
                    return result
    vanished = np.zeros(len(net.tails), bool)
    if error > ACCEPTABLE:
        vanished[scaling.edges] = flow < VANISHED * initial
        return ScalingResult(None, vanished)
    tails = net.tails[scaling.edges]
    shares = np.zeros(len(net.tails))
    shares[scaling.edges] = flow / sum_at(tails, flow, net.n_nodes)[tails]
    return ScalingResult(shares, vanished)


def _same_ends(net: Network, allowed: Mask, remaining: Mask) -> bool:
    """Return whether every node with allowed edges in (or out) has remaining ones in (or out)."""
    return all(
        np.bincount(ends[remaining], minlength=net.n_nodes)[ends[allowed]].all()
        for ends in (net.heads, net.tails)
    )


class _FadingEdges:
    """Detects edges whose flow is zero at the optimum.

    Newton's method shrinks their flow by only a factor e per step. Without them it converges
    quadratically.
    """

    def __init__(self, flow: Floats) -> None:
        self.flow, self.error = flow, np.inf
        self.steps = np.zeros(len(flow), int)

    def update(self, flow: Floats, error: float) -> Mask | None:
        """Compare with the previous flow; return the edges that have just been found to fade."""
        shrinks_by_e = np.abs(flow / self.flow - np.exp(-1.0)) < 0.05
        self.steps = np.where(shrinks_by_e, self.steps + 1, 0)
        progress = error / self.error
        self.flow, self.error = flow, error
        if self.steps.max(initial=0) == FADING_STEPS and 0.3 < progress < 0.45:
            return self.steps >= FADING_STEPS
        return None


@dataclass(frozen=True, eq=False)
class Point:
    """Parameters of a scaling, and what follows from them."""

    parameters: Floats
    flow: Floats  # (e,)
    cost: float
    attained: Floats  # the quantities that the constraints prescribe


class ConvexScaling(ABC):
    """A scaling whose optimal parameters minimise a convex cost."""

    point: Point

    @abstractmethod
    def at(self, parameters: Floats) -> Point:
        """Return the point of given parameters."""

    def descend(self, step: Floats, slope: float, length: float) -> bool:
        """Halve `length` until that multiple of a step lowers the cost; return whether one does.

        `slope` is the derivative of the cost along the step.
        """
        cost = self.point.cost
        for _ in range(30):
            candidate = self.at(self.point.parameters + length * step)
            # With a slope below 1e-9, rounding errors exceed the differences of the cost.
            target = cost + 0.1 * length * slope + 1e-13 * abs(cost)
            if candidate.cost <= target or -slope < 1e-9:
                self.point = candidate
                return True
            length /= 2
        return False
