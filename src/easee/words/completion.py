"""Knuth-Bendix completion under shortlex: exact normal forms if it terminates.

Every relation becomes a rule from its larger to its smaller word (longer words are larger, ties
are broken by the order of the letters). Where two left-hand sides overlap, the two ways to rewrite
the overlap give a new relation. When none is left the system is *confluent*: two words are
equivalent if and only if they reduce to the same word. Completion need not terminate, so it has a
budget. Whether it terminates depends on the order of the letters, so several orders are tried, in
turns.

Words are tuples of letters 0, 1, ..., as everywhere in `easee.words`.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

Letters: TypeAlias = tuple[int, ...]
Pair: TypeAlias = tuple[Letters, Letters]

MANY_ORDERS = 24  # orders of the letters that are tried by default
_FIRST = 1  # the character of the smallest letter; strings of small characters are searched faster
FEW = 100  # up to this number of rules, words are searched for each of them
# An order that completes needs little work, so all orders get some before any gets much. Each round
# is a number of orders, and the work up to which they are continued.
ROUNDS = ((24, 20_000), (2, 300_000), (24, 250_000), (24, 10**9))
SUFFIX_WORK = 8  # work of looking up the suffixes of a letter, in comparisons of a word and a rule


@dataclass(frozen=True)
class Budget:
    """Limits on completion. `rules` and `overlaps` hold for each order of the letters.

    Work is counted, not timed, so that the result does not depend on the machine: a unit is about
    one comparison of a word with a rule, 0.1 to 0.2 microseconds.
    """

    rules: int  # largest number of rules
    overlaps: int  # largest number of relations processed
    work: int = 2_600_000  # largest amount of work, for all orders together
    orders: int = MANY_ORDERS  # number of orders of letters to try

    @classmethod
    def default(cls, relations: int, orders: int = MANY_ORDERS) -> Budget:
        """Return a budget that suffices for most terminating systems."""
        return cls(
            rules=40 + 4 * relations,
            overlaps=300 + 60 * relations,
            work=2_600_000 + 1_000 * relations**2,
            orders=min(orders, MANY_ORDERS if relations <= 40 else 2),
        )


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

    Returns the first confluent system found, or else the unfinished system of the natural order.
    The default budget suffices for most terminating systems: the priors of the paper need at most
    16 rules, a hexagonal lattice 24.

    >>> complete(2, [((0, 1), ()), ((1, 0), ())]).pairs
    (((0, 1), ()), ((1, 0), ()))
    """
    relations = list(pairs)
    budget = budget or Budget.default(len(relations), orders)
    tried = itertools.islice(_orders(letters), budget.orders)
    attempts = [_Attempt(order, relations, budget) for order in tried]
    natural = attempts[0]
    for first, work in ROUNDS:
        for attempt in attempts[:first]:
            left = budget.work - sum(other.system.work for other in attempts)
            attempt.advance(min(work, attempt.system.work + left))
            if attempt.confluent:
                return attempt.result()
        attempts = _different_first(attempts)
    return natural.result()


def _different_first(attempts: list[_Attempt]) -> list[_Attempt]:
    """Return the attempts with those last that have the same rules as an earlier one.

    Orders that differ only in letters that were never compared will probably go on alike.
    """
    seen = set()
    first: list[_Attempt] = []
    last: list[_Attempt] = []
    for attempt in attempts:
        rules = attempt.rules()
        (last if rules in seen else first).append(attempt)
        seen.add(rules)
    return first + last


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


class _Attempt:
    """Completion with one order of the letters, which can be interrupted and resumed."""

    def __init__(self, order: Letters, pairs: list[Pair], budget: Budget) -> None:
        self.order, self.budget = order, budget
        self.system = _System(order)
        encode = self.system.encode
        self.relations = [(encode(u), encode(v)) for u, v in pairs]
        self.heap = [(len(u) + len(v), u, v) for u, v in self.relations]
        heapq.heapify(self.heap)
        self.processed = 0

    @property
    def confluent(self) -> bool:
        return not self.heap

    def advance(self, most_work: int) -> None:
        """Go on until the system is confluent or a limit is reached."""
        system, heap, budget = self.system, self.heap, self.budget
        while (
            heap
            and system.work < most_work
            and len(system.rules) <= budget.rules
            and self.processed < budget.overlaps
        ):
            self.processed += 1
            _, u, v = heapq.heappop(heap)
            u, v = system.reduce(u), system.reduce(v)
            if u != v:
                for left, right in system.add(u, v):
                    system.work += (len(left) + len(right)) // 6
                    heapq.heappush(heap, (len(left) + len(right), left, right))

    def result(self) -> Rules:
        """Return the rules as they are now, by which both sides of every relation reduce alike."""
        system = self.system
        system.reduce_right_sides()
        # A new rule, or another right-hand side, may change how an earlier relation is reduced.
        while not self.confluent and any([system.join(u, v) for u, v in self.relations]):
            system.reduce_right_sides()
        ordered = tuple(sorted(self.rules(), key=lambda pair: (len(pair[0]), pair)))
        return Rules(self.order, ordered, self.confluent)

    def rules(self) -> frozenset[Pair]:
        """Return the rules as pairs of words."""
        decode = self.system.decode
        return frozenset((decode(left), decode(right)) for left, right in self.system.rules.items())


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
        self.work = 0  # done so far, see `Budget`

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

        In each step the left-hand side that ends first is replaced. The system is reduced, so only
        one ends there.
        """
        if len(self.rules) <= FEW:
            return self._reduce_by_search(word)
        return self._reduce_by_suffix(word)

    def _reduce_by_search(self, word: str) -> str:
        """Search the word for every left-hand side."""
        rules = self.rules
        start = 0  # no left-hand side starts before it
        while True:
            self.work += len(rules) + 9
            find, found, end = word.find, "", len(word) + 1
            for left in rules:
                at = find(left, start, end - 1)
                if at >= 0:
                    found, end = left, at + len(left)
            if not found:
                return word
            at = end - len(found)
            word = word[:at] + rules[found] + word[end:]
            start = max(0, at - self._lengths[-1] + 1)

    def _reduce_by_suffix(self, word: str) -> str:
        """Read letters one by one, and look up the suffixes of what was read."""
        done: list[str] = []
        todo = list(reversed(word))
        while todo:
            self.work += SUFFIX_WORK
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

    def reduce_right_sides(self) -> None:
        """Replace the right-hand side of each rule by its normal form."""
        for left, right in self.rules.items():
            self.rules[left] = self.reduce(right)

    def join(self, u: str, v: str) -> bool:
        """Add rules, without their overlaps, until two words reduce alike; return if any."""
        todo, changed = [(u, v)], False
        while todo:
            u, v = map(self.reduce, todo.pop())
            if u != v:
                todo += self._replace(*_oriented(u, v))
                changed = True
        return changed

    def _replace(self, left: str, right: str) -> list[tuple[str, str]]:
        """Add a rule; remove and return those that it makes reducible."""
        reducible: list[str] = []
        if self._lengths and self._lengths[-1] > len(left):
            reducible = [other for other in self.rules if left in other]
        removed = [(other, self._pop(other)) for other in reducible]
        self.put(left, right)
        return removed

    def add(self, u: str, v: str) -> Iterator[tuple[str, str]]:
        """Add a relation as a rule; yield the relations to process next."""
        left, right = _oriented(u, v)
        yield from self._replace(left, right)
        others = sorted(set[str]().union(*(self._by_end[letter] for letter in left)))
        self.work += 2 * len(others) * len(left)
        for other in others:
            yield from _critical_pairs(left, right, other, self.rules[other])
            if other != left:
                yield from _critical_pairs(other, self.rules[other], left, right)


def _oriented(u: str, v: str) -> tuple[str, str]:
    """Return the larger word, then the smaller one."""
    return (u, v) if (len(u), u) > (len(v), v) else (v, u)


def _critical_pairs(
    left: str, right: str, other_left: str, other_right: str
) -> Iterator[tuple[str, str]]:
    """Yield both ways to rewrite each overlap of a suffix of `left` with a prefix of `other_left`.

    Only proper overlaps occur: the system is reduced, so no left-hand side contains another.
    """
    letter, find = other_left[0], left.find
    at = find(letter, max(1, len(left) - len(other_left) + 1))
    while at >= 0:
        suffix = left[at:]
        if other_left.startswith(suffix):
            yield right + other_left[len(suffix) :], left[:at] + other_right
        at = find(letter, at + 1)
