"""Newton steps where the nodes of a layer depend on each other: a ladder of dense blocks.

The unknowns are, as in `interior_point`, the worth U of what lies ahead of every node and the worth
L of arriving there, now with a full matrix H between the visits p of a layer:

    dF = c - K (dU(tail) - dL(head)),    in - out = leak,    dL = dU - H dp + r,    dp = in.

Seen from a layer, all that lies ahead is a matrix of resistances, dU = u - R dp. From the last
layer to the root each one follows from the next, and on the way back the unknowns do. Conductances
of used edges grow without limit, and where they cancel few digits are left: a few rounds of
refinement bring the others back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from easee._utils.arrays import Floats, sum_at
from easee.flow.deterministic.interior_point import arriving
from easee.flow.linalg.dense import apply, gram, inverse_root
from easee.flow.network import Stage
from easee.flow.stochastic.time_expanded import Problem

REFINEMENTS = 4
PRECISION = 1e-14  # of a refined step


@dataclass(frozen=True, eq=False)
class Change:
    """A Newton step.

    Attributes:
        flow: float (m,), dF.
        drop: float (m,), dU(tail) - dL(head).
        value: float (n,), dU.
        arrival: float (n,), dL.
    """

    flow: Floats
    drop: Floats
    value: Floats
    arrival: Floats


@dataclass(frozen=True, eq=False)
class _Rung:
    """One layer: Z^(-1/2) of Z = H + R + 1/K, that times C, and R of the layer before.

    C (n, tails) says how much of what arrives at a node comes along which edge.
    """

    root: Floats
    mixing: Floats
    resistance: Floats


class Ladder:
    """The linear system for given conductances and curvatures.

    Args:
        problem: whose network's layers are complete: only the last one has ends.
        conductance: float (m,), K.
        scale: float (r,), positive, and
        bend: float (n,): H is A' diag(scale) A + diag(bend). It is positive semidefinite with 1/K
            added, K summed over the edges into each node.

    Raises:
        SingularError: a block is not positive definite to working precision.
    """

    def __init__(self, problem: Problem, conductance: Floats, scale: Floats, bend: Floats) -> None:
        self.problem, self.net = problem, problem.network
        self.conductance, self.scale, self.bend = conductance, scale, bend
        self.ease = 1.0 / arriving(self.net, conductance)
        self.rungs: list[_Rung] = []
        ahead: Floats | None = None
        for t, stage in reversed(list(enumerate(self.net.walk, start=1))):
            matrix = problem.curvature(t, scale)
            matrix[np.diag_indices_from(matrix)] += (bend + self.ease)[stage.ahead]
            if ahead is not None:
                matrix += ahead
            self.rungs.append(self._rung(stage, matrix))
            ahead = self.rungs[-1].resistance
        self.rungs.reverse()

    def _rung(self, stage: Stage, matrix: Floats) -> _Rung:
        before, first = int(stage.nodes[0]), stage.ahead.start
        shape = (stage.ahead.stop - first, first - before)
        ends = (stage.heads, self.net.tails[stage.edges] - before)
        links = csr_array((self.conductance[stage.edges], ends), shape=shape)
        shares = csr_array(links.multiply(self.ease[stage.ahead, None]))
        root = inverse_root(matrix)
        mixing = (shares.T @ root.T).T
        # Tails of one head are joined; summing the others avoids a difference of large numbers.
        joined = (links.T @ shares).toarray()
        np.fill_diagonal(joined, 0.0)
        admittance = gram(mixing) - joined
        admittance[np.diag_indices_from(admittance)] += joined.sum(axis=1)
        half = inverse_root(admittance)
        return _Rung(root, mixing, gram(half))

    def solve(self, pushed: Floats, leak: Floats, residual: Floats) -> Change:
        """Return the step for c = `pushed` (m,), `leak` (n,) and r = `residual` (n,)."""
        net = self.net
        change = self._solve(pushed, leak, residual)
        for _ in range(REFINEMENTS):
            into = sum_at(net.heads, change.flow, net.n_nodes)
            lost = leak - into + sum_at(net.tails, change.flow, net.n_nodes)
            lost[net.layers[-2] :] = 0.0
            off = residual - change.arrival + change.value - self._curve(into)
            off[0] = 0.0
            more = self._solve(np.zeros(len(pushed)), lost, off)
            change = Change(
                change.flow + more.flow,
                change.drop + more.drop,
                change.value + more.value,
                change.arrival + more.arrival,
            )
            if np.abs(more.flow).max() <= PRECISION * np.abs(change.flow).max():
                break
        return change

    def _curve(self, change: Floats) -> Floats:
        """Multiply by H."""
        states = self.scale * (self.problem.matrix @ change)
        bent: Floats = self.problem.transposed @ states + self.bend * change
        return bent

    def _solve(self, pushed: Floats, leak: Floats, residual: Floats) -> Change:
        net, n = self.net, self.net.n_nodes
        into = self.ease * sum_at(net.heads, pushed, n)
        returned = self.conductance * into[net.heads]
        value, visits = self._sweep(leak + sum_at(net.tails, pushed - returned, n), residual + into)
        carried = sum_at(net.heads, self.conductance * value[net.tails], n)
        arrival = self.ease * (visits + carried) - into
        arrival[0] = 0.0
        drop = value[net.tails] - arrival[net.heads]
        return Change(pushed - self.conductance * drop, drop, value, arrival)

    def _sweep(self, supply: Floats, residual: Floats) -> tuple[Floats, Floats]:
        """Go up the ladder and down again; return dU and dp."""
        net = self.net
        layers = [slice(0, 1), *(stage.ahead for stage in net.walk)]
        value, mass, visits = np.zeros(net.n_nodes), np.zeros(net.n_nodes), np.zeros(net.n_nodes)
        climb = list(zip(self.rungs, layers[:-1], layers[1:], strict=True))
        for rung, here, ahead in reversed(climb):
            mass[ahead] = apply(rung.root, value[ahead] + residual[ahead])
            pushed = supply[here] + apply(rung.mixing.T, mass[ahead])
            value[here] = apply(rung.resistance, pushed)
        for t, (rung, here, ahead) in enumerate(climb, start=1):
            left = mass[ahead] - apply(rung.mixing, value[here])
            visits[ahead] = apply(rung.root.T, left)
            if t < len(climb):
                value[ahead] -= apply(self.rungs[t].resistance, visits[ahead])
        return value, visits
