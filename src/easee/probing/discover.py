"""Which equivalences does an environment have? Try all short words in many states and compare.

Words are taken in shortlex order. One that the relations found so far rewrite is skipped: it says
nothing new. Every other is executed in a few states first. Only if it comes out like an earlier
word there, both are executed in all states, and if they agree (in all but a share of `tolerance`)
that is a relation. Otherwise the word is new, and is what longer words are made of.

The tolerance is for what usually works and sometimes fails, like a step that a wall stops. It is
not for what usually does nothing and sometimes works: where a word has a rare effect, say picks up
a key, the other must have it too, in all but the same share of those states.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from easee._utils.checks import checked_count, checked_share
from easee.errors import ArgumentError, ProbeError
from easee.priors.equivalences import Equivalences
from easee.probing.evidence import RelationCheck
from easee.probing.probe import BudgetSpent, Place, Probe, make_probe, names_of
from easee.probing.significance import is_random
from easee.probing.state_keys import StateOf
from easee.probing.state_sampling import Sample, describe, sample
from easee.probing.step_counters import refuse_counters
from easee.words.presentation import Presentation, equivalent, rules_of

FIRST = 16  # states that a word is executed in before it is a candidate
Word = tuple[int, ...]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Discovery:
    """What was found.

    Attributes:
        equivalences: the relations, none of which follows from those before it.
        evidence: what speaks for each, in the same order.
        env_steps: how many steps it cost.
        length: up to which length all words were tried.
        notes: what one should know to read the result, one sentence each.
    """

    equivalences: Equivalences
    evidence: tuple[RelationCheck, ...]
    env_steps: int
    length: int
    notes: tuple[str, ...]


def discover(
    env: gym.Env[Any, Any],
    *,
    max_length: int = 4,
    states: int = 200,
    tolerance: float = 0.0,
    budget: int = 1_000_000,
    seed: int = 0,
    state: StateOf | None = None,
    eventful: float = 0.5,
    rollout: int | None = None,
    progress: Progress | None = None,
) -> Discovery:
    """Find the equivalences of an environment that nobody described.

    Args:
        env: with discrete actions, not random. It is stepped and reset.
        max_length: of the words that are tried.
        states: in how many states a relation must hold.
        tolerance: the share of them in which it may fail. Near walls most relations do: a
            tolerance of 0.2 or so finds what holds in the open.
        budget: steps in the environment; when they are used up, what was found so far is returned.
        seed: of everything that is random here.
        state: a function from the environment to something hashable; by default observations are
            compared, and what they do not show looks equal.
        eventful: the share of states chosen near rare effects, where there are any; the others are
            as random actions meet them.
        rollout: the random steps that states are chosen from; by default 100 for each state and at
            least 20,000, but no more than half the budget.
        progress: called with the number of words tried and of words known so far.

    >>> from easee.envs import CardinalGrid
    >>> found = discover(CardinalGrid(), max_length=2, states=20)
    >>> print(found.equivalences)
    actions: right left up down
    right left ~ Λ
    left right ~ Λ
    up right ~ right up
    ...
    """
    seed = checked_count(seed, "seed", least=0)
    checked_count(max_length, "max_length")
    checked_count(budget, "budget")
    checked_share(tolerance, "tolerance")
    checked_count(states, "states")
    if rollout is None:
        rollout = max(min(budget // 2, max(100 * states, 20_000)), 1)
    try:
        probe = make_probe(env, state, seed=seed, budget=budget)
        names = Equivalences(names_of(env)).actions  # before the work: it may not like them
        rng = np.random.default_rng([seed, 2])
        refuse_counters(probe, rng)
        found = sample(probe, states, seed=seed, eventful=eventful, rollout=rollout)
        _check_fit(probe, found, rng)
    except BudgetSpent:
        note = (
            f"the budget of {budget:,} steps ended it before the first word was tried: choosing "
            f"{states:,} states takes more"
        )
        return Discovery(Equivalences(names_of(env)), (), budget, 0, (note,))
    search = _Search(probe, found.places, found.rare, found.near, tolerance)
    length = search.run(max_length, progress)
    evidence = tuple(
        RelationCheck(tuple(names[a] for a in u), tuple(names[a] for a in v), trials, violations)
        for (u, v), (trials, violations) in search.found.items()
    )
    notes = _notes(probe, found, tolerance, length, max_length, budget)
    omega = Equivalences(names, [(e.left, e.right) for e in evidence])
    return Discovery(omega, evidence, probe.steps, length, notes)


@dataclass
class _Search:
    """The words known so far, where they lead, and the relations found.

    Attributes:
        probe: of the environment.
        places: the states; words are tried in the first few of them first.
        rare: the actions with rare effects.
        near: states near those, for words with such actions.
        tolerance: the share of states in which a relation may fail.
        found: relations, each with its trials and violations.
        known: words that nothing earlier comes out like, and where they lead from the first states.
        codes: numbers for what comes out.
        rows: of every known word, what comes out in the first states.
        tried: how many words were tried.
    """

    probe: Probe
    places: list[Place]
    rare: frozenset[int]
    near: list[Place]
    tolerance: float
    found: dict[tuple[Word, Word], tuple[int, int]] = field(default_factory=dict)
    known: dict[Word, list[Place]] = field(default_factory=dict)
    codes: dict[Hashable, int] = field(default_factory=dict)
    rows: list[np.ndarray] = field(default_factory=list)
    tried: int = 0

    def run(self, max_length: int, progress: Progress | None) -> int:
        """Try all words up to a length; return the length that was finished."""
        self._learn((), self.places[:FIRST])
        layer: list[Word] = [()]
        for length in range(1, max_length + 1):
            following = []
            try:
                for word in [(*w, a) for w in layer for a in range(self.probe.n_actions)]:
                    if self._is_new(word):
                        following.append(word)
                    self.tried += 1
                    if progress is not None:
                        progress(self.tried, len(self.known))
            except BudgetSpent:
                return length - 1
            layer = following
        return max_length

    def _is_new(self, word: Word) -> bool:
        """Try a word: nothing new if it follows from what is known, or comes out like another."""
        if rules_of(self._presentation()).reduce(word) != word:
            return False
        ends = [self.probe.after(place, word[-1:]) for place in self.known[word[:-1]]]
        for earlier in self._candidates(ends):
            if equivalent(self._presentation(), word, earlier) is True:
                return False
            trials, violations = self._compare(word, earlier)
            if trials:
                self.found[word, earlier] = trials, violations
                return False
        self._learn(word, ends)
        return True

    def _candidates(self, ends: list[Place]) -> list[Word]:
        """Return the known words that come out alike in the first states, the likest first."""
        row = self._row(ends)
        table = np.array(self.rows)
        both = (table >= 0) & (row >= 0)  # -1: cut off
        differ = ((table != row) & both).sum(axis=1)
        # With a tolerance, a few more failures than its share may be bad luck of a small sample.
        allowed = self.tolerance * both.sum(axis=1)
        allowed = allowed + (2 * np.sqrt(allowed) if self.tolerance else 0)
        order = np.argsort(differ, kind="stable")
        words = list(self.known)
        return [words[i] for i in order if both[i].any() and differ[i] <= allowed[i]]

    def _compare(self, one: Word, two: Word) -> tuple[int, int]:
        """Execute two words in all states; return trials and violations, or 0, 0 if they differ."""
        # By whether a rare effect took place: how many trials, how many violations.
        counts = {False: [0, 0], True: [0, 0]}
        places = self.places
        if self.rare.intersection(one + two):
            places = [*self.near, *places]  # a rare effect may take place on the way
        prefix = one[: len(two)] == two  # then one walk shows both
        most = self.tolerance * len(places)
        for place in places:
            u = self.probe.walk(place, one)
            v = u[: len(two) + 1] if prefix else self.probe.walk(place, two)
            if u[-1].truncated or v[-1].truncated:
                continue
            count = counts[self._has_rare_effect(u, one) or self._has_rare_effect(v, two)]
            count[0] += 1
            count[1] += u[-1].key != v[-1].key
            if count[1] > most:
                return 0, 0
        if any(violations > self.tolerance * trials for trials, violations in counts.values()):
            return 0, 0
        return tuple(map(sum, zip(*counts.values(), strict=True)))  # type: ignore[return-value]

    def _has_rare_effect(self, places: list[Place], word: Word) -> bool:
        return any(
            action in self.rare and before.key != after.key
            for action, before, after in zip(word, places, places[1:], strict=False)
        )

    def _learn(self, word: Word, ends: list[Place]) -> None:
        self.known[word] = ends
        self.rows.append(self._row(ends))

    def _row(self, ends: list[Place]) -> np.ndarray:
        """Return a number for each key; -1 where an episode was cut off."""
        return np.array(
            [-1 if e.truncated else self.codes.setdefault(e.key, len(self.codes)) for e in ends]
        )

    def _presentation(self) -> Presentation:
        return Presentation(self.probe.n_actions, tuple(self.found))


def _check_fit(probe: Probe, found: Sample, rng: np.random.Generator) -> None:
    if is_random(probe, found.places, rng):
        raise ProbeError(
            "this environment is random: the same actions from the same place come out "
            "differently, so words cannot be compared one by one. Take the randomness out (for "
            "Atari games repeat_action_probability=0), or check relations of your own with verify"
        )
    if found.new > 0.99 and found.seen >= 100:
        raise ArgumentError(
            f"hardly two of the {probe.compares} in {found.seen:,} random steps were equal, so "
            "nothing can be found. Pass state=, a function that reads (or rounds) what matters"
        )


def _notes(
    probe: Probe, found: Sample, tolerance: float, length: int, max_length: int, budget: int
) -> tuple[str, ...]:
    notes = [
        f"compared {probe.compares}, went back by {probe.kind}",
        *describe(found, names_of(probe.env)),
        f"a relation may fail in {tolerance:.0%} of them" if tolerance else "no relation failed",
    ]
    if length < max_length:
        notes.append(
            f"the budget of {budget:,} steps ended it: all words up to length {length} were tried, "
            f"some of length {length + 1}"
        )
    return tuple(notes)
