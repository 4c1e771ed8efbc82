"""The stochastic case: on a slippery grid, visit the cells evenly instead of the words.

python examples/slippery.py

A move goes astray with probability `slip`. Compared are the ordinary policy, which visits the nodes
of the graph evenly, and the one that knows where each node may end up, by the entropy of where the
agent is.
"""

import numpy as np
from scipy.special import entr

import easee
from easee.envs.slippery import slippery_outcomes


def entropy(policy, outcomes):
    """Return the mean over steps of the entropy of where the agent is."""
    graph = policy.graph
    steps = range(1, graph.depth + 1)
    layers = [np.where(graph.depths == t, policy.visits, 0.0) @ outcomes for t in steps]
    return np.mean([entr(cells).sum() for cells in layers])


for depth in (4, 6, 10):
    graph = easee.unroll(easee.priors.get("cardinal-grid"), depth)
    ordinary = easee.balance(graph)
    for slip in (0.0, 0.1, 0.3):
        outcomes = slippery_outcomes(graph, slip)
        policy = easee.balance(graph, outcomes=outcomes)
        print(
            f"depth {depth}, slip {slip}: ordinary {entropy(ordinary, outcomes):.4f}, "
            f"with outcomes {policy.entropy:.4f} (gap {policy.gap:.0e})"
        )
