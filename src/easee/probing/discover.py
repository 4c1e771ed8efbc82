"""Discovery of an environment's equivalences: compare all short words in many states.

Words are tried in shortlex order. A word that the relations found so far rewrite is skipped. Any
other word is executed in a few states first. Only if its outcomes there equal those of an earlier
word, both are executed in all states, and if they agree (in all but a share of `tolerance`), they
are a relation. Otherwise the word is new, and longer words are built from it. If what is compared
hides a part of the state, words may agree that do not agree after one more action. Such words are
no relation.

The tolerance is for actions that usually work and sometimes fail, like a step that a wall stops. It
is not for actions that usually do nothing and sometimes work: where one word has a rare effect,
such as picking up a key, the other must have it too, in all but the same share of those states.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from easee._utils.checks import checked_count, checked_share
from easee.envs.action_names import names_or_numbers
from easee.errors import ArgumentError, ProbeError
from easee.priors.equivalences import Equivalences, check_action_names
from easee.probing.evidence import Evidence, RelationCheck
from easee.probing.probe import BudgetSpent, Probe, Progress, Snapshot, Word, check_env
from easee.probing.setup import SEARCH_ROLLOUT, Setup, set_up
from easee.probing.state_keys import AnyState
from easee.probing.state_sampling import StateSample
from easee.probing.usual_relations import UsualRelation, UsualSearch
from easee.words.presentation import Presentation, equivalent, rules_of

RARE_LENGTH = 2  # of words with rare effects, if relations that usually hold are wanted as well
FIRST_STATES = 16  # states in which a word is executed before it is compared in all of them
LONGER_WORDS = 200  # words one longer than the maximum that are tried, to see if it is too small


@dataclass(frozen=True, repr=False)
class Discovery(Evidence):
    """The equivalences that were found.

    Attributes:
        equivalences: the relations, none of which follows from those before it.
        evidence: one check per relation, in the same order.
        env_steps: number of steps in the environment.
        length: length up to which all words were tried.
        notes: sentences that describe how the result was obtained.
    """

    equivalences: Equivalences
    evidence: tuple[RelationCheck, ...]
    env_steps: int
    length: int
    notes: tuple[str, ...]

    @property
    def checks(self) -> tuple[RelationCheck, ...]:
        """One check per relation, the same as `evidence`."""
        return self.evidence


def discover(
    env: gym.Env[Any, Any],
    *,
    max_length: int = 4,
    states: int = 200,
    tolerance: float = 0.0,
    usually: float = 0.0,
    budget: int = 1_000_000,
    seed: int = 0,
    state: AnyState = None,
    eventful: float = 0.5,
    rollout: int | None = None,
    names: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Discovery:
    """Find the equivalences of an environment without prior knowledge.

    Args:
        env: deterministic environment with discrete actions. It is stepped and reset.
        max_length: maximum length of the words.
        states: number of states in which a relation must hold.
        tolerance: share of them in which it may fail. Most relations fail near walls: a tolerance
            of about 0.2 finds those that hold in the open.
        usually: also find relations that fail in at most this share of the states that an agent
            meets, with their rates (see `easee.probing.usual_relations`); 0.1 is a good value.
        budget: maximum number of steps in the environment; when it is spent, the relations found so
            far are returned.
        seed: random seed.
        state: function from the environment to something hashable that is compared, or
            "observation"; by default the whole state of a MiniGrid, and the observation elsewhere,
            which may be equal in different states.
        eventful: share of states near rare effects, if there are any; the others are sampled from
            random rollouts.
        rollout: number of random steps to sample states from; by default 100 per state and at least
            20,000, or 100,000 with `usually`, but at most half the budget.
        names: names of the environment's actions, instead of its own; by default, actions without
            names are called by their numbers.
        progress: function called with the number of words tried and the number of new words.

    >>> from easee.envs import CardinalGrid
    >>> result = discover(CardinalGrid(), max_length=2, states=20)
    >>> print(result.equivalences)
    actions: right left up down
    right left ~ Λ
    left right ~ Λ
    up right ~ right up
    ...
    """
    checked_count(max_length, "max_length")
    checked_count(budget, "budget")
    checked_share(tolerance, "tolerance")
    if checked_share(usually, "usually") >= 0.5:
        raise ArgumentError(f"expected usually below 0.5, found {usually}")
    check_env(env)
    names = check_action_names(names_or_numbers(env, names))
    try:
        least = SEARCH_ROLLOUT if usually else 20_000
        setup = set_up(
            env, states, state, seed, eventful, rollout, stream=2, min_rollout=least, budget=budget
        )
    except BudgetSpent:
        note = (
            f"the budget of {budget:,} steps was spent before the first word was tried: sampling "
            f"{states:,} states takes more"
        )
        return Discovery(Equivalences(names), (), budget, 0, (note,))
    _check_comparable(setup)
    search = _WordSearch(setup.probe, setup.sample, tolerance, RARE_LENGTH if usually else None)
    length = search.run(max_length, progress)
    failing = f"a relation may fail in {tolerance:.0%} of them"
    notes = [*setup.notes(names), failing if tolerance else "no relation failed"]
    found: list[RelationCheck] = []
    vacuous: list[tuple[Word, Word]] = []
    if usually:
        usual = UsualSearch(setup.probe, setup.sample, tuple(search.relations), usually)
        usual.run(max_length, progress)
        found = [_usual_check(relation, names) for relation in usual.relations]
        vacuous = usual.vacuous
        notes += _usual_notes(found, vacuous, usually, names)
    checks = [
        RelationCheck(_names(u, names), _names(v, names), trials, violations)
        for (u, v), (trials, violations) in search.relations.items()
        if (u, v) not in vacuous
    ]
    pairs = [(check.left, check.right, check.rate) for check in checks]
    pairs += [(check.left, check.right, check.prior_rate) for check in found]
    checks += found
    notes += _hidden_notes(search, names) + _truncation_notes(search)
    if length < max_length:
        notes.append(
            f"the budget of {budget:,} steps was spent: all words up to length {length} were "
            f"tried, and some of length {length + 1}"
        )
    elif longer := search.longer_relation():
        left, right = (" ".join(_names(word, names)) or "Λ" for word in longer)
        notes.append(
            f"longer relations seem to exist, such as {left} ~ {right}: raise max_length above "
            f"{max_length}"
        )
    omega = Equivalences(names, pairs)
    return Discovery(omega, tuple(checks), setup.probe.steps, length, tuple(notes))


def _names(word: Word, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(names[action] for action in word)


def _usual_check(relation: UsualRelation, names: tuple[str, ...]) -> RelationCheck:
    one, two = (_names(word, names) for word in relation.pair)
    trials, violations = np.add(relation.met, relation.near).tolist()
    return RelationCheck(one, two, trials, violations, met=relation.met)


def _usual_notes(
    checks: list[RelationCheck],
    vacuous: list[tuple[Word, Word]],
    usually: float,
    names: tuple[str, ...],
) -> list[str]:
    notes = [f"{len(checks)} relations usually hold (usually={usually:g})"]
    blocked = [str(c) for c in checks if c.met and c.met[1] > usually * c.met[0]]
    if blocked:
        notes.append(
            f"{', '.join(blocked)}: these fail more often, but only where an action that otherwise "
            "has an effect has none, as at a wall"
        )
    if vacuous:
        texts = [" ~ ".join(" ".join(_names(word, names)) or "Λ" for word in p) for p in vacuous]
        notes.append(
            f"{', '.join(texts)}: left out, because it holds only where an action is stopped"
        )
    return notes


def _hidden_notes(search: "_WordSearch", names: tuple[str, ...]) -> list[str]:
    if not search.hidden:
        return []
    left, right = (" ".join(_names(word, names)) for word in search.hidden[0])
    compares = search.probe.compares
    return [
        f"after {left!r} and after {repr(right) if right else 'nothing'} the {compares} are equal, "
        f"but not after one more action: the {compares} do not show the whole state; pass state=, "
        "a function that returns the whole state"
    ]


def _truncation_notes(search: "_WordSearch") -> list[str]:
    rows = zip(search.ends, search.rows, strict=True)
    truncated = [len(word) for word, row in rows if (row < 0).all()]
    if not truncated:
        return []
    return [
        f"words of length {min(truncated)} could not be compared, because episodes were truncated "
        "before their end: give the environment a longer time limit"
    ]


@dataclass
class _WordSearch:
    """A search for relations among the words, in shortlex order."""

    probe: Probe
    sample: StateSample
    tolerance: float
    rare_length: int | None  # maximum length of words with actions that have rare effects
    # Pairs of words, each with its trials and violations.
    relations: dict[tuple[Word, Word], tuple[int, int]] = field(default_factory=dict)
    # For each new word, the states that it leads to from the first states, and their keys' numbers.
    ends: dict[Word, list[Snapshot]] = field(default_factory=dict)
    rows: list[np.ndarray] = field(default_factory=list)
    codes: dict[Hashable, int] = field(default_factory=dict)  # the numbers of the keys
    # Pairs of words whose outcomes are equal, but not after one more action.
    hidden: list[tuple[Word, Word]] = field(default_factory=list)
    layer: list[Word] = field(default_factory=lambda: [()])  # new words of the last length
    tried: int = 0

    def run(self, max_length: int, progress: Progress | None) -> int:
        """Try all words up to a length; return the length that was completed."""
        self._add((), self.sample.states[:FIRST_STATES])
        for length in range(1, max_length + 1):
            next_layer = []
            try:
                for word in self._extended(length):
                    if self._is_new(word):
                        next_layer.append(word)
                    self.tried += 1
                    if progress is not None:
                        progress(self.tried, len(self.ends))
            except BudgetSpent:
                return length - 1
            self.layer = next_layer
        return max_length

    def longer_relation(self) -> tuple[Word, Word] | None:
        """Return a relation of words one longer than the last layer, or None if none was found."""
        words = self._extended(len(self.layer[0]) + 1) if self.layer else []
        known = len(self.relations)
        try:
            for word in words[:: math.ceil(len(words) / LONGER_WORDS) or 1]:
                self._is_new(word)
                if len(self.relations) > known:
                    return self.relations.popitem()[0]
        except BudgetSpent:
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
        if rules_of(self._presentation()).reduce(word) != word:
            return False
        ends = [self.probe.after(state, word[-1:]) for state in self.ends[word[:-1]]]
        for earlier in self._candidates(ends):
            if equivalent(self._presentation(), word, earlier) is True:
                return False
            trials, violations = self._compare(word, earlier)
            if trials > violations and self._differ_later(ends, self.ends[earlier]):
                self.hidden.append((word, earlier))
            elif trials > violations:
                self.relations[word, earlier] = trials, violations
                return False
        self._add(word, ends)
        return True

    def _candidates(self, ends: list[Snapshot]) -> list[Word]:
        """Return the new words with similar outcomes in the first states, most similar first."""
        row = self._row(ends)
        table = np.array(self.rows)
        both = (table >= 0) & (row >= 0)  # -1: truncated
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
        states = self.sample.states
        if self.sample.rare.intersection(one + two):
            states = [*self.sample.near, *states]  # a rare effect may occur along the way
        is_prefix = one[: len(two)] == two  # then one walk shows both outcomes
        most = self.tolerance * len(states)
        for state in states:
            walk = self.probe.walk(state, one)
            other = walk[: len(two) + 1] if is_prefix else self.probe.walk(state, two)
            if walk[-1].truncated or other[-1].truncated:
                continue
            count = counts[self._has_rare_effect(walk, one) or self._has_rare_effect(other, two)]
            count[0] += 1
            count[1] += walk[-1].key != other[-1].key
            if count[1] > most:
                return 0, 0
        if any(violations > self.tolerance * trials for trials, violations in counts):
            return 0, 0
        return counts[0][0] + counts[1][0], counts[0][1] + counts[1][1]

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

    def _add(self, word: Word, ends: list[Snapshot]) -> None:
        self.ends[word] = ends
        self.rows.append(self._row(ends))

    def _row(self, ends: list[Snapshot]) -> np.ndarray:
        """Return the number of each key, or -1 if the episode was truncated."""
        return np.array(
            [-1 if e.truncated else self.codes.setdefault(e.key, len(self.codes)) for e in ends]
        )

    def _presentation(self) -> Presentation:
        return Presentation(self.probe.n_actions, tuple(self.relations))


def _check_comparable(setup: Setup) -> None:
    """Check that the environment is deterministic and that its states repeat."""
    if setup.random:
        raise ProbeError(
            "this environment is random: the same actions from the same state have different "
            "outcomes, so words cannot be compared one by one. Remove the randomness (for Atari "
            "games repeat_action_probability=0), or check relations of your own with verify"
        )
    sample = setup.sample
    if sample.new > 0.99 and sample.steps >= 100:
        raise ArgumentError(
            f"hardly any two {setup.probe.compares} in {sample.steps:,} random steps were equal, "
            "so no relation can be found. Pass state=, a function that returns (or rounds) what "
            "matters"
        )
