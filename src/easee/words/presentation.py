"""Are two words equivalent? Completion where it ends, bounded closure where it does not."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from easee.errors import GraphTooLargeError
from easee.words.closure import Closure, close
from easee.words.completion import Letters, Pair, Rules, complete

MOST_NODES = 1_000_000  # a question about two words is not worth more memory than this


class Presentation(NamedTuple):
    """Letters 0, 1, ..., and the pairs of words over them that are equal."""

    letters: int
    pairs: tuple[Pair, ...]


@lru_cache(maxsize=256)
def rules_of(presentation: Presentation) -> Rules:
    """Return the completed (or, failing that, unfinished) rewriting system of a presentation."""
    return complete(presentation.letters, presentation.pairs)


def equivalent(presentation: Presentation, u: Letters, v: Letters) -> bool | None:
    """Tell whether two words are equal: True, False, or None when it stays unknown.

    >>> equivalent(Presentation(2, (((0, 1), (1, 0)),)), (0, 0, 1), (1, 0, 0))
    True
    """
    rules = rules_of(presentation)
    # Normal forms are shorter words for the same thing, whether or not they are unique.
    u, v = rules.reduce(u), rules.reduce(v)
    if u == v:
        return True
    if rules.confluent:
        return False
    try:
        closure = _closure(presentation, max(len(u), len(v)))
    except GraphTooLargeError:
        return None
    same = _trace(closure.successors, u) == _trace(closure.successors, v)
    return same or (False if closure.exact else None)


def known_pairs(presentation: Presentation) -> tuple[Pair, ...]:
    """Return the pairs and what completion derived from them before it gave up, if no longer.

    A short consequence saves closure the long way round that derives it.
    """
    reach = max((len(word) for pair in presentation.pairs for word in pair), default=0)
    derived = (pair for pair in rules_of(presentation).pairs if len(pair[0]) <= reach)
    return tuple(dict.fromkeys([*presentation.pairs, *derived]))


@lru_cache(maxsize=16)
def _closure(presentation: Presentation, depth: int) -> Closure:
    pairs = known_pairs(presentation)
    return close(presentation.letters, pairs, depth, max_nodes=MOST_NODES)


def _trace(successors: np.ndarray, word: Letters) -> int:
    node = 0
    for letter in word:
        node = int(successors[node, letter])
    return node
