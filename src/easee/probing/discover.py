"""Discovery of an environment's equivalences: compare all short words in many states.

First come relations that hold in all states (`easee.probing.word_search`), then, if they are
wanted, those that usually hold (`easee.probing.usual_relations`).

The tolerance is for actions that usually work and sometimes fail, like a step that a wall stops. It
is not for actions that usually do nothing and sometimes work: where one word has a rare effect,
such as picking up a key, the other must have it too, in all but the same share of those states.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym
import numpy as np

from easee._utils.checks import checked_count, checked_share
from easee.envs.action_names import names_or_numbers
from easee.errors import ArgumentError, ArgumentTypeError, PriorError, ProbeError
from easee.priors.equivalences import Equivalences, check_action_names
from easee.probing.evidence import Evidence, RelationCheck
from easee.probing.probe import BudgetSpent, Limits, MemberChanged, Progress, Word, check_env
from easee.probing.search_record import SearchRecord
from easee.probing.setup import SEARCH_ROLLOUT, Setup, checked_rollout, set_up
from easee.probing.state_functions import resolve_state
from easee.probing.state_keys import AnyState, label_of
from easee.probing.usual_relations import FEWEST_TRIALS, UsualRelation, UsualSearch
from easee.probing.word_search import WordSearch

RARE_LENGTH = 2  # of words with rare effects, if relations that usually hold are wanted as well


@dataclass(frozen=True, repr=False)
class Discovery(Evidence):
    """The equivalences that were found.

    Attributes:
        equivalences: the relations, none of which follows from those before it.
        evidence: one check per relation, in the same order.
        env_steps: number of steps in the environment.
        length: length up to which all words were tried.
        notes: sentences that describe how the result was obtained.
        finished: whether the search was completed; if not, `discover(..., resume=)` goes on.
        record: what `resume` needs.
    """

    equivalences: Equivalences
    evidence: tuple[RelationCheck, ...]
    env_steps: int
    length: int
    notes: tuple[str, ...]
    finished: bool = True
    record: SearchRecord = field(default_factory=lambda: SearchRecord({}), repr=False)

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
    minutes: float | None = None,
    seed: int = 0,
    state: AnyState = None,
    eventful: float = 0.5,
    rollout: int | None = None,
    names: Sequence[str] | None = None,
    resume: Discovery | SearchRecord | None = None,
    progress: Progress | None = None,
) -> Discovery:
    """Find the equivalences of an environment without prior knowledge.

    Ctrl-C ends the search early: the relations found so far are returned.

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
        minutes: maximum time, with the same effect.
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
        resume: an unfinished result to go on from, or a finished one with a larger `max_length`.
            The other settings must be the same. The states are sampled again, with new steps;
            `budget` and `minutes` are those of this call, and `env_steps` is the total.
        progress: function called with the number of steps taken and a forecast of their total.

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
    deadline = time.monotonic() + 60 * _checked_minutes(minutes)
    check_env(env)
    earlier = _checked_record(resume)
    if rollout is None and earlier is not None:
        rollout = earlier.settings.get("rollout")
    least = SEARCH_ROLLOUT if usually else 20_000
    settings = {
        "actions": list(_action_names(env, names)),
        "states": states,
        "tolerance": tolerance,
        "usually": usually,
        "seed": seed,
        "state": label_of(resolve_state(env, state)),
        "eventful": eventful,
        "rollout": checked_rollout(states, eventful, seed, rollout, least, budget / 2),
    }
    if earlier is not None:
        earlier.check_settings(settings)
    record = SearchRecord(settings) if earlier is None else earlier
    limits = Limits(record.steps + budget, deadline)
    search = _Search(env, state, record, max_length, budget, limits, progress)
    try:
        return search.run()
    except MemberChanged as error:
        return search.run(share=False, steps=error.steps)


def _action_names(env: gym.Env[Any, Any], names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of an environment's actions, which must be valid in a prior."""
    found = names_or_numbers(env, names)
    try:
        return check_action_names(found)
    except PriorError as error:
        raise PriorError(
            f"the names of the environment's actions cannot be written in a prior: {error}. Pass "
            f"other names of its {len(found)} actions, in the order of their numbers, as "
            "names=[...] (--names on the command line, separated by commas)"
        ) from None


def _checked_minutes(minutes: float | None) -> float:
    if minutes is None:
        return math.inf
    if not isinstance(minutes, int | float) or not minutes > 0:
        raise ArgumentError(f"expected minutes above 0, found {minutes!r}")
    return float(minutes)


def _checked_record(resume: Discovery | SearchRecord | None) -> SearchRecord | None:
    if isinstance(resume, Discovery):
        return resume.record
    if resume is not None and not isinstance(resume, SearchRecord):
        raise ArgumentTypeError(
            f"expected resume as the result of an earlier discover, found {type(resume).__name__}"
        )
    return resume


class _Counted:
    """A progress function that remembers the steps and calls another one."""

    def __init__(self, progress: Progress | None, steps: int) -> None:
        self.progress, self.steps = progress, steps

    def __call__(self, steps: int, expected: int) -> None:
        self.steps = steps
        if self.progress is not None:
            self.progress(steps, expected)


@dataclass(frozen=True)
class _Search:
    """The arguments of a search that goes on from a record."""

    env: gym.Env[Any, Any]
    state: AnyState
    record: SearchRecord
    max_length: int
    budget: int
    limits: Limits
    progress: Progress | None

    def run(self, share: bool = True, steps: int | None = None) -> Discovery:
        """Sample states and search for relations."""
        record, settings = self.record, self.record.settings
        sampling = (settings[name] for name in ("seed", "eventful", "rollout"))
        start = record.steps if steps is None else steps
        counted = _Counted(self.progress, start)
        try:
            setup = set_up(
                self.env,
                settings["states"],
                self.state,
                *sampling,
                stream=2,
                limits=self.limits,
                progress=counted,
                share=share,
                steps=start,
            )
        except BudgetSpent as spent:
            note = "before the first word was tried: sampling states takes more"
            return self._nothing(f"{self._limit(spent.steps)} {note}", spent.steps)
        except KeyboardInterrupt:
            return self._nothing("interrupted before the first word was tried", counted.steps)
        _check_comparable(setup)
        return self._search(setup)

    def _nothing(self, note: str, steps: int) -> Discovery:
        record = replace(self.record, steps=steps)
        omega = Equivalences(self.record.settings["actions"])
        return Discovery(omega, (), steps, 0, (note,), False, record)

    def _limit(self, steps: int) -> str:
        if steps >= self.limits.steps:
            return f"the budget of {self.budget:,} steps was spent"
        return "the time was over"

    def _search(self, setup: Setup) -> Discovery:
        """Search for relations in the sampled states."""
        probe, sample, settings = setup.probe, setup.sample, self.record.settings
        names, usually = settings["actions"], settings["usually"]
        longest = RARE_LENGTH if usually else None
        search = WordSearch(probe, sample, settings["tolerance"], longest, dict(self.record.exact))
        length = search.run(self.max_length)
        exact = tuple(search.relations)
        usual = UsualSearch(probe, sample, exact, usually, dict(self.record.usual))
        if usually and not search.interrupted:
            usual.run(self.max_length)
        checks = [
            RelationCheck(_names(u, names), _names(v, names), trials, violations)
            for (u, v), (trials, violations) in search.relations.items()
            if (u, v) not in usual.vacuous
        ]
        found = [_usual_check(relation, names) for relation in usual.relations]
        pairs = [(check.left, check.right, check.rate) for check in checks]
        pairs += [(check.left, check.right, check.prior_rate) for check in found]
        finished = length == self.max_length and not (usually and usual.stopped)
        notes = [*setup.notes(names), *self._notes(search, usual, found)]
        if not finished:
            notes.append(self._unfinished_note(search, usual, length))
        elif longer := search.longer_relation():
            notes.append(self._longer_note(longer))
        return Discovery(
            Equivalences(names, pairs),
            (*checks, *found),
            probe.steps,
            length,
            tuple(notes),
            finished,
            SearchRecord(settings, probe.steps, search.decisions, usual.decisions),
        )

    def _notes(
        self, search: WordSearch, usual: UsualSearch, found: list[RelationCheck]
    ) -> list[str]:
        """Return sentences about the relations and what they may miss."""
        settings = self.record.settings
        names, tolerance, usually = (settings[key] for key in ("actions", "tolerance", "usually"))
        failing = f"a relation may fail in {tolerance:.0%} of them"
        notes = [failing if tolerance else "no relation failed"]
        if usually and not search.interrupted:
            notes += _usual_notes(found, usual.vacuous, usually, names)
            notes += _too_few_notes(len(search.sample.states) - search.sample.eventful)
        return notes + _hidden_notes(search, names) + _truncation_notes(search)

    def _longer_note(self, pair: tuple[Word, Word]) -> str:
        names = self.record.settings["actions"]
        left, right = (" ".join(_names(word, names)) or "Λ" for word in pair)
        return (
            f"longer relations seem to exist, such as {left} ~ {right}: raise max_length above "
            f"{self.max_length} (--max-length on the command line)"
        )

    def _unfinished_note(self, search: WordSearch, usual: UsualSearch, length: int) -> str:
        interrupted = search.interrupted or usual.stopped == "interrupted"
        reason = "interrupted" if interrupted else self._limit(search.probe.steps)
        if length == self.max_length:
            return f"{reason} while relations that usually hold were searched"
        return (
            f"{reason}: all words up to length {length} were tried, and some of length {length + 1}"
        )


def _names(word: Word, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(names[action] for action in word)


def _usual_check(relation: UsualRelation, names: Sequence[str]) -> RelationCheck:
    one, two = (_names(word, names) for word in relation.pair)
    trials, violations = np.add(relation.met, relation.near).tolist()
    return RelationCheck(one, two, trials, violations, met=relation.met)


def _usual_notes(
    checks: list[RelationCheck],
    vacuous: list[tuple[Word, Word]],
    usually: float,
    names: Sequence[str],
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


def _too_few_notes(ordinary: int) -> list[str]:
    if ordinary >= FEWEST_TRIALS:
        return []
    return [
        f"a relation that usually holds is accepted only if at least {FEWEST_TRIALS} states from "
        f"random steps show it, and {ordinary} were sampled: raise the number of states (--states "
        "on the command line)"
    ]


def _hidden_notes(search: WordSearch, names: Sequence[str]) -> list[str]:
    if not search.hidden:
        return []
    left, right = (" ".join(_names(word, names)) for word in search.hidden[0])
    compares = search.probe.compares
    return [
        f"after {left!r} and after {repr(right) if right else 'nothing'} the {compares} are equal, "
        f"but not after one more action: the {compares} do not show the whole state; compare more "
        "of it with `state` (--state on the command line)"
    ]


def _truncation_notes(search: WordSearch) -> list[str]:
    truncated = [len(word) for word, (_, row) in search.ends.items() if (row < 0).all()]
    if not truncated:
        return []
    return [
        f"words of length {min(truncated)} could not be compared, because episodes were truncated "
        "before their end: give the environment a longer time limit"
    ]


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
            'so no relation can be found. Compare what matters: round with state="round:1" '
            "(--state round:1 on the command line), or pass a function"
        )
