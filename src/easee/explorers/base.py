"""What every explorer has in common: the interface that agents use, its checks, and drawing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from easee._utils.checks import checked_count
from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers.sampling import Actions, Mask

Seed = int | np.integer[Any] | np.random.Generator | None

FEW = 16  # up to so many environments are handled one by one
ONE, BOOL = (1,), np.dtype(bool)
BLOCK = 256  # uniforms that are drawn at a time for few environments


class BaseExplorer(ABC):
    """Chooses exploratory actions for `n_envs` environments at a time.

    In each step an agent calls `sample` or `choose`, takes actions, and reports those it took with
    `step`. All randomness comes from the explorer's own generator.

    For few environments numpy's overhead would be most of the cost, so they are handled one by one
    with plain numbers. `choose_one` and `step_one` offer that to agents, unchecked; they are for up
    to 16 environments and may be mixed with the others.

    Args:
        n_actions: how many actions there are.
        n_envs: how many environments.
        seed: an int, a `numpy.random.Generator`, or None for a fresh one.
    """

    def __init__(self, n_actions: int, n_envs: int = 1, seed: Seed = None) -> None:
        self.n_actions = checked_count(n_actions, "n_actions")
        self.n_envs = checked_count(n_envs, "n_envs")
        self.rng = _generator(seed)
        self._few = self.n_envs <= FEW
        self._block: list[float] = []  # uniforms for few environments, drawn ahead
        self._explored: Mask | list[bool] = [False] * self.n_envs

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_actions={self.n_actions}, n_envs={self.n_envs})"

    @property
    def explored(self) -> Mask:
        """Which of the actions that were returned last are exploratory, bool (n_envs,)."""
        return np.array(self._explored, bool)

    def sample(self, mask: ArrayLike | None = None) -> Actions:
        """Return an exploratory action for every environment, int (n_envs,).

        Args:
            mask: bool (k,) or (n_envs, k), the actions that are allowed.
        """
        self._explored = [True] * self.n_envs
        if self._few and mask is None:
            return np.array([self._sample_one(env) for env in range(self.n_envs)])
        return self._explore(self._checked_mask(mask))

    def choose(
        self,
        greedy: ArrayLike | Callable[[], ArrayLike],
        epsilon: float | ArrayLike,
        mask: ArrayLike | None = None,
    ) -> Actions:
        """Return epsilon-greedy actions, int (n_envs,), with one coin per environment.

        Args:
            greedy: int (n_envs,), what to do when not exploring, or a function that returns it. The
                function is called only if some environment does not explore, which saves a pass
                through a network.
            epsilon: the chance to explore, for all or float (n_envs,).
            mask: bool (k,) or (n_envs, k), the actions that exploration may take.
        """
        if type(epsilon) is not float or not 0.0 <= epsilon <= 1.0:
            epsilon = self._checked_epsilon(epsilon)
        if self._few and mask is None and type(epsilon) is float:
            if self.n_envs == 1 and (only := self._only(greedy)) is not None:
                return np.array((self.choose_one(only, epsilon),))
            return self._choose_few(greedy, epsilon)
        now = np.zeros(self.n_envs, np.int64) if callable(greedy) else self._checked_actions(greedy)
        coins = self._uniforms() < epsilon
        chosen = self._mix(now, coins, self._checked_mask(mask))
        if callable(greedy) and not np.all(self._explored):
            chosen = np.where(self._explored, chosen, self._checked_actions(greedy()))
        return chosen

    def choose_one(self, greedy: int, epsilon: float, env: int = 0) -> int:
        """Return an epsilon-greedy action of one environment."""
        explores = self._explored[env] = self._uniform() < epsilon
        return self._sample_one(env) if explores else greedy

    def step(self, actions: ArrayLike, dones: ArrayLike | None = None) -> None:
        """Report the actions that were taken, and where the episode ended with them.

        Args:
            actions: int (n_envs,).
            dones: bool (n_envs,); by default no episode ended.
        """
        if not self._few:
            self._advance(self._checked_actions(actions), self._checked_dones(dones))
            return
        if self.n_envs == 1 and (only := self._only(actions)) is not None:
            self.step_one(only, self._listed_dones(dones)[0])
            return
        ended = self._listed_dones(dones)
        for env, action in enumerate(self._listed_actions(actions)):
            self.step_one(action, ended[env], env)

    @abstractmethod
    def step_one(self, action: int, done: bool, env: int = 0) -> None:
        """Report the action of one environment, and whether its episode ended with it."""

    def _choose_few(self, greedy: ArrayLike | Callable[[], ArrayLike], epsilon: float) -> Actions:
        if callable(greedy):
            chosen = [self.choose_one(-1, epsilon, env) for env in range(self.n_envs)]
            if -1 in chosen:
                best = self._listed_actions(greedy())
                chosen = [b if c < 0 else c for b, c in zip(best, chosen, strict=True)]
        else:
            best = self._listed_actions(greedy)
            chosen = [self.choose_one(action, epsilon, env) for env, action in enumerate(best)]
        return np.array(chosen)

    def _mix(self, greedy: Actions, coins: Mask, mask: Mask | None) -> Actions:
        """Explore where the coins say so."""
        self._explored = coins
        return np.where(coins, self._explore(mask), greedy)

    def _uniform(self) -> float:
        """Return a uniform in [0, 1) for one of few environments."""
        if not self._block:
            self._block = self.rng.random(BLOCK).tolist()
        return self._block.pop()

    def _uniforms(self) -> NDArray[np.float64]:
        """Return a uniform for every environment, float (n_envs,)."""
        return self.rng.random(self.n_envs)

    @abstractmethod
    def _sample_one(self, env: int) -> int: ...

    @abstractmethod
    def _explore(self, mask: Mask | None) -> Actions: ...

    @abstractmethod
    def _advance(self, actions: Actions, dones: Mask) -> None: ...

    @abstractmethod
    def reset(self, which: ArrayLike | None = None) -> None:
        """Forget what was done, in all environments or in those of a bool mask (n_envs,)."""

    def state_dict(self) -> dict[str, Any]:
        """Return everything needed to go on exactly where this explorer is."""
        return {
            "kind": type(self).__name__,
            "n_actions": self.n_actions,
            "n_envs": self.n_envs,
            "rng": self.rng.bit_generator.state,
            "uniforms": list(self._block),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a `state_dict` of an explorer made with the same arguments.

        Raises:
            ArgumentError: the state is of another explorer, or damaged; then nothing has changed.
        """
        own = self.state_dict()
        if not isinstance(state, dict) or set(state) != set(own):
            raise ArgumentError(
                f"expected a state with the entries {sorted(own)}, "
                f"found {sorted(state) if isinstance(state, dict) else state!r}"
            )
        for key, value in own.items():
            if isinstance(value, str | int | float) and state[key] != value:
                raise ArgumentError(
                    f"this state is of another explorer: expected {key}={value!r}, "
                    f"found {state[key]!r}"
                )
        self._check_arrays(state)
        uniforms = _checked_uniforms(state["uniforms"])
        twin = type(self.rng.bit_generator)()
        try:
            twin.state = state["rng"]
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
            raise ArgumentError(f"this state has another kind of generator: {error}") from None
        self.rng.bit_generator.state = state["rng"]
        self._block = uniforms

    def _most(self) -> dict[str, int | None]:
        """Return the arrays of whole numbers in a state, and the largest each may have."""
        return {}

    def _check_arrays(self, state: dict[str, Any]) -> None:
        """Check that arrays of whole numbers in a state can be."""
        own = self.state_dict()
        for key, most in self._most().items():
            _check_whole(state[key], key, np.shape(own[key]), most)

    # --- checks -------------------------------------------------------------------------------

    def _checked_actions(self, actions: ArrayLike) -> Actions:
        array = np.asarray(actions)
        if array.shape == () and self.n_envs == 1:
            array = array.reshape(1)
        if array.shape != (self.n_envs,):
            raise ArgumentError(
                f"expected one action for each of {self.n_envs} environments, "
                f"found an array of shape {array.shape}"
            )
        if array.dtype.kind not in "iu":
            raise ArgumentTypeError(f"expected actions as integers, found {array.dtype}")
        whole = array.astype(np.int64, copy=False)
        # As unsigned, negative numbers are large: one comparison finds both.
        if (whole.view(np.uint64) >= self.n_actions).any():
            raise ArgumentError(
                f"expected actions from 0 to {self.n_actions - 1}, found {array.tolist()}"
            )
        return whole

    def _only(self, actions: Any) -> int | None:
        """Return the action of the only environment, if it is as expected."""
        if type(actions) is np.ndarray and actions.shape == ONE:
            found = actions.item()
            if type(found) is int and 0 <= found < self.n_actions:
                return found
        return None

    def _listed_actions(self, actions: ArrayLike) -> list[int]:
        """Check the actions of few environments, quickly where they are as expected."""
        if type(actions) is np.ndarray and actions.shape == (self.n_envs,):
            found: list[int] = actions.tolist()
            if type(found[0]) is int and min(found) >= 0 and max(found) < self.n_actions:
                return found
        return self._checked_actions(actions).tolist()  # type: ignore[no-any-return]

    def _listed_dones(self, dones: ArrayLike | None) -> list[bool]:
        if dones is None:
            return [False] * self.n_envs
        if type(dones) is np.ndarray and dones.shape == (self.n_envs,) and dones.dtype is BOOL:
            return dones.tolist()  # type: ignore[no-any-return]
        return self._checked_flags(dones, "dones").tolist()  # type: ignore[no-any-return]

    def _checked_dones(self, dones: ArrayLike | None) -> Mask:
        if dones is None:
            return np.zeros(self.n_envs, bool)
        return self._checked_flags(dones, "dones")

    def _checked_flags(self, flags: ArrayLike, name: str) -> Mask:
        array = np.asarray(flags)
        if array.shape == () and self.n_envs == 1:
            array = array.reshape(1)
        if array.shape != (self.n_envs,):
            raise ArgumentError(
                f"expected {name} of shape ({self.n_envs},), found shape {array.shape}"
            )
        if array.dtype != bool:
            if not np.isin(array, (0, 1)).all():
                raise ArgumentTypeError(f"expected {name} as booleans, found {array.dtype}")
            array = array.astype(bool)
        return array

    def _checked_which(self, which: ArrayLike) -> Mask:
        """Return a mask as given. Numbers are refused: [0, 1] may mean two environments or one."""
        if np.asarray(which).dtype != bool:
            raise ArgumentTypeError(
                f"expected which as booleans, one for each of {self.n_envs} environments, found "
                f"{which!r}: to reset some by number, pass np.isin(np.arange(n_envs), numbers)"
            )
        return self._checked_flags(which, "which")

    def _checked_epsilon(self, epsilon: float | ArrayLike) -> float | NDArray[np.float64]:
        if isinstance(epsilon, float | int):
            if not 0.0 <= epsilon <= 1.0:
                raise ArgumentError(f"expected epsilon between 0 and 1, found {epsilon}")
            return float(epsilon)
        try:
            array = np.asarray(epsilon)
        except ValueError:  # rows of unequal length
            array = np.asarray(None)
        if array.dtype.kind not in "biuf":
            raise ArgumentTypeError(f"expected epsilon as a number, found {epsilon!r}")
        if array.shape not in ((), (self.n_envs,)):
            raise ArgumentError(
                f"expected epsilon as a number or of shape ({self.n_envs},), found {array.shape}"
            )
        if not ((array >= 0) & (array <= 1)).all():
            raise ArgumentError(f"expected epsilon between 0 and 1, found {array.tolist()}")
        return array.astype(float) if array.ndim else float(array)

    def _checked_mask(self, mask: ArrayLike | None) -> Mask | None:
        if mask is None:
            return None
        array = np.asarray(mask)
        if array.shape not in ((self.n_actions,), (self.n_envs, self.n_actions)):
            raise ArgumentError(
                f"expected a mask of shape ({self.n_actions},) or "
                f"({self.n_envs}, {self.n_actions}), found {array.shape}"
            )
        if not np.isin(array, (0, 1)).all():
            raise ArgumentTypeError(f"expected a mask of booleans, found {array.dtype}")
        array = np.broadcast_to(array.astype(bool), (self.n_envs, self.n_actions))
        empty = ~array.any(axis=1)
        if empty.any():
            raise ArgumentError(
                f"the mask of environment {int(np.flatnonzero(empty)[0])} allows no action"
            )
        return array


def _check_whole(found: Any, name: str, shape: tuple[int, ...], most: int | None) -> None:
    """Check that something is an array of whole numbers from 0 to at most `most`."""
    try:
        array = np.asarray(found)
    except ValueError:  # rows of unequal length
        array = np.asarray(None)
    if array.dtype.kind not in "iu" or array.shape != shape:
        raise ArgumentError(
            f"this state is damaged: expected {name} as whole numbers of shape {shape}, "
            f"found {array.dtype} of shape {array.shape}"
        )
    if array.min() < 0 or (most is not None and array.max() > most):
        limit = "" if most is None else f" to {most}"
        raise ArgumentError(
            f"this state is damaged: expected {name} from 0{limit}, found {array.tolist()}"
        )


def _checked_uniforms(found: Any) -> list[float]:
    """Return what was drawn ahead, or say what is wrong with it."""
    if not isinstance(found, list) or not all(
        isinstance(u, float) and 0.0 <= u < 1.0 for u in found
    ):
        raise ArgumentError("this state is damaged: expected uniforms as a list within [0, 1)")
    return list(found)


def _generator(seed: Seed) -> np.random.Generator:
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"expected a seed as None, a non-negative whole number or a Generator, found {seed!r}"
        ) from None
