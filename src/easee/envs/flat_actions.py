"""A wrapper that turns `MultiDiscrete` actions into one list of named actions."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from easee.errors import ArgumentError, ArgumentTypeError
from easee.priors.equivalences import check_action_names


class FlatActions(gym.ActionWrapper[Any, np.int64, NDArray[np.int64]]):
    """A wrapper with one `Discrete` action for each combination of `MultiDiscrete` choices.

    Priors describe one action per step; write them in the names in `action_names`.

    Args:
        env: environment with `MultiDiscrete` actions.
        factors: names of the choices of each factor; by default a letter and a number.

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
                f"expected an environment with one-dimensional MultiDiscrete actions, found {space}"
            )
        sizes = space.nvec.tolist()
        names = _default_names(sizes) if factors is None else [tuple(names) for names in factors]
        counts = [len(choices) for choices in names]
        if counts != sizes:
            raise ArgumentError(f"expected names for factors of {sizes} choices, found {counts}")
        self.action_names = check_action_names(map("+".join, product(*names)))
        self.action_space = spaces.Discrete(len(self.action_names))
        self._actions = np.array(list(product(*(range(n) for n in sizes))), space.dtype)
        self._actions += space.start

    def action(self, action: np.int64 | int) -> NDArray[np.int64]:
        """Return the choices of all factors, int (factors,)."""
        if not 0 <= action < len(self._actions):
            raise ArgumentError(
                f"expected an action from 0 to {len(self._actions) - 1}, found {action!r}"
            )
        chosen: NDArray[np.int64] = self._actions[action].copy()
        return chosen


def _default_names(sizes: Sequence[int]) -> list[tuple[str, ...]]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    if len(sizes) > len(letters):
        raise ArgumentError(f"no default names for {len(sizes)} factors: pass `factors`")
    return [tuple(f"{letters[i]}{j}" for j in range(n)) for i, n in enumerate(sizes)]
