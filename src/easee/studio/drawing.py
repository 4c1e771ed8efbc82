"""The drawing of a graph as data: where its nodes are, what flows, and groups of large layers.

Layers go from left to right. Within a layer, nodes are ordered by where their flow comes from, so
that few edges cross. If there are more nodes than can be drawn, the nodes of large layers are drawn
in groups of neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import Floats, Ids, sum_at
from easee.graph import LocalGraph
from easee.policy import ExplorationPolicy
from easee.studio.limits import DRAWN_NODES
from easee.viz.symbols import word_label

MOST_GROUPS = 120  # of a layer
MOST_MERGED = 6  # words that are shown beside a node

Json = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Layout:
    """Where nodes are drawn.

    Attributes:
        places: float (n,), the place of each node within its layer, from 0 at the top to 1.
        marks: int (n,), the number of the mark that shows each node, alone or in a group.
    """

    places: Floats
    marks: Ids


def lay_out(policy: ExplorationPolicy, most: int = DRAWN_NODES) -> Layout:
    """Place the nodes of a policy's graph, with at most about `most` marks."""
    places = _places(policy)
    return Layout(places, _groups(policy.graph, places, most))


def draw(policy: ExplorationPolicy, layout: Layout) -> Json:
    """Return marks (nodes or groups of them) and edges of a drawing.

    >>> import easee
    >>> policy = easee.compile(easee.inverse("left", "right"), depth=2)
    >>> drawing = draw(policy, lay_out(policy))
    >>> [mark["label"] for mark in drawing["marks"]], drawing["edges"][0]
    (['Λ', '←', '→', '←←', '→→'], [0, 1, 0.5])
    """
    graph, groups = policy.graph, layout.marks
    marks = _marks(policy, layout.places, groups)
    grouped = [depth for depth, size in enumerate(_widths(graph, groups)) if size is not None]
    return {
        "marks": marks,
        "edges": _edges(policy, groups),
        "pruned": _pruned(graph, groups) if not grouped else [],
        "grouped_layers": grouped,
        "largest_visits": max((mark["relative"] for mark in marks), default=1.0),
    }


def _places(policy: ExplorationPolicy) -> Floats:
    """Return the place of each node within its layer, from 0 to 1, float (n,)."""
    graph = policy.graph
    tails, actions = np.nonzero(graph.forward)
    heads = graph.successors[tails, actions]
    flow = policy.visits[tails] * policy.probabilities[tails, actions] + 1e-12
    bounds = np.searchsorted(graph.depths, np.arange(graph.depth + 2))
    places = np.full(len(graph), 0.5)
    total = np.bincount(heads, flow, len(graph))
    for start, stop in zip(bounds[1:-1], bounds[2:], strict=True):
        if start == stop:
            break
        incoming = (heads >= start) & (heads < stop)
        pull = np.bincount(
            heads[incoming] - start, (flow * places[tails])[incoming], stop - start
        ) / np.maximum(total[start:stop], 1e-300)
        order = np.argsort(np.round(pull, 9), kind="stable")
        places[start + order] = (np.arange(stop - start) + 0.5) / (stop - start)
    return places


def _groups(graph: LocalGraph, places: Floats, most: int) -> Ids:
    """Return the mark of each node, int (n,), numbered by layer and from top to bottom."""
    width = _largest_width(np.array(graph.layer_sizes), most)
    groups = np.zeros(len(graph), np.int32)
    count = 0
    for depth, size in enumerate(graph.layer_sizes):
        drawn = min(size, width)
        layer = np.flatnonzero(graph.depths == depth)
        if size <= width:
            groups[layer] = count + np.arange(size)
        else:
            groups[layer] = count + np.minimum(places[layer] * drawn, drawn - 1).astype(np.int32)
        count += drawn
    return groups


def _largest_width(sizes: NDArray[np.int64], most: int) -> int:
    """Return the most marks that a layer may have; smaller layers are drawn node by node.

    >>> _largest_width(np.array([1, 10, 100, 1000]), 300), _largest_width(np.full(9, 50), 300)
    (120, 33)
    """
    if sizes.sum() <= most:
        return int(sizes.max())
    low, high = 1, MOST_GROUPS
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if np.minimum(sizes, middle).sum() <= most else (low, middle - 1)
    return low


def _widths(graph: LocalGraph, groups: Ids) -> list[int | None]:
    """Return the number of marks of each layer that is drawn in groups, None for the others."""
    widths: list[int | None] = []
    for depth, size in enumerate(graph.layer_sizes):
        marks = np.unique(groups[graph.depths == depth]).size
        widths.append(marks if marks < size else None)
    return widths


def _marks(policy: ExplorationPolicy, places: Floats, groups: Ids) -> list[Json]:
    graph = policy.graph
    relative = policy.visits * np.array(graph.layer_sizes)[graph.depths]
    merged = MergedWords(graph)
    order = np.lexsort((places, groups))
    starts = np.flatnonzero(np.r_[True, np.diff(groups[order]) > 0])
    marks = []
    for nodes in np.split(order, starts[1:]):
        first = int(nodes[0])
        common = {
            "layer": int(graph.depths[first]),
            "place": float(places[nodes].mean()),
            "visits": float(policy.visits[nodes].sum()),
            "relative": float(relative[nodes].mean()),
            "word": list(graph.word(first)),
            "label": word_label(graph.actions, graph.word(first)),
        }
        single = nodes.size == 1
        own = _of_node(policy, first, merged) if single else _of_group(relative[nodes])
        marks.append({**common, **own})
    return marks


def _of_node(policy: ExplorationPolicy, node: int, merged: MergedWords) -> Json:
    return {
        "node": node,
        "end": bool(policy.graph.ends[node]),
        "probabilities": np.round(policy.probabilities[node], 6).tolist(),
        "merged": merged.labels(node, MOST_MERGED),
        "merged_count": merged.count(node),
    }


def _of_group(relative: Floats) -> Json:
    return {
        "count": int(relative.size),
        "least": float(relative.min()),
        "most": float(relative.max()),
    }


def _edges(policy: ExplorationPolicy, groups: Ids) -> list[list[float]]:
    """Return tail, head and flow of each edge between marks; the flow is a share of all visits."""
    graph = policy.graph
    tails, actions = np.nonzero(graph.forward)
    flow = policy.visits[tails] * policy.probabilities[tails, actions]
    heads = graph.successors[tails, actions]
    return [
        [int(tail), int(head), float(share)]
        for (tail, head), share in zip(*_summed(groups[tails], groups[heads], flow), strict=True)
    ]


def _pruned(graph: LocalGraph, groups: Ids) -> list[list[int]]:
    """Return tail and head of the edges that lead to nothing new."""
    tails, actions = np.nonzero(~graph.forward & (graph.successors >= 0))
    pairs = np.stack([groups[tails], groups[graph.successors[tails, actions]]], axis=1)
    found: list[list[int]] = np.unique(pairs, axis=0).tolist()
    return found


class MergedWords:
    """The words that the prior merges into each node: a node's word and one more action.

    The shortest word of the node itself does not count. All other words of a node follow from
    these.

    >>> from easee import inverse, unroll
    >>> MergedWords(unroll(inverse("left", "right"), depth=2)).labels(0, 5)
    ['←→', '→←']
    """

    def __init__(self, graph: LocalGraph) -> None:
        self.graph = graph
        edges = np.flatnonzero(graph.successors.ravel() >= 0)
        heads = graph.successors.ravel()[edges]
        order = np.argsort(heads, kind="stable")
        self._edges = edges[order]
        self._starts = np.searchsorted(heads[order], np.arange(len(graph) + 1))

    def count(self, node: int) -> int:
        """Return the number of words."""
        return int(self._starts[node + 1] - self._starts[node]) - (node > 0)

    def labels(self, node: int, most: int) -> list[str]:
        """Return the first of the words, as labels."""
        graph, own = self.graph, self.graph.word(node)
        first, last = self._starts[node], self._starts[node + 1]
        found = []
        for edge in self._edges[first : min(last, first + most + 1)].tolist():
            tail, action = divmod(edge, len(graph.actions))
            word = (*graph.word(tail), graph.actions[action])
            if word != own:
                found.append(word_label(graph.actions, word))
        return found[:most]


def _summed(tails: Ids, heads: Ids, flow: Floats) -> tuple[Ids, Floats]:
    """Return the different pairs of tail and head, int (edges, 2), and their flow together."""
    pairs, inverse = np.unique(np.stack([tails, heads], axis=1), axis=0, return_inverse=True)
    return pairs, sum_at(inverse.ravel(), flow, len(pairs))
