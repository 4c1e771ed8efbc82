"""The step-by-step construction of a graph, as in the paper's Figure 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from easee.graph import LocalGraph


@dataclass(frozen=True)
class Step:
    """One step of the construction: an edge is added or pruned.

    Attributes:
        tail: node the edge starts from.
        action: index of the action.
        head: node the edge leads to.
        new: whether the step adds the head.
        pruned: whether the step removes the edge.
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
    return steps + [Step(s.tail, s.action, s.head, new=False, pruned=True) for s in pruned]
