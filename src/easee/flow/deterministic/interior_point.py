"""The interior-point method for the entropy of nodes: it identifies the edges that carry flow.

Here dJ/dp(v) = -omega(v) (log p(v) + 1) depends on the node's own visits alone. The linear system
is an electrical network: U(tail) and L(head) are joined by the conductance F / S, and U(v) and L(v)
by p / omega. Eliminating all potentials but U leaves one sparse positive definite system over the
inner nodes in each iteration.
"""

from collections.abc import Iterator

import numpy as np

from easee._utils.arrays import Floats, Ids, Mask, sum_at
from easee.flow.interior_point import Iterate, NewtonStep, System, central_path
from easee.flow.linalg.laplacian import StarMesh
from easee.flow.network import best_values
from easee.flow.objective import NodeEntropy


def node_central_path(objective: NodeEntropy) -> Iterator[Iterate]:
    """Yield points of the central path, ever closer to the optimum."""
    layout = _Layout(objective)
    slack = _slack_scale(objective)
    return central_path(objective, slack, lambda point: _NodeSystem(objective, point, layout))


def _slack_scale(objective: NodeEntropy) -> Floats:
    """Return the scale of the slack of each edge, (m,): the share of weight ahead of its tail.

    With it, layers of little weight count as much as others in the barrier. If only some nodes of a
    layer count, the slack does not depend on the weight, and the scale is 1.
    """
    net = objective.network
    if not objective.all_count:
        return np.ones(len(net.tails))
    ahead = best_values(net, objective.omega)
    return (ahead / float(ahead[0]))[net.tails]


def tight_edges(objective: NodeEntropy, previous: Iterate, point: Iterate) -> Mask:
    """Return the edges that probably carry flow at the optimum, bool (m,).

    Between two points of the path, either the flow of an edge stays and its slack goes to zero, or
    the other way round. Their rates show which long before their sizes do (Tapia indicators).
    """
    net = objective.network
    flow_rate, slack_rate = point.flow / previous.flow, point.slack / previous.slack
    certainty = flow_rate / (flow_rate + slack_rate)
    tight: Mask = certainty > 0.5
    tight |= certainty >= _largest(net.tails, certainty, net.n_nodes)[net.tails]
    # A node that counts is visited, so it keeps its most certain incoming edge, whose tail is
    # then visited too, and so on up to the root.
    visited = objective.counts.copy()
    for stage in reversed(net.stages):
        sure = certainty[stage.edges]
        surest = _largest(stage.heads, sure, stage.n_targets)
        needed = visited[stage.targets][stage.heads] & (sure >= surest[stage.heads])
        tight[stage.edges] |= needed
        visited[stage.tails[needed]] = True
    return tight


def _largest(index: Ids, values: Floats, size: int) -> Floats:
    """Return the largest value of each index, float (size,); 0 for an index without values."""
    largest = np.zeros(size)
    np.maximum.at(largest, index, values)
    return largest


class _Layout:
    """The rows of the potentials in the linear system, and the shape of its network.

    Unknown are U of the inner nodes (rows `value`) and L of the nodes that count (rows `arrival`);
    elsewhere L equals U. U of an end is 0, the ground, which is row `size`.
    """

    def __init__(self, objective: NodeEntropy) -> None:
        net, counts = objective.network, objective.counts
        n_inner = int(net.inner.sum())
        self.size = n_inner + int(counts.sum())
        self.value = np.where(net.inner, np.cumsum(net.inner) - 1, self.size)
        self.arrival = np.where(counts, n_inner + np.cumsum(counts) - 1, self.value)
        self.counting = np.flatnonzero(counts)
        self.network = StarMesh(
            self.size,
            np.concatenate([self.value[net.tails], self.value[self.counting]]),
            np.concatenate([self.arrival[net.heads], self.arrival[self.counting]]),
            np.arange(self.size) >= n_inner,
        )


class _NodeSystem(System):
    def __init__(self, objective: NodeEntropy, point: Iterate, layout: _Layout) -> None:
        super().__init__(objective, point)
        self.layout = layout
        counting = layout.counting
        node_conductance = point.visits[counting] / objective.omega[counting]
        self.node_push = node_conductance * self.node_residual[counting]
        self.potentials = layout.network.factorise(
            np.concatenate([self.conductance, node_conductance])
        )

    def solve(self, pushed: Floats) -> NewtonStep:
        net, layout, size = self.net, self.layout, self.layout.size
        # Mass that would accumulate at each potential if none of them changed.
        excess = sum_at(layout.value[net.tails], pushed, size + 1)
        excess -= sum_at(layout.arrival[net.heads], pushed, size + 1)
        excess += sum_at(layout.arrival[layout.counting], self.node_push, size + 1)
        excess -= sum_at(layout.value[layout.counting], self.node_push, size + 1)
        excess += sum_at(layout.value, self.leak, size + 1)
        potential = np.append(self.potentials(excess[:size]), 0.0)
        value, arrival = potential[layout.value], potential[layout.arrival]
        arrival[0] = 0.0
        drop = value[net.tails] - arrival[net.heads]
        return NewtonStep(pushed - self.conductance * drop, drop, value, arrival)
