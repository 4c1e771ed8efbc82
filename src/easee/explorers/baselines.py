"""Other ways to explore, behind the interface of `Explorer`: what EASEE is compared with."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers.base import BaseExplorer, Seed
from easee.explorers.sampling import Actions, Mask, cumulative_rows, draw, draw_masked
from easee.priors.equivalences import Equivalences
from easee.words.presentation import equivalent


class UniformExplorer(BaseExplorer):
    """Every action is as likely as any other: the exploration of plain epsilon-greedy.

    >>> UniformExplorer(4, n_envs=3, seed=0).sample().shape
    (3,)
    """

    def _explore(self, mask: Mask | None) -> Actions:
        if mask is None:
            return self.rng.integers(self.n_actions, size=self.n_envs)
        return draw_masked(np.ones(mask.shape), mask, self._uniforms())

    def _sample_one(self, env: int) -> int:
        return int(self._uniform() * self.n_actions)

    def _advance(self, actions: Actions, dones: Mask) -> None:
        pass

    def step_one(self, action: int, done: bool, env: int = 0) -> None:
        """Do nothing: there is nothing to remember."""

    def reset(self, which: ArrayLike | None = None) -> None:
        """Do nothing: there is nothing to forget."""


class ZetaExplorer(BaseExplorer):
    """Temporally extended epsilon-greedy: repeat a random action for a random number of steps.

    The number of steps n has probability proportional to n ** -mu (Dabney, Ostrovski and Barreto,
    "Temporally-Extended Epsilon-Greedy Exploration", 2021). A repetition that has begun goes on,
    whatever the coin of `choose` says, until it or the episode ends. It also ends when the agent
    reports another action than the repeated one.

    >>> explorer = ZetaExplorer(4, n_envs=2, seed=0)
    >>> explorer.remaining[:] = 3  # as if both had just begun to repeat action 0
    >>> explorer.choose([1, 1], epsilon=0.0)
    array([0, 0])
    """

    def __init__(self, n_actions: int, n_envs: int = 1, seed: Seed = None, mu: float = 2.0) -> None:
        super().__init__(n_actions, n_envs, seed)
        self.mu = checked_exponent(mu)
        self.repeated = np.zeros(self.n_envs, np.int64)
        self.remaining = np.zeros(self.n_envs, np.int64)

    def _explore(self, mask: Mask | None) -> Actions:
        return self._repeat_or_start(np.ones(self.n_envs, bool), mask)

    def _mix(self, greedy: Actions, coins: Mask, mask: Mask | None) -> Actions:
        explored = self._repeat_or_start(coins, mask)
        self._explored = self.remaining > 0
        return np.where(self._explored, explored, greedy)

    def _sample_one(self, env: int) -> int:
        if not self.remaining[env]:
            self.repeated[env] = self._uniform() * self.n_actions
            self.remaining[env] = self.rng.zipf(self.mu)
        return int(self.repeated[env])

    def choose_one(self, greedy: int, epsilon: float, env: int = 0) -> int:
        """Return the repeated action while one goes on, else an epsilon-greedy one."""
        explores = bool(self.remaining[env]) or self._uniform() < epsilon
        self._explored[env] = explores
        return self._sample_one(env) if explores else greedy

    def step_one(self, action: int, done: bool, env: int = 0) -> None:
        """Report the action of one environment, and whether its episode ended with it."""
        if self.remaining[env]:
            goes_on = action == self.repeated[env] and not done
            self.remaining[env] = self.remaining[env] - 1 if goes_on else 0

    def _repeat_or_start(self, start: Mask, mask: Mask | None) -> Actions:
        """Go on repeating; where nothing is repeated (or it is not allowed), `start` anew."""
        allowed = np.ones((self.n_envs, self.n_actions), bool) if mask is None else mask
        self.remaining[~allowed[np.arange(self.n_envs), self.repeated]] = 0
        fresh = start & (self.remaining == 0)
        drawn = draw_masked(np.ones(allowed.shape), allowed, self._uniforms())
        lengths = self.rng.zipf(self.mu, size=self.n_envs)
        self.repeated = np.where(fresh, drawn, self.repeated)
        self.remaining = np.where(fresh, lengths, self.remaining)
        return self.repeated.copy()

    def _advance(self, actions: Actions, dones: Mask) -> None:
        goes_on = (self.remaining > 0) & (actions == self.repeated) & ~dones
        self.remaining = np.where(goes_on, self.remaining - 1, 0)

    def reset(self, which: ArrayLike | None = None) -> None:
        """Stop repeating, in all environments or in those of a bool mask (n_envs,)."""
        self.remaining[slice(None) if which is None else self._checked_which(which)] = 0

    def state_dict(self) -> dict[str, Any]:
        """Return everything needed to go on exactly where this explorer is."""
        own = {"repeated": self.repeated.copy(), "remaining": self.remaining.copy()}
        return super().state_dict() | {"mu": self.mu} | own

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a `state_dict` of an explorer made with the same arguments."""
        super().load_state_dict(state)
        self.repeated = np.array(state["repeated"], np.int64)
        self.remaining = np.array(state["remaining"], np.int64)

    def _most(self) -> dict[str, int | None]:
        return {"repeated": self.n_actions - 1, "remaining": None}


def checked_exponent(mu: float) -> float:
    """Return the exponent of a zeta distribution as a float, or say what is wrong with it."""
    if not isinstance(mu, Real) or not float(mu) > 1.0:
        raise ArgumentError(f"expected mu greater than 1, found {mu!r}")
    return float(mu)


class TabuExplorer(BaseExplorer):
    """Uniform, but never undo the last action (tabu search with a memory of one).

    Args:
        equivalences: an action is tabu after another if the two in a row are equivalent to
            nothing. An action after which everything would be tabu forbids nothing.
        n_envs: how many environments.
        seed: an int, a `numpy.random.Generator`, or None for a fresh one.

    >>> from easee.priors.builders import inverse
    >>> explorer = TabuExplorer(inverse("left", "right"), seed=0)
    >>> explorer.step([1])
    >>> explorer.sample()
    array([1])
    """

    def __init__(self, equivalences: Equivalences, n_envs: int = 1, seed: Seed = None) -> None:
        if not isinstance(equivalences, Equivalences):
            raise ArgumentTypeError(f"expected Equivalences, found {type(equivalences).__name__}")
        super().__init__(len(equivalences.actions), n_envs, seed)
        self.allowed = _not_undoing(equivalences)  # (k + 1, k); row k: nothing was done yet
        self._cumulative = cumulative_rows(self.allowed / self.allowed.sum(axis=1, keepdims=True))
        self.last = np.full(self.n_envs, self.n_actions)

    def _explore(self, mask: Mask | None) -> Actions:
        uniforms = self._uniforms()
        if mask is None:
            return draw(self._cumulative[self.last], uniforms)
        return draw_masked(self.allowed[self.last].astype(float), mask, uniforms)

    def _sample_one(self, env: int) -> int:
        return bisect_right(self._cumulative[self.last[env]].tolist(), self._uniform())

    def step_one(self, action: int, done: bool, env: int = 0) -> None:
        """Report the action of one environment, and whether its episode ended with it."""
        self.last[env] = self.n_actions if done else action

    def _advance(self, actions: Actions, dones: Mask) -> None:
        self.last = np.where(dones, self.n_actions, actions)

    def reset(self, which: ArrayLike | None = None) -> None:
        """Forget the last action, in all environments or in those of a bool mask (n_envs,)."""
        flags = slice(None) if which is None else self._checked_which(which)
        self.last[flags] = self.n_actions

    def state_dict(self) -> dict[str, Any]:
        """Return everything needed to go on exactly where this explorer is."""
        tabu = hashlib.sha256(self.allowed.tobytes()).hexdigest()[:32]
        return super().state_dict() | {"tabu": tabu, "last": self.last.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a `state_dict` of an explorer made with the same arguments."""
        super().load_state_dict(state)
        self.last = np.array(state["last"], np.int64)

    def _most(self) -> dict[str, int | None]:
        return {"last": self.n_actions}


def _not_undoing(equivalences: Equivalences) -> NDArray[np.bool_]:
    presentation = equivalences.indexed
    letters = range(presentation.letters)
    undoing = [[equivalent(presentation, (a, b), ()) is True for b in letters] for a in letters]
    allowed = ~np.array([*undoing, [False] * len(letters)])
    allowed[~allowed.any(axis=1)] = True
    return allowed
