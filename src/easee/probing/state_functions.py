"""State functions from short texts such as "round:2", in Python and on the command line.

observation[:ENTRIES]      the observation, or some of its numbers, counted from 0
round:DIGITS[:ENTRIES]     the observation rounded to a number of decimal places
cells:WIDTH[:ENTRIES]      the observation in cells of a width: 0.5 for halves
attribute:NAME             an attribute of the environment, such as s or state
minigrid                   the whole state of a MiniGrid
ram[:ADDRESSES]            all or some bytes of an Atari game's memory
function:MODULE.NAME       a function from the environment to something hashable
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable
from typing import Any

import gymnasium as gym
import numpy as np

from easee._utils.checks import nearest
from easee._utils.digests import digest, leaves
from easee.envs.atari import ram_state
from easee.envs.minigrid import is_minigrid, minigrid_state
from easee.errors import ArgumentError
from easee.probing.state_keys import AnyState, ObservationFunction, StateOf

KINDS = ("observation", "round", "cells", "attribute", "minigrid", "ram", "function")


def state_function(text: str) -> StateOf | ObservationFunction:
    """Return the state function that a text describes.

    An `ObservationFunction` is a function of the observation alone, so it also works in vector
    environments. The others are functions of the environment.

    >>> halves = state_function("cells:0.5")
    >>> halves(np.array([0.1, 0.6])) == halves(np.array([0.4, 0.9]))
    True
    >>> state_function("rond:2")
    Traceback (most recent call last):
    easee.errors.ArgumentError: unknown state 'rond:2': did you mean 'round'?
    """
    kind, _, rest = text.partition(":")
    readers: dict[str, Callable[[str], StateOf | ObservationFunction]] = {
        "observation": _entries_of_observation,
        "round": _rounded,
        "cells": _cells,
        "attribute": _attribute,
        "minigrid": _minigrid,
        "ram": _ram,
        "function": _imported,
    }
    if kind not in readers:
        raise ArgumentError(f"unknown state {text!r}: {nearest(kind, KINDS)}")
    return readers[kind](rest)


def resolve_state(env: gym.Env[Any, Any], state: AnyState) -> StateOf | ObservationFunction | None:
    """Return what is compared in an environment, or None for plain observations.

    By default that is the whole state of a MiniGrid, and the observation elsewhere.
    """
    if state is None:
        return minigrid_state if is_minigrid(env) else None
    if not isinstance(state, str):
        return state
    if state == "observation":
        return None
    function = state_function(state)
    if function is minigrid_state and not is_minigrid(env):
        raise ArgumentError(f"the state {state!r} requires a MiniGrid environment")
    if isinstance(function, ram_state) and not hasattr(env.unwrapped, "ale"):
        raise ArgumentError(f"the state {state!r} requires an Atari game")
    return function


# --- functions of the observation -----------------------------------------------------------------


def _entries_of_observation(text: str) -> ObservationFunction:
    entries = _entries(text, "observation:0,2")
    return ObservationFunction(lambda o: _numbers(o, entries), f"observations{_named(entries)}")


def _rounded(text: str) -> ObservationFunction:
    digits, _, rest = text.partition(":")
    entries = _entries(rest, "round:2:0,2")
    try:
        places = int(digits)
    except ValueError:
        raise ArgumentError(
            f"expected a number of decimal places as round:2, found {digits!r}"
        ) from None
    return ObservationFunction(
        lambda o: _map(lambda numbers: np.round(numbers, places), o, entries),
        f"observations{_named(entries)}, rounded to {places} decimal places",
    )


def _cells(text: str) -> ObservationFunction:
    width, _, rest = text.partition(":")
    entries = _entries(rest, "cells:0.5:0,2")
    try:
        size = float(width)
    except ValueError:
        size = 0.0
    if not 0.0 < size < np.inf:
        raise ArgumentError(f"expected a positive width as cells:0.5, found {width!r}")
    return ObservationFunction(
        lambda o: _map(lambda numbers: np.floor(numbers / size), o, entries),
        f"observations{_named(entries)}, in cells of width {size:g}",
    )


def _entries(text: str, example: str) -> list[int] | None:
    """Return the numbers in a string such as 0,2, or None if it is empty."""
    parts = [part.strip() for part in text.split(",")] if text else []
    if not all(part.isdecimal() for part in parts):
        raise ArgumentError(f"expected entries of the observation as {example}, found {text!r}")
    return [int(part) for part in parts] or None


def _named(entries: list[int] | None) -> str:
    return "" if entries is None else f" (entries {', '.join(map(str, entries))})"


def _map(function: Callable[[Any], Any], observation: Any, entries: list[int] | None) -> Any:
    """Apply a function to all numbers of an observation, or to some of them."""
    if entries is not None:
        return function(_numbers(observation, entries))
    return {
        path: function(np.asarray(value, float)) if _is_numeric(value) else value
        for path, value in leaves(observation)
    }


def _numbers(observation: Any, entries: list[int] | None) -> Any:
    """Return some of the numbers in an observation, or the observation itself."""
    if entries is None:
        return observation
    parts = [np.ravel(value) for _, value in leaves(observation) if _is_numeric(value)]
    numbers = np.concatenate(parts).astype(float) if parts else np.zeros(0)
    if max(entries) >= numbers.size:
        raise ArgumentError(
            f"the observation has {numbers.size} numbers, counted from 0: there is no entry "
            f"{max(entries)}"
        )
    return numbers[entries]


def _is_numeric(value: Any) -> bool:
    return isinstance(value, int | float) or (
        isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    )


# --- functions of the environment -----------------------------------------------------------------


def _attribute(name: str) -> StateOf:
    if not name.isidentifier():
        raise ArgumentError(f"expected the name of an attribute as attribute:s, found {name!r}")

    def attribute_state(env: gym.Env[Any, Any]) -> Hashable:
        try:
            value = env.get_wrapper_attr(name)
        except AttributeError:
            known = [key for key in vars(env.unwrapped) if not key.startswith("_")]
            raise ArgumentError(
                f"the environment has no attribute {name!r}: {nearest(name, known)}"
            ) from None
        return digest(value)

    attribute_state.label = f"the environment's attribute {name}"  # type: ignore[attr-defined]
    return attribute_state


def _minigrid(text: str) -> StateOf:
    if text:
        raise ArgumentError(f"expected minigrid without an argument, found {text!r}")
    return minigrid_state


def _ram(text: str) -> StateOf:
    addresses = [address for address in text.split(",") if address]
    if not all(address.isdecimal() and int(address) < 128 for address in addresses):
        raise ArgumentError(f"expected bytes from 0 to 127 as ram:14,16, found {text!r}")
    return ram_state(*map(int, addresses))


def _imported(text: str) -> StateOf:
    module, _, name = text.rpartition(".")
    if not module:
        raise ArgumentError(f"expected a function as function:MODULE.NAME, found {text!r}")
    try:
        function: StateOf = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ArgumentError(f"no function {text!r} can be imported: {error}") from None
    if not callable(function):
        raise ArgumentError(f"expected a function, found {text} = {function!r}")
    return function
