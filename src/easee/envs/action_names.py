"""What environments call their actions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import gymnasium as gym
from gymnasium import spaces


def action_names(env: gym.Env[Any, Any]) -> tuple[str, ...] | None:
    """Return what an environment calls its actions, or None where it has no names for them.

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


def read_names(
    space: spaces.Space[Any],
    *,
    has: Callable[[str], bool],
    get: Callable[[str], Any],
    call: Callable[[str], Any],
) -> tuple[str, ...] | None:
    """Return the names of actions from an object behind functions, say one in another process."""
    names: Iterable[str] = ()
    if has("action_names"):
        names = get("action_names")
    elif has("get_action_meanings"):
        names = call("get_action_meanings")
    elif has("actions"):  # MiniGrid's
        names = getattr(get("actions"), "__members__", ())
    found = tuple(map(str, names)) if isinstance(names, Iterable) else ()
    return found if len(found) == getattr(space, "n", None) else None
