"""The step-by-step construction of a graph, as in the paper's Figure 2."""

from dataclasses import dataclass, replace

import numpy as np

from easee.graph import LocalGraph


@dataclass(frozen=True)
class Step:
    """One step of the construction, which adds or prunes an edge.

    Attributes:
        tail: the node where the edge begins.
        action: index of its action.
        head: the node where it ends.
        new: whether the step also adds the head.
        pruned: whether the edge is pruned instead of added.
    """

    tail: int
    action: int
    head: int
    new: bool
    pruned: bool = False


def construction(graph: LocalGraph) -> list[Step]:
    """Return the steps that build a graph: all edges in breadth-first order, then the pruning.

    >>> from easee.priors.equivalences import Equivalences
    >>> from easee.graph import unroll
    >>> graph = unroll(Equivalences(["a1", "a2"], ["a1 a1 ~", "a2 a1 ~ a1 a2"]), depth=2)
    >>> len(construction(graph)), construction(graph)[-1]
    (7, Step(tail=1, action=0, head=0, new=False, pruned=True))
    """
    added = {0}
    steps = []
    for tail in np.flatnonzero(graph.depths < graph.depth).tolist():
        for action, head in enumerate(graph.successors[tail].tolist()):
            steps.append(Step(tail, action, head, new=head not in added))
            added.add(head)
    pruned = [step for step in steps if not graph.forward[step.tail, step.action]]
    return steps + [replace(step, new=False, pruned=True) for step in pruned]
