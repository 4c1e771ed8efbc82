"""The search for relations that hold in all states, or in all but a given share of them.

Words are tried in shortlex order. A word that the relations found so far rewrite is skipped. Any
other word is executed in a few states first. Only if its outcomes there equal those of an earlier
word, both are executed in all states, and if they agree (in all but a share of `tolerance`), they
are a relation. Otherwise the word is new, and longer words are built from it. If what is compared
hides a part of the state, words may agree that do not agree after one more action. Such words are
no relation.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from easee._utils.timing import timed
from easee.probing.forecast import Forecast
from easee.probing.probe import BudgetSpent, Probe, Snapshot, Word
from easee.probing.search_record import Decision
from easee.probing.state_sampling import StateSample
from easee.words.completion import MANY_ORDERS
from easee.words.presentation import Presentation, equivalent, rules_of

FIRST_STATES = 16  # states in which a word is executed before it is compared in all of them
TRUNCATED = -1  # instead of the number of a key
FEW_RELATIONS = 8  # with more, completion tries a single order of the letters
Row = NDArray[np.int64]
LONGER_WORDS = 200  # words one longer than the maximum that are tried, to see if it is too small


@dataclass
class WordSearch:
    """A search for relations among the words, in shortlex order."""

    probe: Probe
    sample: StateSample
    tolerance: float
    rare_length: int | None  # maximum length of words with actions that have rare effects
    # Decisions about words: those of an interrupted search, and then all that were made.
    decisions: dict[Word, Decision] = field(default_factory=dict)
    # Pairs of words, each with its trials and violations.
    relations: dict[tuple[Word, Word], tuple[int, int]] = field(default_factory=dict)
    # For each new word, the states that it leads to from the first states, and their keys' numbers.
    ends: dict[Word, tuple[list[Snapshot], Row]] = field(default_factory=dict)
    codes: dict[Hashable, int] = field(default_factory=dict)  # the numbers of the keys
    # For each word that was compared, what `_outcome` returned for each state.
    outcomes: dict[Word, list[tuple[int, bool] | None]] = field(default_factory=dict)
    # Pairs of words whose outcomes are equal, but not after one more action.
    hidden: list[tuple[Word, Word]] = field(default_factory=list)
    layer: list[Word] = field(default_factory=lambda: [()])  # new words of the last length
    interrupted: bool = False

    def run(self, max_length: int) -> int:
        """Try all words up to a length; return the length that was completed."""
        first = self.sample.states[:FIRST_STATES]
        self.ends[()] = first, self._row(first)
        forecast = Forecast(self.probe, max_length)
        for length in range(1, max_length + 1):
            try:
                with timed(f"words of length {length}"):
                    self.layer = self._new_words(self._extended(length), forecast)
            except BudgetSpent:
                return length - 1
            except KeyboardInterrupt:
                self.interrupted = True
                return length - 1
        return max_length

    def _new_words(self, words: list[Word], forecast: Forecast) -> list[Word]:
        new: list[Word] = []
        for i, word in enumerate(words):
            forecast.update(len(words) - i, len(new), i)
            if self._is_new(word):
                new.append(word)
        return new

    def longer_relation(self) -> tuple[Word, Word] | None:
        """Return a relation of words one longer than the last layer, or None if none was found."""
        words = self._extended(len(self.layer[0]) + 1) if self.layer else []
        try:
            for word in words[:: math.ceil(len(words) / LONGER_WORDS) or 1]:
                if self._is_reduced(word):
                    ends = self._ends(word)
                    decision = self._decide(word, ends)
                    if decision.earlier is not None and decision.counts:
                        return word, decision.earlier
                    if decision.earlier is None:
                        self.ends[word] = ends, self._row(ends)
        except (BudgetSpent, KeyboardInterrupt):
            pass
        return None

    def _extended(self, length: int) -> list[Word]:
        """Return the words of a length that extend those of the last layer."""
        words = [(*word, a) for word in self.layer for a in range(self.probe.n_actions)]
        if length <= (self.rare_length or length):
            return words
        return [word for word in words if not self.sample.rare & set(word)]

    def _is_new(self, word: Word) -> bool:
        """Try a word; return whether it is equivalent to no earlier one."""
        if not self._is_reduced(word):
            return False
        known = self.decisions.get(word)
        if known is None:
            ends = self._ends(word)
            known = self.decisions[word] = self._decide(word, ends)
        elif known.earlier is None:
            ends = self._ends(word)
        self.hidden += [(word, earlier) for earlier in known.hidden]
        if known.earlier is None:
            self.ends[word] = ends, self._row(ends)
        elif known.counts:
            self.relations[word, known.earlier] = known.counts[0], known.counts[1]
        return known.earlier is None

    def _is_reduced(self, word: Word) -> bool:
        known = self._presentation()
        return rules_of(known, orders_for(known)).reduce(word) == word

    def _ends(self, word: Word) -> list[Snapshot]:
        return [self.probe.after(state, word[-1:]) for state in self.ends[word[:-1]][0]]

    def _decide(self, word: Word, ends: list[Snapshot]) -> Decision:
        """Compare a word with the earlier words that have similar outcomes in the first states."""
        hidden: list[Word] = []
        known = self._presentation()
        for earlier in self._candidates(ends):
            if equivalent(known, word, earlier, orders_for(known)) is True:
                return Decision(earlier, hidden=tuple(hidden))
            trials, violations = self._compare(word, earlier)
            if trials > violations:
                if not self._differ_later(ends, self.ends[earlier][0]):
                    return Decision(earlier, (trials, violations), tuple(hidden))
                hidden.append(earlier)
        return Decision(None, hidden=tuple(hidden))

    def _candidates(self, ends: list[Snapshot]) -> list[Word]:
        """Return the new words with similar outcomes in the first states, most similar first."""
        row = self._row(ends)
        table = np.array([row for _, row in self.ends.values()])
        both = (table >= 0) & (row >= 0)
        differ = ((table != row) & both).sum(axis=1)
        # In a small sample, a few more failures than the tolerance may be chance.
        allowed = self.tolerance * both.sum(axis=1)
        allowed = allowed + (2 * np.sqrt(allowed) if self.tolerance else 0)
        words = list(self.ends)
        order = np.argsort(differ, kind="stable")
        return [words[i] for i in order if both[i].any() and differ[i] <= allowed[i]]

    def _compare(self, one: Word, two: Word) -> tuple[int, int]:
        """Execute two words in all states; return trials and violations, or 0, 0 if they differ."""
        counts = [0, 0], [0, 0]  # trials and violations, without and with a rare effect
        near = len(self.sample.near)
        # A rare effect may occur along the way.
        first = 0 if self.sample.rare.intersection(one + two) else near
        total = near + len(self.sample.states)
        most = self.tolerance * (total - first)
        for word in (one, two):
            self.outcomes.setdefault(word, [None] * total)
        for i in range(first, total):
            (key, rare), (other_key, other_rare) = self._outcome(one, i), self._outcome(two, i)
            if TRUNCATED in (key, other_key):
                continue
            count = counts[rare or other_rare]
            count[0] += 1
            count[1] += key != other_key
            if count[1] > most:
                return 0, 0
        if any(violations > self.tolerance * trials for trials, violations in counts):
            return 0, 0
        return counts[0][0] + counts[1][0], counts[0][1] + counts[1][1]

    def _outcome(self, word: Word, i: int) -> tuple[int, bool]:
        """Return the number of a word's key in a state, and whether it has a rare effect there.

        The states are those near rare effects, then those of the sample. Each word is executed in a
        state only once.
        """
        known = self.outcomes[word][i]
        if known is None:
            near = self.sample.near
            state = near[i] if i < len(near) else self.sample.states[i - len(near)]
            walk = self.probe.walk(state, word)
            known = self.outcomes[word][i] = self._seen(walk, word)
            for length in range(len(word)):  # the walk shows the outcomes of prefixes, too
                if (prefix := word[:length]) in self.outcomes:
                    self.outcomes[prefix][i] = self._seen(walk[: length + 1], prefix)
        return known

    def _seen(self, walk: list[Snapshot], word: Word) -> tuple[int, bool]:
        return self._number(walk[-1]), self._has_rare_effect(walk, word)

    def _differ_later(self, ends: list[Snapshot], others: list[Snapshot]) -> bool:
        """Return whether equal outcomes in the first states differ after one more action."""
        pairs = [(s, t) for s, t in zip(ends, others, strict=True) if s.key == t.key]
        differing = sum(self._differ_after_an_action(s, t) for s, t in pairs)
        return differing > self.tolerance * len(pairs)

    def _differ_after_an_action(self, one: Snapshot, two: Snapshot) -> bool:
        for action in range(self.probe.n_actions):
            s, t = (self.probe.after(state, (action,)) for state in (one, two))
            if s.key != t.key and not (s.truncated or t.truncated):
                return True
        return False

    def _has_rare_effect(self, walk: list[Snapshot], word: Word) -> bool:
        return any(
            action in self.sample.rare and before.key != after.key
            for action, before, after in zip(word, walk, walk[1:], strict=False)
        )

    def _row(self, ends: list[Snapshot]) -> Row:
        """Return the number of each key, or TRUNCATED."""
        return np.array([self._number(end) for end in ends])

    def _number(self, end: Snapshot) -> int:
        return TRUNCATED if end.truncated else self.codes.setdefault(end.key, len(self.codes))

    def _presentation(self) -> Presentation:
        return Presentation(self.probe.n_actions, tuple(self.relations))


def orders_for(presentation: Presentation) -> int:
    """Return how many orders of the letters completion tries during a search.

    With many relations, completion rarely terminates, and after each new one it would try many
    orders in vain. Then closure compares words.
    """
    return MANY_ORDERS if len(presentation.pairs) <= FEW_RELATIONS else 1
