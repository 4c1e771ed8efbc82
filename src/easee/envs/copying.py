"""The layers of an environment: the wrappers around it, and what has to be kept of each."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np

Env = gym.Env[Any, Any]
Generator = np.random.Generator | np.random.RandomState | random.Random
DEEP = 5  # how far inside an environment generators are looked for
CHECKS = (gym.wrappers.OrderEnforcing, gym.wrappers.PassiveEnvChecker)


def copied(env: Env) -> Env:
    """Return a deep copy that shares what never changes: spaces and specifications."""
    shared: dict[int, Any] = {}
    for layer in [*wrappers(env), env.unwrapped]:
        for name in ("action_space", "observation_space", "metadata", "spec", "cached_spec"):
            for value in (layer.__dict__.get(name), layer.__dict__.get(f"_{name}")):
                shared[id(value)] = value
    return copy.deepcopy(env, shared)


def bare(env: Env) -> Env:
    """Return an environment without the wrappers that only check how it is used."""
    if isinstance(env, CHECKS):
        return bare(env.env)
    if isinstance(env, gym.Wrapper):
        twin = copy.copy(env)
        twin.env = bare(env.env)
        return twin
    return env


def wrappers(env: Env) -> list[gym.Wrapper[Any, Any, Any, Any]]:
    """Return the wrappers of an environment, the outermost first."""
    found = []
    while isinstance(env, gym.Wrapper):
        found.append(env)
        env = env.env
    return found


def remembered(wrapper: gym.Wrapper[Any, Any, Any, Any]) -> dict[str, Any]:
    """Return a copy of what a wrapper remembers."""
    return copy.deepcopy({k: v for k, v in wrapper.__dict__.items() if k not in ("env", "spec")})


def reseed(env: Env, seed: int) -> None:
    """Give an environment fresh randomness: Gymnasium's generator, and all that it keeps itself."""
    env.unwrapped.np_random = np.random.default_rng(seed)
    for i, found in enumerate(_generators(env)):
        fresh = np.random.SeedSequence([seed, i])
        if isinstance(found, np.random.Generator):
            found.bit_generator.state = type(found.bit_generator)(fresh).state
        else:
            found.seed(int(fresh.generate_state(1)[0]))


def _generators(env: Env) -> Iterator[Generator]:
    """Yield the generators inside an environment and its wrappers, not those of its spaces."""
    now: list[Any] = [*wrappers(env), env.unwrapped]
    seen = set(map(id, now))
    for _ in range(DEEP):
        following: list[Any] = []
        for part in now:
            if isinstance(part, Generator):
                yield part
            else:
                new = [inner for inner in _inside(part) if id(inner) not in seen]
                seen.update(map(id, new))
                following += new
        now = following


def _inside(part: Any) -> list[Any]:
    """Return what something is made of, if that may hold a generator."""
    if isinstance(part, gym.Space | type | ModuleType):
        return []
    if isinstance(part, dict):
        return list(part.values())
    if isinstance(part, list | tuple | set):
        return list(part)
    return list(getattr(part, "__dict__", {}).values())


def forget_last_action(world: Any) -> None:
    """Make waiting the action that sticky actions of an Atari game repeat.

    A clone does not say which action was the last, so the game would go on with one of elsewhere.
    """
    ale = getattr(world, "ale", None)
    if ale is None:
        return
    stickiness = ale.getFloat("repeat_action_probability")
    if 0.0 < stickiness < 1.0:
        for _ in range(math.ceil(math.log(1e-9) / math.log(stickiness))):
            ale.act(0)
