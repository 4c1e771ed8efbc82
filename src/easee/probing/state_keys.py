"""Keys by which states are compared: observations, or what a function reads from the environment.

`easee.envs.minigrid.minigrid_state` and `easee.envs.atari.ram_state` are such functions.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from easee._utils.digests import digest
from easee.errors import ArgumentTypeError

StateOf = Callable[[gym.Env[Any, Any]], Hashable]


@dataclass(frozen=True)
class ObservationFunction:
    """A function of the observation; equal results of `transform` are equal states."""

    transform: Callable[[Any], Any]
    label: str

    def __call__(self, observation: Any) -> Hashable:
        """Return the key of an observation."""
        return digest(self.transform(observation))


# What users may pass: a function, a text (see `easee.probing.state_functions`) or None.
AnyState = StateOf | ObservationFunction | str | None


def label_of(state: StateOf | ObservationFunction | None) -> str:
    """Return a description of what is compared."""
    if state is None:
        return "observations"
    return getattr(state, "label", "states returned by the given function")


def state_key(
    env: gym.Env[Any, Any], observation: Any, state: StateOf | ObservationFunction | None
) -> Hashable:
    """Return the result of the state function, or the observation's digest if there is none."""
    if state is None:
        return digest(observation)
    if isinstance(state, ObservationFunction):
        return state(observation)
    key = state(env)
    try:
        hash(key)
    except TypeError:
        raise ArgumentTypeError(
            f"expected state= to return something hashable, found {type(key).__name__}: return a "
            "tuple or bytes"
        ) from None
    return key


def check_state(env: gym.Env[Any, Any], state: StateOf | ObservationFunction, seed: int) -> None:
    """Call a state function once, so that its errors are raised before anything else is tried."""
    if not callable(state):
        raise ArgumentTypeError(
            "expected state as a string such as 'observation' or 'round:2', or as a function from "
            f"the environment to something hashable, found {state!r}"
        )
    observation, _ = env.reset(seed=seed)
    state_key(env, observation, state)
