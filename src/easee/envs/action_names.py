"""Names of an environment's actions, and their match with those of a prior or a policy."""

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import gymnasium as gym
from gymnasium import spaces
from gymnasium.vector import VectorEnv, VectorWrapper

from easee._utils.checks import nearest
from easee.errors import ArgumentError, ArgumentTypeError
from easee.priors.equivalences import check_action_names

# Class of an environment of Gymnasium that does not name its actions: their names, in its
# documentation's order.
BUILT_IN = {
    "FrozenLakeEnv": ("left", "down", "right", "up"),
    "CliffWalkingEnv": ("up", "right", "down", "left"),
    "TaxiEnv": ("south", "north", "east", "west", "pickup", "dropoff"),
    "BlackjackEnv": ("stick", "hit"),
    "CartPoleEnv": ("left", "right"),
    "MountainCarEnv": ("left", "noop", "right"),
    "AcrobotEnv": ("negative", "zero", "positive"),
}
_CLASS_AND_ID = re.compile(r"(\w+)Env<\1\w*-v\d+>")  # in the text of a registered environment

logger = logging.getLogger("easee.names")


def action_names(
    env: gym.Env[Any, Any], names: Sequence[str] | None = None
) -> tuple[str, ...] | None:
    """Return the names of an environment's actions, or None if it has no names for them.

    Our environments have `action_names`, Atari games `get_action_meanings()`, MiniGrid's an
    enumeration. Those of Gymnasium's toy text and classic control are in `BUILT_IN`.

    Args:
        env: environment with discrete actions.
        names: names that replace the environment's.

    >>> action_names(gym.make("FrozenLake-v1"))
    ('left', 'down', 'right', 'up')
    """
    if names is not None:
        return checked_names(names, env.action_space)
    found = read_names(
        env.action_space,
        has=env.has_wrapper_attr,
        get=env.get_wrapper_attr,
        call=lambda name: env.get_wrapper_attr(name)(),
    )
    return found or _fitting(_names_of_class(type(env.unwrapped)), env.action_space)


def vector_action_names(
    envs: VectorEnv[Any, Any, Any], names: Sequence[str] | None = None
) -> tuple[str, ...] | None:
    """Return the names of the actions of vector environments, or None if they have no names.

    Those of the vector environments themselves come before those of the environments in them.

    >>> vector_action_names(gym.make_vec("Taxi-v4", 2, "sync"))
    ('south', 'north', 'east', 'west', 'pickup', 'dropoff')
    """
    space, inner = envs.single_action_space, envs.unwrapped
    if names is not None:
        return checked_names(names, space)
    if (own := _own_names(envs)) is not None:
        return own
    if getattr(inner, "envs", ()):
        return _fitting(action_names(inner.envs[0]), space)  # type: ignore[attr-defined]
    if not hasattr(inner, "call"):
        return None
    read: Callable[..., Any] = lambda name, *arguments: inner.call(name, *arguments)[0]  # noqa: E731
    return read_names(
        space,
        has=lambda name: bool(read("has_wrapper_attr", name)),
        get=lambda name: read("get_wrapper_attr", name),
        call=read,
    )


def names_or_numbers(env: gym.Env[Any, Any], names: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the names of an environment's discrete actions, or their numbers if it has no names.

    >>> names_or_numbers(gym.Wrapper(gym.make("CartPole-v1"))), numbers(3)
    (('left', 'right'), ('0', '1', '2'))
    """
    return action_names(env, names) or numbers(env.action_space.n)  # type: ignore[attr-defined]


def numbers(n_actions: int) -> tuple[str, ...]:
    """Return the numbers of actions as names."""
    return tuple(map(str, range(n_actions)))


def read_names(
    space: spaces.Space[Any],
    *,
    has: Callable[[str], bool],
    get: Callable[[str], Any],
    call: Callable[[str], Any],
) -> tuple[str, ...] | None:
    """Return the names of actions through accessors, such as those of a worker process."""
    names: Any = ()
    if has("action_names"):
        names = get("action_names")
    elif has("get_action_meanings"):
        names = call("get_action_meanings")
    elif has("actions"):  # MiniGrid's
        names = getattr(get("actions"), "__members__", ())
    else:  # a text can be sent between processes, other than some environments
        match = _CLASS_AND_ID.search(str(call("__str__")))
        names = BUILT_IN.get(f"{match[1]}Env", ()) if match else ()
    return _fitting(names, space)


def checked_names(names: Sequence[str], space: spaces.Space[Any]) -> tuple[str, ...]:
    """Return names given by a user; raise an error unless there is one for each action."""
    checked = check_action_names(names)
    if len(checked) != getattr(space, "n", None):
        raise ArgumentError(
            f"expected names of the environment's {getattr(space, 'n', '?')} actions, in the order "
            f"of their numbers, found {len(checked)}: {', '.join(checked)}"
        )
    return checked


def order_note(actions: Sequence[str], owner: str = "the policy") -> str:
    """Return a sentence about actions that are identified by their position alone.

    >>> order_note(["right", "left"])
    "the environment does not name its actions: the policy's are taken in order: right=0, left=1"
    """
    pairs = ", ".join(f"{name}={i}" for i, name in enumerate(actions))
    return f"the environment does not name its actions: {owner}'s are taken in order: {pairs}"


def match_actions(
    actions: Sequence[str],
    names: Sequence[str] | None,
    owner: str = "the policy",
    *,
    n_actions: int | None = None,
    rename: Mapping[str, str] | None = None,
) -> tuple[list[int], str | None]:
    """Return the environment's number of each action, and a note if they are taken in order.

    Names match exactly, or ignoring case if only one name matches that way.
    Actions that are all numbers, and not all names, mean themselves.

    Args:
        actions: names in a prior or a policy.
        names: the environment's names, or None if it has none.
        owner: what has the actions, for messages.
        n_actions: number of the environment's actions; by default that of `actions`.
        rename: the environment's names of some actions. None means that the caller cannot rename
            actions, and messages do not suggest it.

    Raises:
        ArgumentError: an action is unknown, or two actions are the same one.

    >>> match_actions(["up", "down"], ["DOWN", "UP"])
    ([1, 0], None)
    """
    sought = _renamed(actions, rename or {})
    count = len(actions) if n_actions is None else n_actions
    known = names or numbers(count)
    found = [_position(name, known) for name in sought]
    if None in found and set(sought) <= set(numbers(count)):
        found = [int(name) for name in sought]
    if None in found and names is None and len(actions) == count and not rename:
        return list(range(count)), order_note(actions, owner)
    matched = [number for number in found if number is not None]
    if len(set(matched)) == len(actions):
        return matched, None
    if rename is None:
        raise _other_actions(actions, known, owner)
    if None in found:
        i = found.index(None)
        raise _unknown_action(actions, known, owner, actions[i], sought[i])
    raise _same_action(actions, known, owner, matched, rename)


def _renamed(actions: Sequence[str], rename: Mapping[str, str]) -> list[str]:
    """Return the actions with some of them renamed."""
    for action, name in rename.items():
        if action not in actions:
            raise ArgumentError(
                f"expected an action of the prior to rename, found {action!r}: "
                f"{nearest(str(action), actions)}"
            )
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"expected the environment's name of {action!r} as text, found {name!r}"
            )
    return [rename.get(action, action) for action in actions]


def _position(name: str, names: Sequence[str]) -> int | None:
    """Return the number of the only action with a name; case counts where it must."""
    exact = [i for i, known in enumerate(names) if known == name]
    close = exact or [i for i, known in enumerate(names) if known.lower() == name.lower()]
    return close[0] if len(close) == 1 else None


def _other_actions(actions: Sequence[str], known: Sequence[str], owner: str) -> ArgumentError:
    """Return the error for actions that differ and cannot be renamed."""
    return ArgumentError(
        f"{owner}'s actions are not the environment's: {owner} has {', '.join(actions)}, the "
        f"environment {', '.join(known)}. Write the prior in the environment's names. Or, if "
        f"{owner}'s names mean the environment's actions in the order of their numbers, pass "
        f"names={list(actions)!r} (on the command line, --names {','.join(actions)})"
    )


def _unknown_action(
    actions: Sequence[str], known: Sequence[str], owner: str, action: str, name: str
) -> ArgumentError:
    """Return the error for an action whose name is none of the environment's, or several."""
    hint = nearest(name.lower(), [other.lower() for other in known])
    several = [other for other in known if other.lower() == name.lower()]
    if len(several) > 1:
        hint = f"{name!r} may be any of: {', '.join(several)}"
    if known.count(name) > 1:
        hint = (
            "or, because several of the environment's actions have that name, name all of them "
            "with names=[...] (--names on the command line)"
        )
    return ArgumentError(
        f"{owner}'s action {action!r} is not one of the environment's: {owner} has "
        f"{', '.join(actions)}, the environment {', '.join(known)}. Pass its name in the "
        f"environment as rename={{{action!r}: ...}} (--rename {action}=... on the command line); "
        f"{hint}"
    )


def _same_action(
    actions: Sequence[str],
    known: Sequence[str],
    owner: str,
    matched: list[int],
    rename: Mapping[str, str],
) -> ArgumentError:
    """Return the error for two actions that have the same number."""
    pairs = combinations(range(len(matched)), 2)
    i, j = next((i, j) for i, j in pairs if matched[i] == matched[j])
    keeps_first = actions[i] in rename or actions[i] == known[matched[i]]
    other = actions[j] if keeps_first and actions[j] not in rename else actions[i]
    return ArgumentError(
        f"{owner}'s actions {actions[i]!r} and {actions[j]!r} would both be the environment's "
        f"{known[matched[i]]!r}: pass another name for one of them, such as "
        f"rename={{{other!r}: ...}} (--rename {other}=... on the command line)"
    )


def _own_names(envs: VectorEnv[Any, Any, Any]) -> tuple[str, ...] | None:
    """Return `action_names` of vector environments or of the outermost wrapper that has them."""
    layer: Any = envs
    names = _fitting(getattr(layer, "action_names", None), envs.single_action_space)
    while names is None and isinstance(layer, VectorWrapper):
        layer = layer.env
        names = _fitting(getattr(layer, "action_names", None), envs.single_action_space)
    return names


def _fitting(names: Any, space: spaces.Space[Any]) -> tuple[str, ...] | None:
    texts = tuple(map(str, names)) if isinstance(names, Iterable) else ()
    return texts if texts and len(texts) == getattr(space, "n", None) else None


def _names_of_class(kind: type) -> tuple[str, ...]:
    """Return the built-in names of an environment's class, also if it is made without an id."""
    own = [base for base in kind.__mro__ if base.__module__.startswith("gymnasium.envs.")]
    return next((BUILT_IN[base.__name__] for base in own if base.__name__ in BUILT_IN), ())
