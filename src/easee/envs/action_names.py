"""Names of an environment's actions."""

from collections.abc import Callable, Iterable
from typing import Any

import gymnasium as gym
from gymnasium import spaces


def action_names(env: gym.Env[Any, Any]) -> tuple[str, ...] | None:
    """Return the names of an environment's actions, or None if it has no names for them.

    Our environments have `action_names`, Atari games `get_action_meanings()`, MiniGrid's an
    enumeration.

    >>> action_names(gym.make("CartPole-v1")) is None
    True
    """
    return read_names(
        env.action_space,
        has=env.has_wrapper_attr,
        get=env.get_wrapper_attr,
        call=lambda name: env.get_wrapper_attr(name)(),
    )


def names_or_numbers(env: gym.Env[Any, Any]) -> tuple[str, ...]:
    """Return the names of an environment's discrete actions, or their numbers if it has no names.

    >>> names_or_numbers(gym.make("CartPole-v1"))
    ('0', '1')
    """
    return action_names(env) or tuple(map(str, range(env.action_space.n)))  # type: ignore[attr-defined]


def read_names(
    space: spaces.Space[Any],
    *,
    has: Callable[[str], bool],
    get: Callable[[str], Any],
    call: Callable[[str], Any],
) -> tuple[str, ...] | None:
    """Return the names of actions through accessors, such as those of a worker process."""
    names: Iterable[str] = ()
    if has("action_names"):
        names = get("action_names")
    elif has("get_action_meanings"):
        names = call("get_action_meanings")
    elif has("actions"):  # MiniGrid's
        names = getattr(get("actions"), "__members__", ())
    texts = tuple(map(str, names)) if isinstance(names, Iterable) else ()
    return texts if len(texts) == getattr(space, "n", None) else None
