"""Several factors of actions as one list with names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from easee.errors import ArgumentError, ArgumentTypeError
from easee.priors.equivalences import Equivalences


class FlatActions(gym.ActionWrapper[Any, np.int64, NDArray[np.int64]]):
    """Turns several actions at a time (`MultiDiscrete`) into one of all combinations.

    A prior speaks of one action a step. Name the choices of every factor, and the wrapper's
    `action_names` are what a prior can be written in.

    Args:
        env: an environment with `MultiDiscrete` actions.
        factors: for every factor the names of its choices; by default a letter and a number.

    >>> from gymnasium.envs.classic_control import CartPoleEnv
    >>> class Car(CartPoleEnv):
    ...     action_space = spaces.MultiDiscrete([3, 2])
    ...     def __init__(self):
    ...         pass
    >>> FlatActions(Car(), [["left", "straight", "right"], ["coast", "gas"]]).action_names
    ('left+coast', 'left+gas', 'straight+coast', 'straight+gas', 'right+coast', 'right+gas')
    """

    def __init__(
        self, env: gym.Env[Any, Any], factors: Sequence[Iterable[str]] | None = None
    ) -> None:
        super().__init__(env)
        space = env.action_space
        if not isinstance(space, spaces.MultiDiscrete) or space.nvec.ndim != 1:
            raise ArgumentTypeError(
                f"expected an environment with MultiDiscrete actions in a row, found {space}"
            )
        sizes = space.nvec.tolist()
        names = _default_names(sizes) if factors is None else [tuple(names) for names in factors]
        if [len(choices) for choices in names] != sizes:
            raise ArgumentError(
                f"expected names for factors of {sizes} choices, "
                f"found {[len(choices) for choices in names]}"
            )
        self.action_names = Equivalences(["+".join(parts) for parts in product(*names)]).actions
        self.action_space = spaces.Discrete(len(self.action_names))
        self._actions = np.array(list(product(*(range(n) for n in sizes))), space.dtype)
        self._actions += space.start

    def action(self, action: np.int64 | int) -> NDArray[np.int64]:
        """Return the choices of all factors."""
        if not 0 <= action < len(self._actions):
            raise ArgumentError(
                f"expected an action from 0 to {len(self._actions) - 1}, found {action!r}"
            )
        chosen: NDArray[np.int64] = self._actions[action].copy()
        return chosen


def _default_names(sizes: Sequence[int]) -> list[tuple[str, ...]]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    if len(sizes) > len(letters):
        raise ArgumentError(f"{len(sizes)} factors are too many to be named: give `factors`")
    return [tuple(f"{letters[i]}{j}" for j in range(n)) for i, n in enumerate(sizes)]
