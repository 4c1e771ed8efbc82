"""Keys by which states are compared: observations, or what a function reads from the environment.

`easee.envs.minigrid.minigrid_state` and `easee.envs.atari.ram_state` are such functions.
"""

from collections.abc import Callable, Hashable
from typing import Any, Literal

import gymnasium as gym

from easee._utils.digests import digest
from easee.envs.minigrid import is_minigrid, minigrid_state
from easee.errors import ArgumentTypeError

StateOf = Callable[[gym.Env[Any, Any]], Hashable]
AnyState = StateOf | Literal["observation"] | None


def state_function(env: gym.Env[Any, Any], state: AnyState) -> StateOf | None:
    """Return the state function of an environment, or None to compare observations."""
    if state is None and is_minigrid(env):
        return minigrid_state
    return None if state == "observation" else state


def label_of(state: StateOf | None) -> str:
    """Return a description of what is compared."""
    if state is None:
        return "observations"
    return getattr(state, "label", "states returned by the given function")


def state_key(env: gym.Env[Any, Any], observation: Any, state: StateOf | None) -> Hashable:
    """Return the result of the state function, or the observation's digest if there is none."""
    if state is None:
        return digest(observation)
    key = state(env)
    try:
        hash(key)
    except TypeError:
        raise ArgumentTypeError(
            f"expected state= to return something hashable, found {type(key).__name__}: return a "
            "tuple or bytes"
        ) from None
    return key


def check_state(env: gym.Env[Any, Any], state: StateOf, seed: int) -> None:
    """Call a state function once, so that its errors are raised before anything else is tried."""
    if not callable(state):
        raise ArgumentTypeError(
            "expected state as a function from the environment to something hashable or as "
            f"'observation', found {state!r}: use easee.envs.minigrid.minigrid_state or "
            "easee.envs.atari.ram_state"
        )
    observation, _ = env.reset(seed=seed)
    state_key(env, observation, state)
