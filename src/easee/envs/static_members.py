"""Large members of an environment that its copies share, such as a table of transitions.

Copying a table of thousands of tuples takes far longer than a step. A member is shared if it is
made of Python's own containers of numbers and texts. An environment that changes such a member
would change all its copies, so `changed` compares it with its original contents. That is much
faster than a copy, because unchanged elements are identical.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from easee.envs.copying import Env, wrappers

LEAST_SIZE = 100  # containers and elements of a member that is shared; smaller ones are copied
MAX_DEPTH = 20  # of nested containers
ATOMS = (str, bytes, int, float, complex, bool, type(None), np.number, np.bool_)


class StaticMembers:
    """The large members of an environment and its wrappers that consist of plain data.

    Attributes:
        containers: all lists, dictionaries and sets in them, also the nested ones.
    """

    def __init__(self, env: Env) -> None:
        self.containers: list[Any] = []
        for layer in [*wrappers(env), env.unwrapped]:
            for value in getattr(layer, "__dict__", {}).values():
                self._add(value)
        self._contents = [container.copy() for container in self.containers]

    def _add(self, value: Any) -> None:
        if type(value) not in (dict, list, tuple, set) or id(value) in map(id, self.containers):
            return
        try:
            parts = list(_parts(value, MAX_DEPTH))
        except _NotPlainError:
            return
        if len(parts) >= LEAST_SIZE:
            mutable = {id(part): part for part in parts if type(part) in (dict, list, set)}
            self.containers += mutable.values()

    def changed(self) -> bool:
        """Return whether a member was changed, and change it back."""
        if all(map(operator.eq, self.containers, self._contents)):
            return False
        for container, contents in zip(self.containers, self._contents, strict=True):
            if isinstance(container, list):
                container[:] = contents
            else:
                container.clear()
                container.update(contents)
        return True


class _NotPlainError(Exception):
    """A value contains something else than plain data."""


def _parts(value: Any, depth: int) -> Iterator[Any]:
    """Yield a value and everything in it, and raise _NotPlainError unless all of it is plain."""
    yield value
    kind = type(value)
    if depth and kind is dict:
        for key, element in value.items():
            if not isinstance(key, ATOMS) and type(key) is not tuple:
                raise _NotPlainError
            yield from _parts(element, depth - 1)
    elif depth and kind in (list, tuple, set, frozenset):
        for element in value:
            yield from _parts(element, depth - 1)
    elif not isinstance(value, ATOMS):
        raise _NotPlainError
