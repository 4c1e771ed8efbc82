"""The stochastic case: visit the cells of a slippery grid evenly, not the nodes of the graph.

python examples/slippery.py

A move goes in a random direction with probability `slip`. The ordinary policy visits nodes evenly;
the other policy uses the distribution over cells of each node. Prints the entropy of the agent's
cell for both.
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.special import entr

import easee
from easee.envs.slippery import slippery_outcomes


def entropy(policy: easee.ExplorationPolicy, outcomes: csr_array) -> float:
    """Return the entropy of the agent's cell, averaged over steps."""
    graph = policy.graph
    steps = range(1, graph.depth + 1)
    layers = [np.where(graph.depths == t, policy.visits, 0.0) @ outcomes for t in steps]
    return float(np.mean([entr(cells).sum() for cells in layers]))


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
