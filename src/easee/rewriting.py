"""Knuth-Bendix completion under shortlex: exact normal forms, where it ends.

Every relation becomes a rule from its larger to its smaller word (longer is larger, then the
order of letters decides). Where two left-hand sides overlap, the two ways to rewrite the overlap
give a new relation. When none is left the system is *confluent*: two words are equivalent if and
only if they reduce to the same word. Completion need not end, so it has a budget, and whether it
ends depends on the order of letters, so several are tried.

Words are tuples of letters 0, 1, ..., as everywhere in the algebra of this package.
"""

from __future__ import annotations

import heapq
import itertools
import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

Letters: TypeAlias = tuple[int, ...]
Pair: TypeAlias = tuple[Letters, Letters]

_FIRST = 0x100  # letters become characters from here on; str gives fast search and comparison


@dataclass(frozen=True)
class Budget:
    """How long completion may go on, for each order of letters that is tried.

    Attributes:
        rules: most rules at a time.
        overlaps: most relations looked at.
        seconds: wall-clock time for all orders. The other two make the outcome the same on every
            machine; this one is a safety net far above what they allow.
        orders: how many orders of the letters are tried.
    """

    rules: int
    overlaps: int
    seconds: float = 20.0
    orders: int = 24


def default_budget(pairs: int) -> Budget:
    """Return a budget that a presentation with so many pairs rarely needs when completion ends.

    All the priors of the paper need at most 16 rules, a hexagonal lattice 24.
    """
    return Budget(rules=40 + 4 * pairs, overlaps=400 + 50 * pairs)


@dataclass(frozen=True)
class Rules:
    """A reduced rewriting system.

    Attributes:
        order: the letters, smallest first.
        pairs: `(left, right)` with left larger than right; no left-hand side contains another.
        confluent: whether normal forms decide equivalence. If not, words with the same normal
            form are equivalent all the same, but the converse may fail.
    """

    order: Letters
    pairs: tuple[Pair, ...]
    confluent: bool

    def reduce(self, word: Letters) -> Letters:
        """Return the normal form of a word.

        >>> complete(2, [((0, 1), (1, 0)), ((0, 0), ())]).reduce((1, 0, 1, 0))
        (1, 1)
        """
        rank = _ranks(self.order)
        rules = {_encode(u, rank): _encode(v, rank) for u, v in self.pairs}
        return _decode(_reduce(_encode(word, rank), rules), self.order)


def complete(letters: int, pairs: Iterable[Pair], budget: Budget | None = None) -> Rules:
    """Complete a presentation, trying several orders of the letters.

    Args:
        letters: how many letters there are.
        pairs: the relations.
        budget: when to give up an order.

    Returns:
        The first confluent system found, else the unfinished one of the natural order.

    >>> complete(2, [((0, 1), ()), ((1, 0), ())]).pairs
    (((0, 1), ()), ((1, 0), ()))
    """
    relations = list(pairs)
    budget = budget or default_budget(len(relations))
    first: Rules | None = None
    deadline = time.monotonic() + budget.seconds
    for order in itertools.islice(_orders(letters), budget.orders):
        rules = _complete(order, relations, budget, deadline)
        if rules.confluent:
            return rules
        first = first or rules
        if time.monotonic() > deadline:
            break
    assert first is not None
    return first


def _orders(letters: int) -> Iterator[Letters]:
    """Natural, reversed, then all the others (few letters) or random ones with a fixed seed."""
    natural = tuple(range(letters))
    yield natural
    if letters > 1:
        yield natural[::-1]
    if letters <= 4:
        yield from (p for p in itertools.permutations(natural) if p not in (natural, natural[::-1]))
        return
    rng = random.Random(0)
    while True:
        yield tuple(rng.sample(natural, letters))


def _complete(order: Letters, pairs: list[Pair], budget: Budget, deadline: float) -> Rules:
    rank = _ranks(order)
    rules: dict[str, str] = {}
    heap = [(len(u) + len(v), _encode(u, rank), _encode(v, rank)) for u, v in pairs]
    heapq.heapify(heap)
    seen = 0
    while heap and len(rules) <= budget.rules and seen < budget.overlaps + len(pairs):
        seen += 1
        if seen % 64 == 0 and time.monotonic() > deadline:
            break
        _, u, v = heapq.heappop(heap)
        u, v = _reduce(u, rules), _reduce(v, rules)
        if u != v:
            for left, right in _add_rule(rules, u, v):
                heapq.heappush(heap, (len(left) + len(right), left, right))
    decoded = ((_decode(u, order), _decode(v, order)) for u, v in rules.items())
    return Rules(order, tuple(sorted(decoded, key=lambda p: (len(p[0]), p))), not heap)


def _add_rule(rules: dict[str, str], u: str, v: str) -> Iterator[tuple[str, str]]:
    """Add a rule, keep the system reduced, and yield the relations that now need a look."""
    left, right = sorted((u, v), key=lambda w: (len(w), w), reverse=True)
    for old in [other for other in rules if left in other]:
        yield old, rules.pop(old)
    rules[left] = right
    for other, image in rules.items():
        if left in image:
            rules[other] = _reduce(image, rules)
    for other, image in rules.items():
        yield from _critical_pairs(left, right, other, image)
        if other != left:
            yield from _critical_pairs(other, image, left, right)


def _critical_pairs(left: str, right: str, other: str, image: str) -> Iterator[tuple[str, str]]:
    """Overlap a suffix of `left` with a prefix of `other`; yield both ways to rewrite the whole."""
    # Proper overlaps only: the system is reduced, so neither contains the other.
    for n in range(1, min(len(left), len(other))):
        if left.endswith(other[:n]):
            yield right + other[n:], left[:-n] + image


def _reduce(word: str, rules: dict[str, str]) -> str:
    changed = True
    while changed:
        changed = False
        for left, right in rules.items():
            if left in word:
                word = word.replace(left, right)
                changed = True
    return word


def _ranks(order: Letters) -> dict[int, str]:
    return {letter: chr(_FIRST + i) for i, letter in enumerate(order)}


def _encode(word: Letters, rank: dict[int, str]) -> str:
    return "".join(map(rank.__getitem__, word))


def _decode(word: str, order: Letters) -> Letters:
    return tuple(order[ord(c) - _FIRST] for c in word)
