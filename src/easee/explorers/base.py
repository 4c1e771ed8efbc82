"""The interface of all explorers, and what they share: argument checks, coins and state."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import easee.explorers.checks as checks
from easee._utils.checks import excerpt
from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers.checks import Seed
from easee.explorers.sampling import Actions, Mask, restrict

BLOCK = 256  # uniforms drawn at a time for a single environment
SINGLE, BOOL = (1,), np.dtype(bool)


class BaseExplorer(ABC):
    """An explorer that chooses actions for `n_envs` environments at a time.

    In each step an agent calls `sample` or `choose`, takes actions, and reports the actions taken
    with `step`. All randomness comes from the explorer's own generator.

    A single environment is handled with plain numbers, because NumPy's overhead would dominate.
    Agents can call `sample_one`, `choose_one` and `step_one` directly: they do not check their
    arguments, and return the same actions as `sample` and `choose`.

    Args:
        n_actions: number of actions.
        n_envs: number of environments.
        seed: an int, a `numpy.random.Generator`, or None for a random seed.
    """

    def __init__(self, n_actions: int, n_envs: int = 1, seed: Seed = None) -> None:
        self.n_actions = checks.checked_size(n_actions, "n_actions")
        self.n_envs = checks.checked_size(n_envs, "n_envs")
        self.rng = checks.checked_generator(seed)
        self._block: list[float] = []  # uniforms drawn ahead for a single environment
        self._explored: Mask | bool = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_actions={self.n_actions}, n_envs={self.n_envs})"

    @property
    def explored(self) -> Mask:
        """Whether each of the actions returned last is exploratory, bool (n_envs,)."""
        return np.full(self.n_envs, self._explored)

    def sample(self, mask: ArrayLike | None = None) -> Actions:
        """Return an exploratory action for every environment, int (n_envs,).

        Args:
            mask: bool (k,) or (n_envs, k), the allowed actions.
        """
        allowed = checks.checked_mask(mask, self.n_envs, self.n_actions)
        if self.n_envs == 1:
            return np.array((self.sample_one(None if allowed is None else allowed[0]),))
        self._explored = True
        return self._sample(allowed)

    def probabilities(self, mask: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the distribution of the actions of `sample`, float (n_envs, k).

        Nothing is drawn and nothing moves. With a mask, the probabilities are restricted to it and
        sum to 1; where they would all be 0, the allowed actions are equally likely.

        Args:
            mask: bool (k,) or (n_envs, k), the allowed actions.
        """
        allowed = checks.checked_mask(mask, self.n_envs, self.n_actions)
        rows = self._probabilities()
        return rows if allowed is None else restrict(rows, allowed)

    def choose(
        self,
        greedy: ArrayLike | Callable[[], ArrayLike],
        epsilon: float | ArrayLike,
        mask: ArrayLike | None = None,
    ) -> Actions:
        """Return epsilon-greedy actions, int (n_envs,), with one coin per environment.

        Args:
            greedy: int (n_envs,), greedy actions, or a function that returns them. The function is
                called only if some environment does not explore, which can save a network pass.
            epsilon: exploration probability, a float or float (n_envs,).
            mask: bool (k,) or (n_envs, k), the allowed exploratory actions.
        """
        if type(epsilon) is not float or not 0.0 <= epsilon <= 1.0:
            epsilon = checks.checked_epsilon(epsilon, self.n_envs)
        allowed = None if mask is None else checks.checked_mask(mask, self.n_envs, self.n_actions)
        if type(epsilon) is float and self.n_envs == 1:
            row = None if allowed is None else allowed[0]
            if not callable(greedy):
                return np.array((self.choose_one(self._only_action(greedy), epsilon, row),))
            action = self.choose_one(-1, epsilon, row)
            return np.array((action if action >= 0 else self._only_action(greedy()),))
        if not callable(greedy):
            greedy = self._checked_actions(greedy)
        self._explored, actions = self._explore(self._uniforms() < epsilon, allowed)
        if callable(greedy):
            greedy = actions if self._explored.all() else self._checked_actions(greedy())
        return np.where(self._explored, actions, greedy)

    def step(self, actions: ArrayLike, dones: ArrayLike | None = None) -> None:
        """Report the actions taken, and which episodes ended with them.

        Args:
            actions: int (n_envs,).
            dones: bool (n_envs,); by default no episode ended.
        """
        if self.n_envs == 1:
            self.step_one(self._only_action(actions), self._only_done(dones))
        else:
            self._step(
                self._checked_actions(actions), checks.checked_flags(dones, "dones", self.n_envs)
            )

    def sample_one(self, mask: Mask | None = None) -> int:
        """Return an exploratory action of the only environment; `mask` is bool (k,)."""
        self._check_single()
        self._explored = True
        return self._sample_one() if mask is None else int(self._sample(mask[None])[0])

    def choose_one(self, greedy: int, epsilon: float, mask: Mask | None = None) -> int:
        """Return an epsilon-greedy action of the only environment; `mask` is bool (k,)."""
        if self._uniform() < epsilon:
            return self.sample_one(mask)
        self._explored = False
        return greedy

    @abstractmethod
    def step_one(self, action: int, done: bool) -> None:
        """Report the action of the only environment, and whether its episode ended with it."""

    def reset(self, which: ArrayLike | None = None) -> None:
        """Discard the history of all environments, or of those of a bool mask (n_envs,)."""
        self._forget(checks.checked_which(which, self.n_envs))

    def reseed(self, seed: Seed) -> None:
        """Replace the generator and discard random numbers drawn ahead."""
        self.rng = checks.checked_generator(seed)
        self._block = []

    def state_dict(self) -> dict[str, Any]:
        """Return everything needed to resume exactly from here."""
        return {
            "kind": type(self).__name__,
            "n_actions": self.n_actions,
            "n_envs": self.n_envs,
            "rng": self.rng.bit_generator.state,
            "uniforms": list(self._block),
            **self._settings(),
            **{name: getattr(self, name).copy() for name in self._history()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from the `state_dict` of an explorer made with the same arguments.

        Raises:
            ArgumentError: the state is damaged or of another explorer; nothing has changed then.
        """
        own = self.state_dict()
        if not isinstance(state, dict) or set(state) != set(own):
            found = list(state) if isinstance(state, dict) else state
            raise ArgumentError(
                f"expected a state with the entries {sorted(own)}, found {excerpt(found, 200)}"
            )
        for key, value in own.items():
            if isinstance(value, str | int | float) and not _equals(state[key], value):
                raise ArgumentError(
                    f"this state is of another explorer: expected {key}={value!r}, "
                    f"found {excerpt(repr(state[key]))}"
                )
        uniforms = checks.checked_uniforms(state["uniforms"])
        generator = type(self.rng.bit_generator)()
        try:
            generator.state = state["rng"]
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
            raise ArgumentError(
                f"this state has another kind of generator, or a damaged one: {error}"
            ) from None
        history = {
            name: checks.checked_integers(state[name], name, self.n_envs, largest)
            for name, largest in self._history().items()
        }
        self._restore(history)
        self.rng.bit_generator.state = state["rng"]
        self._block = uniforms if self.n_envs == 1 else []

    @abstractmethod
    def _sample(self, mask: Mask | None) -> Actions:
        """Return exploratory actions; `mask` is bool (n_envs, k)."""

    @abstractmethod
    def _sample_one(self) -> int:
        """Return an exploratory action of the only environment, without a mask."""

    def _probabilities(self) -> NDArray[np.float64]:
        """Return the distribution of the actions of `sample` without a mask, float (n_envs, k)."""
        raise ArgumentTypeError(
            f"expected an explorer with known probabilities, found {type(self).__name__}, which "
            "does not define _probabilities"
        )

    @abstractmethod
    def _step(self, actions: Actions, dones: Mask) -> None:
        """Remember the actions of several environments."""

    @abstractmethod
    def _forget(self, which: Mask) -> None:
        """Discard the history of some environments."""

    def _explore(self, coins: Mask, mask: Mask | None) -> tuple[Mask, Actions]:
        """Return which environments explore, bool (n_envs,), and exploratory actions."""
        return coins, self._sample(mask)

    def _settings(self) -> dict[str, str | float]:
        """Return the entries of a state that must be the same when it is loaded."""
        return {}

    def _history(self) -> dict[str, float]:
        """Return the attributes int (n_envs,) of a state, each with its largest valid value."""
        return {}

    def _restore(self, history: dict[str, NDArray[np.int64]]) -> None:
        """Set the attributes of `_history`."""
        for name, array in history.items():
            setattr(self, name, array)

    def _uniform(self) -> float:
        """Return a uniform in [0, 1) for the only environment."""
        if not self._block:  # always so with several environments
            self._check_single()
            self._block = self.rng.random(BLOCK).tolist()
        return self._block.pop()

    def _uniforms(self) -> NDArray[np.float64]:
        """Return a uniform in [0, 1) for each environment, float (n_envs,)."""
        return self.rng.random(self.n_envs) if self.n_envs > 1 else np.array((self._uniform(),))

    def _checked_actions(self, actions: ArrayLike) -> Actions:
        return checks.checked_actions(actions, self.n_envs, self.n_actions)

    def _only_action(self, actions: Any) -> int:
        """Return the action of the only environment, without NumPy if it is a valid array."""
        if type(actions) is np.ndarray and actions.shape == SINGLE:
            action = actions.item()
            if type(action) is int and 0 <= action < self.n_actions:
                return action
        return int(self._checked_actions(actions).item())

    def _only_done(self, dones: Any) -> bool:
        if type(dones) is np.ndarray and dones.shape == SINGLE and dones.dtype is BOOL:
            return dones.item()  # type: ignore[no-any-return]
        return bool(checks.checked_flags(dones, "dones", 1).item())

    def _check_single(self) -> None:
        if self.n_envs > 1:
            raise ArgumentError(
                f"expected an explorer of one environment, found {self.n_envs} environments: "
                "use sample, choose and step"
            )


def _equals(found: Any, value: str | float) -> bool:
    """Return whether an entry of a state is a value; arrays are not."""
    return isinstance(found, str | int | float | np.number) and bool(found == value)
