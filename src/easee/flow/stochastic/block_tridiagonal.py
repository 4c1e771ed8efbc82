"""The linear systems of the stochastic problem: block tridiagonal, with a dense block per layer.

The unknowns are changes of the potentials U and L of every node (see `easee.flow.interior_point`),
now with a full matrix H between the visits p of a layer:

    dF = c - K (dU(tail) - dL(head)),    in - out = leak,    dL = dU - H dp + r,    dp = in.

Seen from a layer, everything ahead is a matrix R of resistances, dU = u - R dp. Each R follows from
that of the next layer, from the last layer to the root; a pass back then gives the unknowns.
Conductances of used edges grow without limit, and digits are lost where they cancel; a few rounds
of iterative refinement restore them.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from easee._utils.arrays import Floats, sum_at
from easee.flow.interior_point import NewtonStep
from easee.flow.linalg.dense import apply, gram, inverse_root
from easee.flow.network import Stage, inflow
from easee.flow.stochastic.time_expanded import TimeExpanded

REFINEMENTS = 4
PRECISION = 1e-14  # relative size of the last correction


class _Block(NamedTuple):
    """The factors of one layer."""

    root: Floats  # the inverse Cholesky factor of Z = H + R + 1/K
    mixing: Floats  # root times C; C (n, tails) is the share of a node's conductance of each tail
    resistance: Floats  # R of the layer before


class BlockTridiagonal:
    """The linear system for given conductances K (m,) and curvatures.

    H is A' diag(scale) A + diag(diagonal), with a positive `scale` (r,) and a `diagonal` (n,) such
    that H + 1/K is positive semidefinite, with K summed over the edges into each node. The network
    of the problem must have ends only in the last layer.

    Raises:
        SingularError: a block is not positive definite to working precision.
    """

    def __init__(
        self, problem: TimeExpanded, conductance: Floats, scale: Floats, diagonal: Floats
    ) -> None:
        self.problem, self.net = problem, problem.network
        self.conductance, self.scale, self.diagonal = conductance, scale, diagonal
        self.node_resistance = 1.0 / inflow(self.net, conductance)
        self.blocks: list[_Block] = []
        ahead: Floats | None = None
        for t, stage in reversed(list(enumerate(self.net.stages, start=1))):
            matrix = problem.curvature(t, scale)
            matrix[np.diag_indices_from(matrix)] += (diagonal + self.node_resistance)[stage.targets]
            if ahead is not None:
                matrix += ahead
            self.blocks.append(self._block(stage, matrix))
            ahead = self.blocks[-1].resistance
        self.blocks.reverse()

    def _block(self, stage: Stage, matrix: Floats) -> _Block:
        before, first = int(stage.sources[0]), stage.targets.start
        shape = (stage.n_targets, first - before)
        ends = (stage.heads, stage.tails - before)
        links = csr_array((self.conductance[stage.edges], ends), shape=shape)
        shares = csr_array(links.multiply(self.node_resistance[stage.targets, None]))
        root = inverse_root(matrix)
        mixing = (shares.T @ root.T).T
        # The diagonal is the sum of the others, which avoids a difference of large numbers.
        joined = (links.T @ shares).toarray()
        np.fill_diagonal(joined, 0.0)
        admittance = gram(mixing) - joined
        admittance[np.diag_indices_from(admittance)] += joined.sum(axis=1)
        return _Block(root, mixing, gram(inverse_root(admittance)))

    def solve(self, pushed: Floats, leak: Floats, residual: Floats) -> NewtonStep:
        """Return the step for c = `pushed` (m,), `leak` (n,) and r = `residual` (n,)."""
        net = self.net
        step = self._solve(pushed, leak, residual)
        for _ in range(REFINEMENTS):
            into = sum_at(net.heads, step.flow, net.n_nodes)
            leak_error = leak - into + sum_at(net.tails, step.flow, net.n_nodes)
            leak_error[net.layers[-2] :] = 0.0
            error = residual - step.arrival + step.value - self._curvature_times(into)
            error[0] = 0.0
            correction = self._solve(np.zeros(len(pushed)), leak_error, error)
            step = NewtonStep(*map(np.add, step, correction))
            if np.abs(correction.flow).max() <= PRECISION * np.abs(step.flow).max():
                break
        return step

    def _curvature_times(self, change: Floats) -> Floats:
        """Return H times a change of the visits."""
        states = self.scale * self.problem.mixture(change)
        return np.asarray(self.problem.transposed @ states + self.diagonal * change)

    def _solve(self, pushed: Floats, leak: Floats, residual: Floats) -> NewtonStep:
        net, n = self.net, self.net.n_nodes
        into = self.node_resistance * sum_at(net.heads, pushed, n)
        returned = self.conductance * into[net.heads]
        value, visits = self._sweep(leak + sum_at(net.tails, pushed - returned, n), residual + into)
        carried = sum_at(net.heads, self.conductance * value[net.tails], n)
        arrival = self.node_resistance * (visits + carried) - into
        arrival[0] = 0.0
        drop = value[net.tails] - arrival[net.heads]
        return NewtonStep(pushed - self.conductance * drop, drop, value, arrival)

    def _sweep(self, supply: Floats, residual: Floats) -> tuple[Floats, Floats]:
        """Eliminate from the last layer to the root and substitute back; return dU and dp."""
        net = self.net
        layers = [slice(0, 1), *(stage.targets for stage in net.stages)]
        value, mass, visits = np.zeros(net.n_nodes), np.zeros(net.n_nodes), np.zeros(net.n_nodes)
        blocks = list(zip(self.blocks, layers[:-1], layers[1:], strict=True))
        for block, here, ahead in reversed(blocks):
            mass[ahead] = apply(block.root, value[ahead] + residual[ahead])
            pushed = supply[here] + apply(block.mixing.T, mass[ahead])
            value[here] = apply(block.resistance, pushed)
        for t, (block, here, ahead) in enumerate(blocks, start=1):
            remaining = mass[ahead] - apply(block.mixing, value[here])
            visits[ahead] = apply(block.root.T, remaining)
            if t < len(blocks):
                value[ahead] -= apply(self.blocks[t].resistance, visits[ahead])
        return value, visits
