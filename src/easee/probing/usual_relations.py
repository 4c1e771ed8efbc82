"""Discovery of relations that usually hold, and how often they fail.

Words are tried in shortlex order in states as random rollouts meet them, so that walls and objects
count as often as an agent meets them. Two words are related if their outcomes differ in at most a
given share of these states.

A relation may fail more often, in up to half of the states, if it only fails where an action that
otherwise has an effect has none: a wall that stops a step changes nothing, so the policy that
follows from the relation is still a good one. Its rate is the share of all states in which it
fails.

Relations that usually hold may have consequences that do not. In a small room, four steps forward
usually lead as far as three; together with a relation that undoes a step, a step would be nothing.
So a relation is rejected if it merges short words that are known to differ.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from easee._utils.timing import timed
from easee.probing.forecast import Forecast
from easee.probing.probe import BudgetSpent, Probe, Snapshot, Word
from easee.probing.search_record import Decision
from easee.probing.state_sampling import StateSample
from easee.probing.word_search import orders_for
from easee.words.closure import close
from easee.words.presentation import Presentation, equivalent, rules_of

FEWEST_TRIALS = 20  # a relation of fewer trials is not accepted
FEWEST_EFFECTS = 3  # effects of an action that another one must undo
LARGEST_RATE = 0.5  # of a relation that fails only where an action is stopped
SHORT = 2  # length of the words that no longer relation may merge
MAX_NODES = 100_000  # of the graph of short words
Pair = tuple[Word, Word]
Row = NDArray[np.int64]


@dataclass(frozen=True)
class UsualRelation:
    """A relation that usually holds, with trials and violations in two samples of states."""

    pair: Pair
    met: tuple[int, int]  # in states as rollouts meet them
    near: tuple[int, int]  # in states near rare effects


@dataclass(frozen=True)
class _Outcomes:
    """The outcomes of a word in each state."""

    ends: list[Snapshot]
    keys: Row  # number of each key; -1 if the episode was truncated
    stopped: NDArray[np.bool_]  # whether an action of the word had no effect but usually has one


@dataclass
class UsualSearch:
    """A search for relations that fail in at most a share of `usually` of the states.

    `exact` are relations that are known already. Those that hold only because an action is always
    stopped, such as one more step in a narrow room, become `vacuous`: they say nothing about states
    where all actions work, and would rule out relations that do. `relations` are those found.
    """

    probe: Probe
    sample: StateSample
    exact: tuple[Pair, ...]
    usually: float
    # Decisions about words: those of an interrupted search, and then all that were made.
    decisions: dict[Word, Decision] = field(default_factory=dict)
    relations: list[UsualRelation] = field(default_factory=list)
    vacuous: list[Pair] = field(default_factory=list)
    words: dict[Word, _Outcomes] = field(default_factory=dict)
    numbers: dict[Hashable, int] = field(default_factory=dict)  # of the keys
    working: frozenset[int] = frozenset()  # actions that have an effect in more states than that
    stopped: str = ""  # why the search ended early

    def run(self, max_length: int) -> None:
        """Try all words up to a length, then look for actions that undo others."""
        states = self.sample.states[self.sample.eventful :]
        self.words[()] = _Outcomes(states, self._keys(states), np.zeros(len(states), bool))
        layer: list[Word] = [()]
        try:
            self._find_working_actions()
            self._set_vacuous_relations_aside()
            forecast = Forecast(self.probe, max_length)
            for length in range(1, max_length + 1):
                with timed(f"usual relations, length {length}"):
                    layer = self._new_words(layer, forecast)
            self._find_undoing_actions()
        except BudgetSpent:
            self.stopped = "budget"
        except KeyboardInterrupt:
            self.stopped = "interrupted"

    def _new_words(self, layer: list[Word], forecast: Forecast) -> list[Word]:
        words = [(*word, a) for word in layer for a in range(self.probe.n_actions)]
        new: list[Word] = []
        for i, word in enumerate(words):
            forecast.update(len(words) - i, len(new), i)
            if self._is_new(word):
                new.append(word)
        return new

    def _find_working_actions(self) -> None:
        start = self.words[()].keys
        for action in range(self.probe.n_actions):
            keys = self._extend((), action).keys
            valid = (keys >= 0) & (start >= 0)
            if (keys != start)[valid].sum() > self.usually * valid.sum():
                self.working |= {action}

    def _set_vacuous_relations_aside(self) -> None:
        """Find the exact relations of long words with hardly a state where no action is stopped."""
        states = self.words[()].ends
        for pair in [pair for pair in self.exact if len(pair[0]) > SHORT]:
            moving = sum(not any(self._is_stopped(s, word) for word in pair) for s in states)
            if moving < FEWEST_TRIALS:
                self.vacuous.append(pair)
        self.exact = tuple(pair for pair in self.exact if pair not in self.vacuous)

    def _is_stopped(self, state: Snapshot, word: Word) -> bool:
        """Return whether a working action of a word has no effect."""
        walk = self.probe.walk(state, word)
        return any(
            action in self.working and before.key == after.key
            for action, before, after in zip(word, walk, walk[1:], strict=False)
        )

    def _is_new(self, word: Word) -> bool:
        """Try a word; return whether it is related to no earlier one."""
        presentation = self._presentation()
        if rules_of(presentation, orders_for(presentation)).reduce(word) != word:
            return False
        known = self.decisions.get(word)
        if known is None or known.earlier is None:
            outcomes = self._extend(word[:-1], word[-1])
            known = known or self._decide(word, outcomes)
            self.decisions[word] = known
        if known.earlier is None:
            self.words[word] = outcomes
        elif known.counts:
            trials, violations, near_trials, near_violations = known.counts
            counts = (trials, violations), (near_trials, near_violations)
            self.relations.append(UsualRelation((word, known.earlier), *counts))
        return known.earlier is None

    def _decide(self, word: Word, outcomes: _Outcomes) -> Decision:
        """Relate a word to an earlier word with similar outcomes, if there is one."""
        known = self._presentation()
        for earlier in self._candidates(outcomes):
            if equivalent(known, word, earlier, orders_for(known)) is True:
                return Decision(earlier)
            met = _differences(outcomes.keys, self.words[earlier].keys)
            if relation := self._accepted(word, earlier, met):
                return Decision(earlier, (*relation.met, *relation.near))
        return Decision(None)

    def _extend(self, word: Word, action: int) -> _Outcomes:
        before = self.words[word]
        ends = [end if end.ended else self.probe.after(end, (action,)) for end in before.ends]
        keys = self._keys(ends)
        idle = (keys == before.keys) & (action in self.working)
        return _Outcomes(ends, keys, before.stopped | idle)

    def _candidates(self, outcomes: _Outcomes) -> list[Word]:
        """Return the words with similar outcomes, most similar first."""
        words = list(self.words)
        keys = np.array([self.words[word].keys for word in words])
        stopped = np.array([self.words[word].stopped for word in words]) | outcomes.stopped
        valid = (keys >= 0) & (outcomes.keys >= 0)
        differ = valid & (keys != outcomes.keys)
        trials, violations = valid.sum(axis=1), differ.sum(axis=1)
        moving = (valid & ~stopped).sum(axis=1)
        open_violations = (differ & ~stopped).sum(axis=1)
        usual = violations <= self.usually * trials
        blocked = (violations <= LARGEST_RATE * trials) & (moving >= FEWEST_TRIALS)
        blocked &= open_violations <= self.usually * moving
        order = np.argsort(violations, kind="stable")
        return [words[i] for i in order if trials[i] >= FEWEST_TRIALS and (usual | blocked)[i]]

    def _accepted(self, one: Word, two: Word, met: tuple[int, int]) -> UsualRelation | None:
        """Return a relation with its counts in both samples, or None if it is not accepted.

        One that never failed is not accepted either: the search for exact relations has already
        decided about it.
        """
        if not self._is_consistent((one, two)):
            return None
        near = self._count(one, two, self.sample.near[: len(self.words[()].ends)])
        if len(one) == 1 and not two:  # every use of the action in a rollout is a trial
            met = self.sample.uses[one[0]]
            if not met[1] + near[1]:  # its effects are very rare
                near = self._count(one, two, self.sample.near)
        return UsualRelation((one, two), met, near) if met[1] + near[1] else None

    def _is_consistent(self, pair: Pair) -> bool:
        """Return whether a relation of long words keeps all short words apart that differ."""
        if len(pair[0]) <= SHORT:
            return True
        known = self._presentation()
        successors = close(
            known.letters, (*known.pairs, pair), SHORT, max_nodes=MAX_NODES
        ).successors
        short = [word for word in self.words if len(word) <= SHORT]
        return len({_trace(successors, word) for word in short}) == len(short)

    def _count(self, one: Word, two: Word, states: list[Snapshot]) -> tuple[int, int]:
        """Return the numbers of trials and violations of a relation in some states."""
        pairs = [(self.probe.after(s, one), self.probe.after(s, two)) for s in states]
        valid = [(u, v) for u, v in pairs if not (u.truncated or v.truncated)]
        return len(valid), sum(u.key != v.key for u, v in valid)

    def _find_undoing_actions(self) -> None:
        """Relate `a b` to nothing where b undoes a, for actions that usually do nothing.

        The relation follows from those of a and of b alone, but it also holds where a has an
        effect. If each of the two undoes the other, a is the one whose effects come first.
        """
        known = self._presentation()
        exact = Presentation(known.letters, self.exact)
        idle = [
            action
            for action in range(known.letters)
            if equivalent(known, (action,), ()) is True
            and equivalent(exact, (action,), ()) is not True
        ]
        states = [*self.sample.near, *self.words[()].ends]
        for a, b in permutations(idle, 2):
            if self.sample.precedes(a, b):
                ends = [(state, self.probe.after(state, (a,))) for state in states]
                effects = [(state, end) for state, end in ends if end.key != state.key]
                undone = sum(self.probe.after(end, (b,)).key == s.key for s, end in effects)
                if len(effects) >= FEWEST_EFFECTS and undone >= (1 - self.usually) * len(effects):
                    met = self._count((a, b), (), self.words[()].ends)
                    if relation := self._accepted((a, b), (), met):
                        self.relations.append(relation)

    def _keys(self, ends: list[Snapshot]) -> Row:
        return np.array(
            [-1 if e.truncated else self.numbers.setdefault(e.key, len(self.numbers)) for e in ends]
        )

    def _presentation(self) -> Presentation:
        found = tuple(relation.pair for relation in self.relations)
        return Presentation(self.probe.n_actions, (*self.exact, *found))


def _differences(one: Row, two: Row) -> tuple[int, int]:
    """Return in how many states both words could be executed, and in how many they differ."""
    valid = (one >= 0) & (two >= 0)
    return int(valid.sum()), int((valid & (one != two)).sum())


def _trace(successors: NDArray[np.int32], word: Word) -> int:
    node = 0
    for action in word:
        node = int(successors[node, action])
    return node
