"""The construction of a graph step by step, as in the paper's Figure 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from easee.graph import LocalGraph


@dataclass(frozen=True)
class Step:
    """One step: an edge is added, or taken away again.

    Attributes:
        tail: the node that is expanded.
        action: index of the action.
        head: where it leads.
        new: whether the head is a new node.
        pruned: whether the step takes the edge away instead.
    """

    tail: int
    action: int
    head: int
    new: bool
    pruned: bool = False


def construction(graph: LocalGraph) -> list[Step]:
    """Return the steps that build a graph: every edge in turn, then the pruning.

    >>> from easee.priors.equivalences import Equivalences
    >>> from easee.graph import unroll
    >>> graph = unroll(Equivalences(["a1", "a2"], ["a1 a1 ~", "a2 a1 ~ a1 a2"]), depth=2)
    >>> len(construction(graph)), construction(graph)[-1]
    (7, Step(tail=1, action=0, head=0, new=False, pruned=True))
    """
    known = {0}
    steps = []
    inner = np.flatnonzero(graph.depths < graph.depth).tolist()
    edges = [(v, a) for v in inner for a in range(len(graph.actions))]
    for tail, action in edges:
        head = int(graph.successors[tail, action])
        steps.append(Step(tail, action, head, head not in known))
        known.add(head)
    pruned = [(v, a) for v, a in edges if not graph.forward[v, a]]
    steps += [Step(v, a, int(graph.successors[v, a]), False, True) for v, a in pruned]
    return steps
