"""An environment that can be put back: go somewhere, try a word, try another from the same place.

There are three ways, tried in this order: the environment's own clone (Atari games have one), a
deep copy, and starting over from the same seed with the same actions.
"""

from __future__ import annotations

import copy
import math
import pickle
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np

from easee._utils.digests import digest
from easee.envs.action_names import action_names
from easee.envs.copying import (
    Env,
    bare,
    copied,
    forget_last_action,
    remembered,
    reseed,
    wrappers,
)
from easee.errors import ArgumentTypeError, EaseeError, ProbeError
from easee.probing.state_keys import StateOf, label_of

UNCOPYABLE = (
    TypeError,
    AttributeError,
    ValueError,
    RuntimeError,
    NotImplementedError,
    copy.Error,
    pickle.PickleError,
)
PICTURES = ("rgb_array", "ansi")


class BudgetSpent(Exception):
    """The next step would be one more than may be taken."""


@dataclass(frozen=True)
class Place:
    """Where an environment is.

    Attributes:
        token: what its kind of probe needs to go back there.
        key: what is compared, with whether the episode ended.
        observation: the last one.
        terminated: whether the episode ended.
        truncated: whether it was cut off, so that what would have come is unknown.
    """

    token: Any
    key: Hashable
    observation: Any
    terminated: bool = False
    truncated: bool = False


class Probe(ABC):
    """Takes words of actions from places, and counts the steps.

    Args:
        env: with discrete actions.
        state: reads what is compared; by default it is the observation.
    """

    kind: str

    def __init__(self, env: Env, state: StateOf | None = None) -> None:
        self.env = env
        self.state = state
        self.steps = 0
        self.budget: float = math.inf
        self.n_actions = int(env.action_space.n)  # type: ignore[attr-defined]

    @property
    def compares(self) -> str:
        """What is compared, in a word or two."""
        return label_of(self.state)

    def reset(self, seed: int | None) -> Place:
        """Start an episode; without a seed, with one that is made up."""
        seed = int(np.random.default_rng().integers(2**31)) if seed is None else seed
        observation, _ = self.env.reset(seed=seed)
        return replace(self._place(self.env, observation), token=self._first_token(seed))

    def after(self, place: Place, word: Iterable[int], *, fresh: int | None = None) -> Place:
        """Return where a word leads from a place; the place stays what it is.

        Args:
            place: where to start; one that ended stays where it is.
            word: actions. It stops where the episode ends.
            fresh: a seed for the environment's own randomness, which otherwise repeats itself.
        """
        return self.walk(place, word, fresh=fresh)[-1]

    def walk(self, place: Place, word: Iterable[int], *, fresh: int | None = None) -> list[Place]:
        """Return the places along a word, the first included. Only the last can be gone back to."""
        env = self._go(place, fresh)
        places, taken = [replace(place, token=None)], []
        for action in word:
            if places[-1].terminated or places[-1].truncated:
                break
            observation, _, terminated, truncated, _ = self._step(env, action)
            taken.append(action)
            places.append(self._place(env, observation, bool(terminated), bool(truncated)))
        places[-1] = replace(places[-1], token=self._token(env, place, tuple(taken)))
        return places

    def follow(self, word: Iterable[int]) -> list[Hashable]:
        """Step the environment itself from where it is, and return the keys on the way."""
        keys: list[Hashable] = []
        for action in word:
            observation, _, terminated, truncated, _ = self._step(self.env, action)
            keys.append(self._place(self.env, observation, bool(terminated)).key)
            if terminated or truncated:
                break
        return keys

    def picture(self, place: Place) -> Any:
        """Return what the environment renders at a place, or None."""
        if self.env.render_mode not in PICTURES:
            return None
        return self._go(place, None).render()

    def _step(self, env: Env, action: int) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if self.steps >= self.budget:
            raise BudgetSpent
        self.steps += 1
        return env.step(action)

    @abstractmethod
    def _first_token(self, seed: int) -> Any:
        """Return the token of the episode that has just begun."""

    @abstractmethod
    def _go(self, place: Place, fresh: int | None) -> Env:
        """Return an environment that is at a place and may be stepped."""

    @abstractmethod
    def _token(self, env: Env, place: Place, taken: tuple[int, ...]) -> Any:
        """Return the token of where an environment is, some actions after a place."""

    def _place(
        self, env: Env, observation: Any, terminated: bool = False, truncated: bool = False
    ) -> Place:
        found = digest(observation) if self.state is None else _checked_state(self.state(env))
        return Place(None, (found, terminated), observation, terminated, truncated)


class CopyingProbe(Probe):
    """Deep copies: a token is a copy of the environment."""

    kind = "deep copies of the environment"

    def _first_token(self, seed: int) -> Env:
        return copied(self.env)

    def _go(self, place: Place, fresh: int | None) -> Env:
        env = copied(place.token)
        if fresh is not None:
            reseed(env, fresh)
        return env

    def _token(self, env: Env, place: Place, taken: tuple[int, ...]) -> Env:
        return env


class CloningProbe(Probe):
    """The environment's own clone, and copies of what its wrappers remember."""

    kind = "the environment's own clones"

    def _first_token(self, seed: int) -> Any:
        world: Any = self.env.unwrapped
        # With and without the emulator's random numbers: fresh ones go on from where they are.
        states = [world.clone_state(include_rng=rng) for rng in (False, True)]
        memories = [remembered(wrapper) for wrapper in wrappers(self.env)]
        # The screen is drawn by steps only: going back does not change it.
        picture = self.env.render() if self.env.render_mode in PICTURES else None
        return states, memories, copy.deepcopy(world.np_random), picture

    def _go(self, place: Place, fresh: int | None) -> Env:
        states, memories, random, _ = place.token
        world: Any = self.env.unwrapped
        forget_last_action(world)
        world.restore_state(states[fresh is None])
        world.np_random = copy.deepcopy(random) if fresh is None else np.random.default_rng(fresh)
        for wrapper, memory in zip(wrappers(self.env), memories, strict=True):
            wrapper.__dict__.update(copy.deepcopy(memory))
        return self.env

    def picture(self, place: Place) -> Any:
        """Return what the environment rendered when it was there, or None."""
        return place.token[-1]

    def _token(self, env: Env, place: Place, taken: tuple[int, ...]) -> Any:
        # A word of no actions draws nothing.
        return self._first_token(0) if taken else place.token


class ReplayingProbe(Probe):
    """Starting over: a token is a seed and the actions since, with the randomness they had."""

    kind = "starting over with the same seed and actions"

    def _first_token(self, seed: int) -> Any:
        return seed, ()

    def _go(self, place: Place, fresh: int | None) -> Env:
        seed, parts = place.token
        self.env.reset(seed=seed)
        for random, actions in parts:
            self._renew(random)
            for action in actions:
                self._step(self.env, action)
        self._renew(fresh)
        return self.env

    def _renew(self, fresh: int | None) -> None:
        self._fresh = fresh
        if fresh is not None:
            reseed(self.env, fresh)

    def _token(self, env: Env, place: Place, taken: tuple[int, ...]) -> Any:
        seed, parts = place.token
        return seed, (*parts, (self._fresh, taken))


def make_probe(
    env: Env, state: StateOf | None = None, *, seed: int = 0, budget: float = math.inf
) -> Probe:
    """Return the first kind of probe that works for an environment.

    Args:
        env: with discrete actions.
        state: reads what is compared; by default it is the observation.
        seed: of the actions by which it is tried.
        budget: the steps that may be taken, those to find out included.

    Raises:
        ArgumentTypeError: its actions are not discrete.
        ProbeError: it can be put back in none of the three ways.
        BudgetSpent: the budget does not last to find out.
    """
    if not isinstance(env, gym.Env):
        raise ArgumentTypeError(f"expected a Gymnasium environment, found {type(env).__name__}")
    if not isinstance(env.action_space, gym.spaces.Discrete) or env.action_space.start != 0:
        raise ArgumentTypeError(
            f"expected actions Discrete(n) from 0 on, found {env.action_space}: words are made "
            "of a list of actions (easee.envs.FlatActions makes one of MultiDiscrete)"
        )
    env = bare(env)
    if state is not None:
        _check_reads(env, state, seed)
    kinds: list[type[Probe]] = [CopyingProbe, ReplayingProbe]
    if hasattr(env.unwrapped, "clone_state") and hasattr(env.unwrapped, "restore_state"):
        kinds.insert(0, CloningProbe)
    reasons, steps = [], 0
    for kind in kinds:
        probe = kind(env, state)
        probe.steps, probe.budget = steps, budget
        try:
            _check_repeats(probe, seed)
        except EaseeError:
            raise
        except UNCOPYABLE as error:
            reasons.append(f"{kind.kind}: {error}")
            steps = probe.steps
        else:
            return probe
    raise ProbeError("this environment cannot be put back. Tried " + "; ".join(reasons))


def _check_reads(env: Env, state: StateOf, seed: int) -> None:
    """Read a state once, so that errors of the function are seen as what they are."""
    if not callable(state):
        raise ArgumentTypeError(
            "expected state as a function from the environment to something hashable, found "
            f"{state!r}: easee.probing.state_keys has minigrid_state and ram_state"
        )
    env.reset(seed=seed)
    _checked_state(state(env))


def _check_repeats(probe: Probe, seed: int) -> None:
    """Step the environment itself, go back, and go to the same places again.

    Every place on the way is compared: a copy that moves or shows something of the original, say by
    a function that knows it, may well agree with it in the end.
    """
    rng = np.random.default_rng(seed)
    place = probe.reset(seed)
    for _ in range(3):
        word = rng.integers(probe.n_actions, size=4).tolist()
        itself = probe.follow(word)
        again = probe.walk(place, word)
        if itself != [one.key for one in again[1:]]:
            raise ValueError("the same actions from the same place came out differently")
        end = again[-1]
        place = end if not (end.terminated or end.truncated) else probe.reset(seed)


def names_of(env: Env) -> tuple[str, ...]:
    """Return the names of an environment's actions; numbers where it has none."""
    known = action_names(env)
    return known or tuple(str(i) for i in range(int(env.action_space.n)))  # type: ignore[attr-defined]


def _checked_state(found: Any) -> Hashable:
    try:
        hash(found)
    except TypeError:
        raise ArgumentTypeError(
            f"expected state= to return something hashable, found {type(found).__name__}: make it "
            "a tuple, or bytes"
        ) from None
    state: Hashable = found
    return state
