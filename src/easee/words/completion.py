"""Knuth-Bendix completion under shortlex: exact normal forms if it terminates.

Every relation becomes a rule from its larger to its smaller word (longer words are larger, ties
are broken by the order of the letters). Where two left-hand sides overlap, the two ways to rewrite
the overlap give a new relation. When none is left the system is *confluent*: two words are
equivalent if and only if they reduce to the same word. Completion need not terminate, so it has a
budget. Whether it terminates depends on the order of the letters, so several orders are tried.

Words are tuples of letters 0, 1, ..., as everywhere in `easee.words`.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

Letters: TypeAlias = tuple[int, ...]
Pair: TypeAlias = tuple[Letters, Letters]

MANY_ORDERS = 24  # orders of the letters that are tried by default
_FIRST = 0x100  # the character of the smallest letter


@dataclass(frozen=True)
class Budget:
    """Limits on completion, the first two of them per order of letters.

    The time limit is for all orders together. The other limits are reached long before, so that the
    result does not depend on the machine.
    """

    rules: int  # largest number of rules
    overlaps: int  # largest number of relations processed
    seconds: float = 20.0
    orders: int = MANY_ORDERS  # number of orders of letters to try


@dataclass(frozen=True)
class Rules:
    """A reduced rewriting system: no left-hand side contains another.

    Words with the same normal form are equivalent. The converse holds if the system is confluent.
    """

    order: Letters  # the letters, smallest first
    pairs: tuple[Pair, ...]  # the rules (left, right) with left larger than right
    confluent: bool

    @cached_property
    def _system(self) -> _System:
        system = _System(self.order)
        for left, right in self.pairs:
            system.put(system.encode(left), system.encode(right))
        return system

    def reduce(self, word: Letters) -> Letters:
        """Return the normal form of a word.

        >>> complete(2, [((0, 1), (1, 0)), ((0, 0), ())]).reduce((1, 0, 1, 0))
        (1, 1)
        """
        return self._system.decode(self._system.reduce(self._system.encode(word)))


def complete(
    letters: int,
    pairs: Iterable[Pair],
    budget: Budget | None = None,
    *,
    orders: int = MANY_ORDERS,
) -> Rules:
    """Complete a presentation, trying several orders of the letters.

    Returns the first confluent system, or else the unfinished system of the natural order. The
    default budget suffices for most terminating systems: the priors of the paper need at most 16
    rules, a hexagonal lattice 24.

    >>> complete(2, [((0, 1), ()), ((1, 0), ())]).pairs
    (((0, 1), ()), ((1, 0), ()))
    """
    relations = list(pairs)
    if budget is None:
        n = len(relations)
        budget = Budget(40 + 4 * n, 300 + 60 * n, orders=min(orders, MANY_ORDERS if n <= 40 else 2))
    unfinished: list[Rules] = []
    deadline = time.monotonic() + budget.seconds
    for order in itertools.islice(_orders(letters), budget.orders):
        rules = _complete(order, relations, budget, deadline)
        if rules.confluent:
            return rules
        unfinished.append(rules)
        if time.monotonic() > deadline:
            break
    return unfinished[0]


def _orders(letters: int) -> Iterator[Letters]:
    """Yield the natural order, its reverse, then the other permutations.

    With more than four letters, the others are drawn at random with a fixed seed.
    """
    natural = tuple(range(letters))
    if letters <= 4:
        yield from dict.fromkeys([natural, natural[::-1], *itertools.permutations(natural)])
        return
    yield natural
    yield natural[::-1]
    rng = random.Random(0)
    while True:
        yield tuple(rng.sample(natural, letters))


def _complete(order: Letters, pairs: list[Pair], budget: Budget, deadline: float) -> Rules:
    system = _System(order)
    heap = [(len(u) + len(v), system.encode(u), system.encode(v)) for u, v in pairs]
    heapq.heapify(heap)
    processed = 0
    while heap and len(system.rules) <= budget.rules and processed < budget.overlaps:
        processed += 1
        if processed % 64 == 0 and time.monotonic() > deadline:
            break
        _, u, v = heapq.heappop(heap)
        u, v = system.reduce(u), system.reduce(v)
        if u != v:
            for left, right in system.add(u, v):
                heapq.heappush(heap, (len(left) + len(right), left, right))
    sides = ((left, system.reduce(right)) for left, right in system.rules.items())
    rules = [(system.decode(left), system.decode(right)) for left, right in sides]
    return Rules(order, tuple(sorted(rules, key=lambda pair: (len(pair[0]), pair))), not heap)


class _System:
    """A reduced set of rules over strings.

    Letters are encoded as characters in their order, because strings are fast to search and to
    compare.
    """

    def __init__(self, order: Letters) -> None:
        self._order = order
        self._characters = {letter: chr(_FIRST + rank) for rank, letter in enumerate(order)}
        self.rules: dict[str, str] = {}
        self._lengths: list[int] = []  # of the left-hand sides, in increasing order
        self._by_end = defaultdict[str, set[str]](set)  # left-hand sides by first and last letter

    def encode(self, word: Letters) -> str:
        return "".join(map(self._characters.__getitem__, word))

    def decode(self, word: str) -> Letters:
        return tuple(self._order[ord(character) - _FIRST] for character in word)

    def put(self, left: str, right: str) -> None:
        """Add a rule, without checking its overlaps with the others."""
        self.rules[left] = right
        self._by_end[left[0]].add(left)
        self._by_end[left[-1]].add(left)
        if len(left) not in self._lengths:
            bisect.insort(self._lengths, len(left))

    def _pop(self, left: str) -> str:
        """Remove a rule and return its right-hand side."""
        self._by_end[left[0]].discard(left)
        self._by_end[left[-1]].discard(left)
        return self.rules.pop(left)

    def reduce(self, word: str) -> str:
        """Return the normal form of a word.

        Letters are read one by one, and as soon as the letters read end in a left-hand side it is
        replaced, so each rule is found by looking up a suffix.
        """
        done: list[str] = []
        todo = list(reversed(word))
        while todo:
            done.append(todo.pop())
            suffix = "".join(done[-self._lengths[-1] :]) if self._lengths else ""
            for length in self._lengths:
                if length > len(done):
                    break
                right = self.rules.get(suffix[-length:])
                if right is not None:
                    del done[-length:]
                    todo.extend(reversed(right))
                    break
        return "".join(done)

    def add(self, u: str, v: str) -> Iterator[tuple[str, str]]:
        """Add a relation as a rule; yield the relations to process next."""
        left, right = sorted((u, v), key=lambda word: (len(word), word), reverse=True)
        if self._lengths and self._lengths[-1] > len(left):
            for reducible in [other for other in self.rules if left in other]:
                yield reducible, self._pop(reducible)
        self.put(left, right)
        for other in sorted(set[str]().union(*(self._by_end[letter] for letter in left))):
            yield from _critical_pairs(left, right, other, self.rules[other])
            if other != left:
                yield from _critical_pairs(other, self.rules[other], left, right)


def _critical_pairs(
    left: str, right: str, other_left: str, other_right: str
) -> Iterator[tuple[str, str]]:
    """Yield both ways to rewrite each overlap of a suffix of `left` with a prefix of `other_left`.

    Only proper overlaps occur: the system is reduced, so no left-hand side contains another.
    """
    for length in range(1, min(len(left), len(other_left))):
        if left.endswith(other_left[:length]):
            yield right + other_left[length:], left[:-length] + other_right
