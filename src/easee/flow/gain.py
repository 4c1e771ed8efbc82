"""What a policy gains over uniform actions, in the terms of the objective.

In d steps, uniform actions visit nodes again and again, while a policy visits one node of each
layer. Both are measured by the entropy of the node at a random one of the steps 0 to d. For a
policy this is log(d + 1) + J d / (d + 1), because its layers are disjoint (with dead ends, where
mass waits, it is a little less). So there is a J for uniform actions, too. The exponential of an
entropy is a number of nodes: visits are spread as if over that many equally likely ones.
"""

from dataclasses import dataclass

import numpy as np

from easee._utils.arrays import Floats, sum_at
from easee.flow.objective import holders
from easee.graph import LocalGraph

MAX_WORK = 500_000_000  # edges that uniform actions may pass until the comparison is left out


@dataclass(frozen=True)
class Gain:
    """Nodes that a policy and uniform actions spread their visits over.

    Attributes:
        policy: the number of equally likely nodes with the policy's entropy.
        uniform: the same for uniform actions.
        uniform_entropy: what J would be for uniform actions.
    """

    policy: float
    uniform: float
    uniform_entropy: float

    @property
    def times(self) -> float:
        """How many times as many nodes the policy spreads over."""
        return self.policy / self.uniform


def gain(graph: LocalGraph, visits: Floats) -> Gain | None:
    """Compare a policy's visits (n,) with uniform actions.

    None if the graph is too large, or finite within its depth: there the policy waits at the ends.

    >>> from easee.priors.equivalences import Equivalences
    >>> from easee.graph import unroll
    >>> graph = unroll(Equivalences(["a", "b"], ["a b ~", "b a ~"]), depth=2)
    >>> found = gain(graph, np.array([1.0, 0.5, 0.5, 0.5, 0.5]))
    >>> round(found.policy, 3), round(found.uniform, 3)  # half of the walks return to the start
    (4.762, 3.888)
    """
    if graph.depths[-1] < graph.depth or graph.depth * graph.successors.size > MAX_WORK:
        return None
    nodes, _ = holders(graph)
    waiting = np.bincount(nodes, minlength=len(graph)).astype(float)
    policy, uniform = (_entropy(v / v.sum()) for v in (waiting * visits, _uniform_visits(graph)))
    d = graph.depth
    objective = (uniform - float(np.log(d + 1))) * (d + 1) / d
    return Gain(float(np.exp(policy)), float(np.exp(uniform)), objective)


def _uniform_visits(graph: LocalGraph) -> Floats:
    """Return the expected number of visits of each node at the steps 0 to d, float (n,)."""
    n, k = graph.successors.shape
    ends = np.searchsorted(graph.depths, np.arange(graph.depth), side="right")
    here = np.zeros(n)
    here[0] = 1.0
    total = here.copy()
    for end in ends.tolist():  # after t steps, the depth is at most t
        heads = graph.successors[:end].ravel()
        here = sum_at(heads, np.repeat(here[:end] / k, k), n)
        total += here
    return total


def _entropy(p: Floats) -> float:
    return -float(np.sum(p * np.log(np.where(p > 0, p, 1.0))))
