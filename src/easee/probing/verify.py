"""Verification of a prior: compare both sides of each relation in many states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gymnasium as gym

from easee._utils.checks import checked_count
from easee.envs.action_names import action_names, logger, match_actions, names_or_numbers
from easee.envs.copying import Env
from easee.errors import ArgumentError, ArgumentTypeError
from easee.priors.equivalences import Equivalences
from easee.probing.evidence import Counterexample, Evidence, RelationCheck
from easee.probing.probe import MemberChanged, Probe, Progress, Snapshot, Word, check_env
from easee.probing.setup import SEARCH_ROLLOUT, Setup, checked_rollout, set_up
from easee.probing.significance import holm, min_repeats, outcomes, permutation_test
from easee.probing.state_keys import AnyState

MAX_COUNTEREXAMPLES = 3  # per relation
Names = tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Verification(Evidence):
    """The evidence for and against a prior in an environment.

    Attributes:
        prior: the prior that was checked.
        relations: one check per relation, in the prior's order.
        env_steps: number of steps in the environment.
        compares: description of what was compared.
        copies: description of how states were restored.
        random: whether the environment is random, so that distributions were compared.
        notes: sentences that describe how the result was obtained.
    """

    prior: Equivalences
    relations: tuple[RelationCheck, ...]
    env_steps: int
    compares: str
    copies: str
    random: bool
    notes: tuple[str, ...]

    @property
    def checks(self) -> tuple[RelationCheck, ...]:
        """One check per relation, the same as `relations`."""
        return self.relations

    @property
    def holds(self) -> bool:
        """Whether there was no violation."""
        return not any(check.failed for check in self.relations)

    @property
    def equivalences(self) -> Equivalences:
        """The prior with the measured rates; relations that failed in every state are left out."""
        kept = [check for check in self.relations if check.verdict != "never holds"]
        pairs = [(check.left, check.right, check.prior_rate) for check in kept]
        return Equivalences(self.prior.actions, pairs)


def verify(
    env: gym.Env[Any, Any],
    omega: Equivalences,
    *,
    states: int = 200,
    state: AnyState = None,
    seed: int = 0,
    eventful: float = 0.5,
    repeats: int = 30,
    rollout: int | None = None,
    rename: Mapping[str, str] | None = None,
    names: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Execute both sides of each relation from many states and compare the outcomes.

    Args:
        env: environment with discrete actions. It is stepped and reset.
        omega: the prior. Its actions are matched to the environment's by name, or by position if
            the environment has no names, which a note and a warning of the logger "easee.names"
            say.
        states: number of states.
        state: function from the environment to something hashable that is compared, or
            "observation"; by default the whole state of a MiniGrid, and the observation elsewhere,
            which may be equal in different states.
        seed: random seed.
        eventful: share of states near rare effects (an action that usually changes nothing changed
            something), if there are any; the others are sampled from random rollouts.
        repeats: number of executions of each side in each state of a random environment.
        rollout: number of random steps to sample states from; by default 100 per state and at least
            10,000, or 100,000 if the prior says that an action does nothing.
        rename: the environment's names of the prior's actions, where they differ.
        names: names of the environment's actions, instead of its own.
        progress: function called with the number of steps taken and a forecast of their total.

    >>> from easee.envs import RotationGrid
    >>> from easee.priors import rotation_grid
    >>> check = verify(RotationGrid(20), rotation_grid(), states=50).relations[0]
    >>> check.trials, check.violations
    (50, 0)
    """
    if not isinstance(omega, Equivalences):
        raise ArgumentTypeError(f"expected Equivalences, found {type(omega).__name__}")
    checked_count(repeats, "repeats", least=2)
    check_env(env)
    env_names = action_names(env, names)
    numbers, order = _action_numbers(omega, env, env_names, dict(rename or {}))
    words = [(tuple(numbers[a] for a in u), tuple(numbers[a] for a in v)) for u, v in omega]
    unequal = any(len(u) != len(v) for u, v in words)
    idle = any(sorted((len(u), len(v))) == [0, 1] for u, v in words)
    least = SEARCH_ROLLOUT if idle else 10_000
    rollout = checked_rollout(states, eventful, seed, rollout, least)
    set_up_with = partial(
        set_up,
        env,
        states,
        state,
        seed,
        eventful,
        rollout,
        compares_lengths=unequal,
        progress=progress,
    )
    shown = env_names or names_or_numbers(env)
    check_all = partial(_check_relations, omega=omega, words=words, repeats=repeats, names=shown)
    try:
        found = check_all(set_up_with())
    except MemberChanged as error:
        found = check_all(set_up_with(share=False, steps=error.steps))
    return replace(found, notes=(*order, *found.notes))


def _check_relations(
    setup: Setup,
    omega: Equivalences,
    words: list[tuple[Word, Word]],
    repeats: int,
    names: Sequence[str],
) -> Verification:
    states, probe = len(setup.sample.states), setup.probe
    executions = repeats if setup.random else 1
    letters = sum(len(u) + len(v) for u, v in words)
    probe.expected = probe.steps + letters * states * executions
    notes = setup.notes(names)
    if setup.random:
        name = f"repeats in {states} states of a random environment"
        checked_count(repeats, name, least=min_repeats(states))
        notes.append(
            f"the environment is random: in each state, {repeats} executions of each side were "
            "compared by a permutation test, at 5% for all states together (Holm)"
        )
    compare = partial(_compare_random, repeats=repeats) if setup.random else _compare
    checks = []
    for pair, (u, v) in zip(omega, words, strict=True):
        check = compare(setup, pair, u, v)
        if not check.trials:
            raise ArgumentError(
                f"the relation {check} could not be tried: in each state, the episode was "
                "truncated before the end of a word. Give the environment a longer time limit"
            )
        checks.append(check)
    how = probe.steps, probe.compares, probe.method, setup.random, tuple(notes)
    return Verification(omega, tuple(checks), *how)


def _action_numbers(
    omega: Equivalences, env: Env, known: Names | None, rename: dict[str, str]
) -> tuple[dict[str, int], list[str]]:
    """Return the environment's number of each action of the prior, and a note on their order."""
    n_actions = int(env.action_space.n)  # type: ignore[attr-defined]
    numbers, note = match_actions(
        omega.actions, known, "the prior", n_actions=n_actions, rename=rename
    )
    if note is not None:
        logger.warning(note)
    return dict(zip(omega.actions, numbers, strict=True)), [] if note is None else [note]


def _compare(setup: Setup, pair: tuple[Names, Names], u: Word, v: Word) -> RelationCheck:
    """Compare the outcomes of two words in each state."""
    trials = violations = truncated = 0
    met = [0, 0]
    counterexamples: list[Counterexample] = []
    for i, start in enumerate(setup.sample.states_with_effects()):
        left, right = setup.probe.after(start, u), setup.probe.after(start, v)
        if left.truncated or right.truncated:
            truncated += 1
            continue
        trials += 1
        met[0] += i >= setup.sample.eventful
        if left.key != right.key:
            violations += 1
            met[1] += i >= setup.sample.eventful
            if len(counterexamples) < MAX_COUNTEREXAMPLES:
                counterexamples.append(_counterexample(setup.probe, start, left, right))
    states_met = met[0], met[1]
    if sorted((len(u), len(v))) == [0, 1]:  # every use of the action in a rollout is a trial
        states_met = setup.sample.uses[max(u, v)[0]]
    examples = tuple(counterexamples)
    return RelationCheck(*pair, trials, violations, truncated, examples, states_met)


def _compare_random(
    setup: Setup, pair: tuple[Names, Names], u: Word, v: Word, repeats: int
) -> RelationCheck:
    """Test in each state whether the outcomes of two words have the same distribution."""
    probe, rng, states = setup.probe, setup.rng, setup.sample.states_with_effects()
    p_values: list[float] = []
    tested: list[Snapshot] = []
    repeated = False
    for start in states:
        left, right = (outcomes(probe, start, word, repeats, rng) for word in (u, v))
        if left is not None and right is not None:
            p_values.append(permutation_test(left, right, rng, len(states)))
            tested.append(start)
            repeated = repeated or len({*left, *right}) < 2 * repeats
    if tested and not repeated:
        raise ArgumentError(
            f"no two executions of a word had the same outcome in {probe.compares}, so "
            "distributions cannot be compared. Compare what matters: round with "
            'state="round:1" (--state round:1 on the command line), or pass a function'
        )
    broken = [start for start, differs in zip(tested, holm(p_values), strict=True) if differs]
    counterexamples = [
        _counterexample(probe, start, probe.after(start, u), probe.after(start, v))
        for start in broken[:MAX_COUNTEREXAMPLES]
    ]
    truncated = len(states) - len(tested)
    return RelationCheck(*pair, len(tested), len(broken), truncated, tuple(counterexamples))


def _counterexample(
    probe: Probe, start: Snapshot, left: Snapshot, right: Snapshot
) -> Counterexample:
    before, after_left, after_right = (probe.picture(state) for state in (start, left, right))
    pictures = None if before is None else (before, after_left, after_right)
    return Counterexample(start.observation, left.observation, right.observation, pictures)
