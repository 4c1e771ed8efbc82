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
from functools import cached_property
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
    orders = 24 if pairs <= 40 else 2
    return Budget(rules=40 + 4 * pairs, overlaps=300 + 60 * pairs, orders=orders)


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

    @cached_property
    def _system(self) -> _System:
        rank = _ranks(self.order)
        system = _System()
        for left, right in self.pairs:
            system.put(_encode(left, rank), _encode(right, rank))
        return system

    def reduce(self, word: Letters) -> Letters:
        """Return the normal form of a word.

        >>> complete(2, [((0, 1), (1, 0)), ((0, 0), ())]).reduce((1, 0, 1, 0))
        (1, 1)
        """
        return _decode(self._system.reduce(_encode(word, _ranks(self.order))), self.order)


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
    system = _System()
    heap = [(len(u) + len(v), _encode(u, rank), _encode(v, rank)) for u, v in pairs]
    heapq.heapify(heap)
    seen = 0
    while heap and len(system.rules) <= budget.rules and seen < budget.overlaps:
        seen += 1
        if seen % 64 == 0 and time.monotonic() > deadline:
            break
        _, u, v = heapq.heappop(heap)
        u, v = system.reduce(u), system.reduce(v)
        if u != v:
            for left, right in system.add(u, v):
                heapq.heappush(heap, (len(left) + len(right), left, right))
    decoded = (
        (_decode(left, order), _decode(system.reduce(right), order))
        for left, right in system.rules.items()
    )
    return Rules(order, tuple(sorted(decoded, key=lambda p: (len(p[0]), p))), not heap)


class _System:
    """Rules over strings, found by what a word ends in."""

    def __init__(self) -> None:
        self.rules: dict[str, str] = {}
        self.lengths: list[int] = []  # of left-hand sides, shortest first
        self.by_length: dict[int, set[str]] = {}
        self.by_first: dict[str, set[str]] = {}
        self.by_last: dict[str, set[str]] = {}

    def put(self, left: str, right: str) -> None:
        """Add a rule and nothing else."""
        self.rules[left] = right
        self.by_length.setdefault(len(left), set()).add(left)
        self.by_first.setdefault(left[0], set()).add(left)
        self.by_last.setdefault(left[-1], set()).add(left)
        self.lengths = sorted(n for n, lefts in self.by_length.items() if lefts)

    def drop(self, left: str) -> str:
        """Remove a rule and return its right-hand side."""
        self.by_length[len(left)].discard(left)
        self.by_first[left[0]].discard(left)
        self.by_last[left[-1]].discard(left)
        return self.rules.pop(left)

    def reduce(self, word: str) -> str:
        """Rewrite until no left-hand side is left: read letters, look up what the word ends in."""
        done: list[str] = []
        todo = list(reversed(word))
        while todo:
            done.append(todo.pop())
            end = "".join(done[-self.lengths[-1] :]) if self.lengths else ""
            for n in self.lengths:
                if n > len(done):
                    break
                right = self.rules.get(end[-n:])
                if right is not None:
                    del done[-n:]
                    todo.extend(reversed(right))
                    break
        return "".join(done)

    def add(self, u: str, v: str) -> Iterator[tuple[str, str]]:
        """Add a relation as a rule; yield the relations that now need a look."""
        left, right = sorted((u, v), key=lambda w: (len(w), w), reverse=True)
        longer = [n for n in self.lengths if n > len(left)]
        for old in [other for n in longer for other in self.by_length[n] if left in other]:
            yield old, self.drop(old)
        self.put(left, right)
        for other in sorted(self._near(left)):
            yield from _critical_pairs(left, right, other, self.rules[other])
            if other != left:
                yield from _critical_pairs(other, self.rules[other], left, right)

    def _near(self, left: str) -> set[str]:
        """Return the left-hand sides that begin or end with a letter of this one."""
        found: set[str] = set()
        for letter in set(left):
            found |= self.by_first.get(letter, set())
            found |= self.by_last.get(letter, set())
        return found


def _critical_pairs(left: str, right: str, other: str, image: str) -> Iterator[tuple[str, str]]:
    """Overlap a suffix of `left` with a prefix of `other`; yield both ways to rewrite the whole."""
    # Proper overlaps only: the system is reduced, so neither contains the other.
    for n in range(1, min(len(left), len(other))):
        if left.endswith(other[:n]):
            yield right + other[n:], left[:-n] + image


def _ranks(order: Letters) -> dict[int, str]:
    return {letter: chr(_FIRST + i) for i, letter in enumerate(order)}


def _encode(word: Letters, rank: dict[int, str]) -> str:
    return "".join(map(rank.__getitem__, word))


def _decode(word: str, order: Letters) -> Letters:
    return tuple(order[ord(c) - _FIRST] for c in word)
