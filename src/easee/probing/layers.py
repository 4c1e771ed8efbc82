"""The layers of an environment: the wrappers around it, and what has to be kept of each."""

from __future__ import annotations

import copy
import math
from typing import Any

import gymnasium as gym

Env = gym.Env[Any, Any]
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
