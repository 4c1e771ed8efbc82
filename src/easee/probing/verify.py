"""Does a prior hold in an environment? Try both sides of every relation from many states.

states by rollouts ──► both words on copies ──► violations, rate, interval, counterexamples
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from easee._utils.checks import checked_count, nearest
from easee.errors import ArgumentError, ArgumentTypeError
from easee.priors.equivalences import Equivalences
from easee.probing.evidence import Counterexample, RelationCheck
from easee.probing.probe import Place, Probe, make_probe, names_of
from easee.probing.significance import (
    is_random,
    least_repeats,
    outcomes,
    permutation_test,
    permutations_for,
    rejected,
)
from easee.probing.state_keys import StateOf
from easee.probing.state_sampling import Sample, describe, sample
from easee.probing.step_counters import refuse_counters

KEPT = 3  # counterexamples of a relation
Word = tuple[int, ...]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Verification:
    """What was seen of a prior in an environment.

    Attributes:
        relations: one check for every relation, in their order.
        env_steps: how many steps were taken in the environment.
        compares: what was compared.
        copies: how the environment was put back.
        random: whether it is random, so that distributions were compared.
        notes: what one should know to read the result, one sentence each.
    """

    relations: tuple[RelationCheck, ...]
    env_steps: int
    compares: str
    copies: str
    random: bool
    notes: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether no violation was seen."""
        return not any(check.violations for check in self.relations)


def verify(
    env: gym.Env[Any, Any],
    omega: Equivalences,
    *,
    states: int = 200,
    state: StateOf | None = None,
    seed: int = 0,
    eventful: float = 0.5,
    repeats: int = 30,
    rollout: int | None = None,
    rename: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Try both sides of every relation from many states, and compare what comes out.

    Args:
        env: with discrete actions. It is stepped and reset.
        omega: the prior. Its actions are found in the environment by name, or by number where the
            environment has no names.
        states: in how many states.
        state: a function from the environment to something hashable; by default observations are
            compared, which cannot tell apart what they do not show.
        seed: of everything that is random here.
        eventful: the share of states chosen near rare effects (an action that usually changes
            nothing changed something), where there are any; the others are as random actions meet
            them.
        repeats: how often each side is executed in each state if the environment is random.
        rollout: the random steps that states are chosen from; by default 100 for each state and at
            least 10,000.
        rename: from names of the prior's actions to the environment's, where they differ.
        progress: called with how many trials are done and how many there are.

    >>> from easee.envs import RotationGrid
    >>> from easee.priors import rotation_grid
    >>> check = verify(RotationGrid(20), rotation_grid(), states=50).relations[0]
    >>> check.trials, check.violations
    (50, 0)
    """
    if not isinstance(omega, Equivalences):
        raise ArgumentTypeError(f"expected Equivalences, found {type(omega).__name__}")
    seed = checked_count(seed, "seed", least=0)
    checked_count(states, "states")
    checked_count(repeats, "repeats", least=2)
    words = _words(omega, names_of(_checked(env)), dict(rename or {}))
    probe = make_probe(env, state, seed=seed)
    rng = np.random.default_rng([seed, 1])
    if any(len(u) != len(v) for u, v in words):
        refuse_counters(probe, rng)
    found = sample(probe, states, seed=seed, eventful=eventful, rollout=rollout)
    random = is_random(probe, found.places, rng)
    if random:
        least = least_repeats(states)
        checked_count(repeats, f"repeats in {states} states of a random environment", least=least)
    compare = partial(_compare_random, repeats=repeats, rng=rng) if random else _compare
    checks = []
    for i, (pair, (u, v)) in enumerate(zip(omega, words, strict=True)):
        checks.append(compare(probe, found.places, pair, u, v))
        if progress is not None:
            progress(i + 1, len(words))
    _check_length(checks)
    notes = _notes(probe, found, random, repeats)
    return Verification(tuple(checks), probe.steps, probe.compares, probe.kind, random, notes)


def _checked(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    if not isinstance(env, gym.Env) or not isinstance(env.action_space, gym.spaces.Discrete):
        make_probe(env)  # says what is wrong with it
    return env


def _words(
    omega: Equivalences, names: tuple[str, ...], rename: dict[str, str]
) -> list[tuple[Word, Word]]:
    """Return the relations in the environment's numbers."""
    for action in rename:
        if action not in omega.actions:
            raise ArgumentError(
                f"cannot rename {action!r}, which is no action of the prior: "
                f"{nearest(action, omega.actions)}"
            )
    place = {name.lower(): i for i, name in enumerate(names)}
    numbered = set(names) == {str(i) for i in range(len(names))}
    number: dict[str, int] = {}
    for i, action in enumerate(omega.actions):
        known = rename.get(action, action).lower()
        if known in place:
            number[action] = place[known]
        elif numbered and len(names) == len(omega.actions) and not rename:
            number[action] = i
        else:
            raise ArgumentError(
                f"the prior's action {action!r} is not one of the environment's: the prior has "
                f"{', '.join(omega.actions)}, the environment {', '.join(names)}. Say what it is "
                f"called there with rename={{{action!r}: ...}}; {nearest(known, place)}"
            )
    _check_distinct(number, names)
    return [
        (tuple(number[a] for a in left), tuple(number[a] for a in right)) for left, right in omega
    ]


def _check_distinct(number: dict[str, int], names: tuple[str, ...]) -> None:
    """Check that no two actions of the prior are one of the environment."""
    first: dict[int, str] = {}
    for action, place in number.items():
        if place in first:
            raise ArgumentError(
                f"the prior's actions {first[place]!r} and {action!r} would both be the "
                f"environment's {names[place]!r}: rename the other one, too"
            )
        first[place] = action


def _compare(
    probe: Probe,
    places: list[Place],
    pair: tuple[tuple[str, ...], tuple[str, ...]],
    u: Word,
    v: Word,
) -> RelationCheck:
    trials = violations = cut = 0
    kept: list[Counterexample] = []
    for place in places:
        one, two = probe.after(place, u), probe.after(place, v)
        if one.truncated or two.truncated:
            cut += 1
            continue
        trials += 1
        if one.key != two.key:
            violations += 1
            if len(kept) < KEPT:
                kept.append(_counterexample(probe, place, one, two))
    return RelationCheck(*pair, trials, violations, cut, tuple(kept))


def _compare_random(
    probe: Probe,
    places: list[Place],
    pair: tuple[tuple[str, ...], tuple[str, ...]],
    u: Word,
    v: Word,
    *,
    repeats: int,
    rng: np.random.Generator,
) -> RelationCheck:
    """Test in every state whether both sides have one distribution, all states together."""
    p_values: list[float] = []
    tested: list[Place] = []
    alike = False
    for place in places:
        one, two = (outcomes(probe, place, word, repeats, rng) for word in (u, v))
        if one is not None and two is not None:
            p_values.append(permutation_test(one, two, rng, permutations_for(len(places))))
            tested.append(place)
            alike = alike or len({*one, *two}) < 2 * repeats
    if tested and not alike:
        raise ArgumentError(
            f"no two executions of a word came out alike in {probe.compares}, so distributions "
            "cannot be compared. Pass state=, a function that reads (or rounds) what matters"
        )
    broken = [place for place, no in zip(tested, rejected(p_values), strict=True) if no]
    kept = [
        _counterexample(probe, place, probe.after(place, u), probe.after(place, v))
        for place in broken[:KEPT]
    ]
    cut = len(places) - len(tested)
    return RelationCheck(*pair, len(tested), len(broken), cut, tuple(kept))


def _counterexample(probe: Probe, start: Place, one: Place, two: Place) -> Counterexample:
    pictures = tuple(probe.picture(place) for place in (start, one, two))
    shown = None if pictures[0] is None else (pictures[0], pictures[1], pictures[2])
    return Counterexample(start.observation, one.observation, two.observation, shown)


def _check_length(checks: list[RelationCheck]) -> None:
    for check in checks:
        if not check.trials:
            raise ArgumentError(
                f"the relation {check} could not be tried: in every state an episode was cut off "
                "before the end of a word. Give the environment more steps an episode"
            )


def _notes(probe: Probe, found: Sample, random: bool, repeats: int) -> tuple[str, ...]:
    notes = [
        f"compared {probe.compares}",
        f"went back by {probe.kind}",
        *describe(found, names_of(probe.env)),
    ]
    if random:
        notes.append(
            f"the environment is random: in every state {repeats} executions of each side were "
            "compared by a permutation test, at 5% for all states together (Holm)"
        )
    return tuple(notes)
