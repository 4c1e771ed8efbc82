"""A direct implementation of the paper's Algorithm 1: the baseline for building graphs.

Every node stores the prefixes of relation sides that lead to it, each with the node where it
started. Expanding a node by an action checks whether one of these becomes a complete side of a
relation; if the other side can be traced from the same start, both lead to the same node. Words
that are not merged at that moment never are, so equivalent words may stay separate.
"""

from __future__ import annotations

from easee import Equivalences


def build(omega: Equivalences, depth: int) -> list[list[int]]:
    """Return the successors of every node; an empty list at full depth."""
    _, pairs = omega.indexed
    sides: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for u, v in pairs:
        sides.setdefault(u, []).append(v)
        sides.setdefault(v, []).append(u)
    prefixes = {side[:n] for side in sides for n in range(len(side))}
    actions = range(len(omega.actions))
    successors: list[list[int]] = [[]]
    partial: list[set[tuple[int, tuple[int, ...]]]] = [{(0, ())}]
    layer = [0]
    for _ in range(depth):
        new_layer = []
        for node in layer:
            for action in actions:
                head = _known_head(node, action, sides, successors, partial)
                if head is None:
                    head = len(successors)
                    successors.append([])
                    partial.append({(head, ())})
                    new_layer.append(head)
                successors[node].append(head)
                for origin, word in list(partial[node]):
                    if (*word, action) in prefixes:
                        partial[head].add((origin, (*word, action)))
        layer = new_layer
    return successors


def _known_head(
    node: int,
    action: int,
    sides: dict[tuple[int, ...], list[tuple[int, ...]]],
    successors: list[list[int]],
    partial: list[set[tuple[int, tuple[int, ...]]]],
) -> int | None:
    for origin, word in partial[node]:
        for other in sides.get((*word, action), ()):
            head = _trace(origin, other, successors)
            if head is not None:
                return head
    return None


def _trace(node: int, word: tuple[int, ...], successors: list[list[int]]) -> int | None:
    for action in word:
        if action >= len(successors[node]):
            return None
        node = successors[node][action]
    return node
