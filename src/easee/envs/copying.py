"""Copies of an environment and its wrappers, and new seeds for all its random generators."""

import copy
import random
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np

Env = gym.Env[Any, Any]
Generator = np.random.Generator | np.random.RandomState | random.Random
MAX_NESTING = 5  # levels inside an environment that are searched for generators
CHECKING_WRAPPERS = (gym.wrappers.OrderEnforcing, gym.wrappers.PassiveEnvChecker)


def copied(env: Env, static: Sequence[Any] = ()) -> Env:
    """Return a deep copy that shares the spaces, metadata, specifications and `static` members."""
    shared = {id(member): member for member in (*shared_members(env), *static)}
    return copy.deepcopy(env, shared)


def shared_members(env: Env) -> list[Any]:
    """Return the spaces, metadata and specifications of an environment and its wrappers."""
    members = []
    for layer in [*wrappers(env), env.unwrapped]:
        for name in ("action_space", "observation_space", "metadata", "spec", "cached_spec"):
            members += [layer.__dict__.get(name), layer.__dict__.get(f"_{name}")]
    return [member for member in members if member is not None]


def without_checks(env: Env) -> Env:
    """Return an environment without the wrappers that only check how it is used."""
    if isinstance(env, CHECKING_WRAPPERS):
        return without_checks(env.env)
    if isinstance(env, gym.Wrapper):
        twin = copy.copy(env)
        twin.env = without_checks(env.env)
        return twin
    return env


def wrappers(env: Env) -> list[gym.Wrapper[Any, Any, Any, Any]]:
    """Return the wrappers of an environment, the outermost first."""
    layers = []
    while isinstance(env, gym.Wrapper):
        layers.append(env)
        env = env.env
    return layers


def wrapper_state(wrapper: gym.Wrapper[Any, Any, Any, Any]) -> dict[str, Any]:
    """Return a copy of a wrapper's own attributes."""
    return copy.deepcopy({k: v for k, v in wrapper.__dict__.items() if k not in ("env", "spec")})


def reseed(env: Env, seed: int) -> None:
    """Reseed Gymnasium's generator and all generators that an environment holds."""
    env.unwrapped.np_random = np.random.default_rng(seed)
    for i, generator in enumerate(_generators(env)):
        sequence = np.random.SeedSequence([seed, i])
        if isinstance(generator, np.random.Generator):
            generator.bit_generator.state = type(generator.bit_generator)(sequence).state
        else:
            generator.seed(int(sequence.generate_state(1)[0]))


def _generators(env: Env) -> Iterator[Generator]:
    """Yield the generators inside an environment and its wrappers, except those of its spaces."""
    level: list[Any] = [*wrappers(env), env.unwrapped]
    seen = set(map(id, level))
    for _ in range(MAX_NESTING):
        next_level: list[Any] = []
        for part in level:
            if isinstance(part, Generator):
                yield part
            else:
                new = [child for child in _children(part) if id(child) not in seen]
                seen.update(map(id, new))
                next_level += new
        level = next_level


def _children(part: Any) -> list[Any]:
    """Return the elements or attributes of an object that may hold a generator."""
    if isinstance(part, gym.Space | type | ModuleType):
        return []
    if isinstance(part, dict):
        return list(part.values())
    if isinstance(part, list | tuple | set):
        return list(part)
    return list(getattr(part, "__dict__", {}).values())
