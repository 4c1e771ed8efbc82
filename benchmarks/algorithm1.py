"""The paper's Algorithm 1, plainly: the yardstick for building graphs.

Every node stores the partial words of the prior that lead to it, each with the node where it
began. Expanding a node by an action looks whether one of these becomes a whole side of a relation;
if the other side can be traced from the same beginning, the two meet. What it does not see at that
moment it never merges, so it may keep equivalent words apart.
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
