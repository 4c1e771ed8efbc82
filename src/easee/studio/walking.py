"""Walks on the graph of a prior: what there is at a node, and what a real explorer does."""

from typing import Any

from easee.errors import ArgumentError
from easee.explorers.easee import Explorer
from easee.studio.compilation import compiled
from easee.studio.drawing import MergedWords
from easee.viz.symbols import word_label

MOST_MERGED = 24
MOST_NAMES = 10  # longer words are shown by their symbols alone

Json = dict[str, Any]


def describe_node(text: str, depth: int, word: list[str]) -> Json:
    """Return what there is at the node that a word leads to."""
    found = compiled(text, depth)
    policy, graph = found.policy, found.policy.graph
    if not isinstance(word, list) or not all(isinstance(name, str) for name in word):
        raise ArgumentError(f"expected a word as a list of action names, found {word!r}")
    node = graph.node(word)
    if node < 0:
        raise ArgumentError("this word leaves the graph: an explorer starts again at its end")
    path = [graph.node(word[:length]) for length in range(len(word) + 1)]
    merged = MergedWords(graph)
    layer = int(graph.depths[node])
    return {
        "names": " ".join(graph.word(node)) if layer <= MOST_NAMES else "",
        "label": word_label(graph.actions, graph.word(node)),
        "path": found.layout.marks[path].tolist(),
        "layer": layer,
        "visits": float(policy.visits[node]),
        "relative": float(policy.visits[node] * graph.layer_sizes[layer]),
        "merged": merged.labels(node, MOST_MERGED),
        "merged_count": merged.count(node),
        "end": "depth" if layer == graph.depth else "dead end" if graph.ends[node] else None,
        "actions": [_describe_action(policy, node, action) for action in range(len(graph.actions))],
    }


def _describe_action(policy: Any, node: int, action: int) -> Json:
    graph = policy.graph
    head = int(graph.successors[node, action])
    kind = "unknown"
    if head >= 0:
        change = int(graph.depths[head] - graph.depths[node])
        kind = "deeper" if change > 0 else "back" if change < 0 else "same layer"
        kind = "nothing" if head == node else kind
    return {
        "name": graph.actions[action],
        "probability": float(policy.probabilities[node, action]),
        "kind": kind,
        "leads_to": word_label(graph.actions, graph.word(head)) if head >= 0 else None,
    }


def sample_walk(text: str, depth: int, seed: int) -> Json:
    """Return the actions of a real explorer from the empty word to the end of the graph."""
    explorer = Explorer(compiled(text, depth).policy, seed=seed, floor=0.0)
    graph = explorer.policy.graph
    word: list[str] = []
    node = 0
    while not graph.ends[node]:
        action = explorer.sample_one()
        explorer.step_one(action, False)
        word.append(graph.actions[action])
        node = graph.successors.item(node, action)
    return {"word": word}
