"""The explorers that EASEE is compared with, behind the interface of `Explorer`."""

import hashlib
import math
from bisect import bisect_right
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers.base import BaseExplorer
from easee.explorers.checks import Seed
from easee.explorers.sampling import Actions, Mask, cumulative_rows, draw, draw_masked, restrict
from easee.priors.equivalences import Equivalences
from easee.words.presentation import equivalent


class UniformExplorer(BaseExplorer):
    """Uniform exploration, as in plain epsilon-greedy: all actions are equally likely.

    >>> UniformExplorer(4, n_envs=3, seed=0).sample().shape
    (3,)
    """

    def step_one(self, action: int, done: bool) -> None:
        """Do nothing: there is no history."""
        if self.n_envs > 1:
            self._check_single()

    def _sample(self, mask: Mask | None) -> Actions:
        if self.n_envs == 1:
            actions = np.array((self._any_action(),))
        else:
            actions = self.rng.integers(self.n_actions, size=self.n_envs)
        if mask is not None:
            # Draw forbidden actions again, so that a mask that forbids none changes nothing.
            forbidden = ~mask[np.arange(self.n_envs), actions]
            if forbidden.any():
                again = draw_masked(np.ones(mask.shape), mask, self._uniforms())
                actions = np.where(forbidden, again, actions)
        return actions

    def _probabilities(self) -> NDArray[np.float64]:
        return np.full((self.n_envs, self.n_actions), 1.0 / self.n_actions)

    def _sample_one(self) -> int:
        return self._any_action()

    def _any_action(self) -> int:
        return int(self._uniform() * self.n_actions)

    def _step(self, actions: Actions, dones: Mask) -> None:
        pass

    def _forget(self, which: Mask) -> None:
        pass


class ZetaExplorer(UniformExplorer):
    """Temporally extended epsilon-greedy: repeat a random action for a random number of steps.

    The number of steps n has probability proportional to n ** -mu (Dabney, Ostrovski and Barreto,
    "Temporally-Extended Epsilon-Greedy Exploration", 2021). A repetition continues regardless of
    the coin of `choose`, until it or the episode ends, or until the agent takes another action.

    Attributes:
        repeated: int (n_envs,), the action repeated last.
        remaining: int (n_envs,), number of repetitions left.

    >>> explorer = ZetaExplorer(4, n_envs=2, seed=0)
    >>> explorer.remaining[:] = 3  # as if both had just started to repeat action 0
    >>> explorer.choose([1, 1], epsilon=0.0)
    array([0, 0])
    """

    def __init__(self, n_actions: int, n_envs: int = 1, seed: Seed = None, mu: float = 2.0) -> None:
        super().__init__(n_actions, n_envs, seed)
        self.mu = checked_exponent(mu)
        self.repeated = np.zeros(self.n_envs, np.int64)
        self.remaining = np.zeros(self.n_envs, np.int64)

    def choose_one(self, greedy: int, epsilon: float, mask: Mask | None = None) -> int:
        """Return the repeated action during a repetition, else an epsilon-greedy one."""
        if self.remaining[0] and (mask is None or mask[self.repeated[0]]):
            return self.sample_one(mask)
        self.remaining[0] = 0
        return super().choose_one(greedy, epsilon, mask)

    def step_one(self, action: int, done: bool) -> None:
        """Count down a repetition; end it with the episode or if another action was taken."""
        if self.n_envs > 1:
            self._check_single()
        if self.remaining[0]:
            continues = action == self.repeated[0] and not done
            self.remaining[0] = self.remaining[0] - 1 if continues else 0

    def _sample(self, mask: Mask | None) -> Actions:
        return self._explore(np.ones(self.n_envs, bool), mask)[1]

    def _probabilities(self) -> NDArray[np.float64]:
        """Return a repetition's action with certainty, and otherwise the uniform policy."""
        repeats = np.eye(self.n_actions)[self.repeated]
        return np.where(self.remaining[:, None] > 0, repeats, super()._probabilities())

    def _sample_one(self) -> int:
        if not self.remaining[0]:
            self.repeated[0] = self._any_action()
            self.remaining[0] = self.rng.zipf(self.mu)
        return int(self.repeated[0])

    def _explore(self, coins: Mask, mask: Mask | None) -> tuple[Mask, Actions]:
        """Continue repetitions; the coins decide where there is none, or a mask forbids it."""
        allowed = np.ones((self.n_envs, self.n_actions), bool) if mask is None else mask
        self.remaining[~allowed[np.arange(self.n_envs), self.repeated]] = 0
        starts = coins & (self.remaining == 0)
        if starts.any():
            actions = draw_masked(np.ones(allowed.shape), allowed, self._uniforms())
            durations = self.rng.zipf(self.mu, size=self.n_envs)
            self.repeated = np.where(starts, actions, self.repeated)
            self.remaining = np.where(starts, durations, self.remaining)
        return self.remaining > 0, self.repeated.copy()

    def _step(self, actions: Actions, dones: Mask) -> None:
        continues = (self.remaining > 0) & (actions == self.repeated) & ~dones
        self.remaining = np.where(continues, self.remaining - 1, 0)

    def _forget(self, which: Mask) -> None:
        self.remaining[which] = 0

    def _settings(self) -> dict[str, str | float]:
        return {"mu": self.mu}

    def _history(self) -> dict[str, float]:
        return {"repeated": self.n_actions - 1, "remaining": math.inf}


def checked_exponent(mu: float) -> float:
    """Return the exponent of a zeta distribution as a float."""
    if not isinstance(mu, Real) or not float(mu) > 1.0:
        raise ArgumentError(f"expected mu greater than 1, found {mu!r}")
    return float(mu)


class TabuExplorer(BaseExplorer):
    """Uniform exploration that never undoes the last action (tabu search with a memory of one).

    Args:
        equivalences: an action is tabu after another if the two together are equivalent to the
            empty word. If all actions would be tabu, none is.
        n_envs, seed: as in `BaseExplorer`.

    Attributes:
        allowed: bool (k + 1, k), the actions allowed after each action; the last row is for
            environments without a last action.
        last: int (n_envs,), the last action, or k if there is none.

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
        self.allowed = _allowed_after(equivalences)
        self._cumulative = cumulative_rows(self.allowed / self.allowed.sum(axis=1, keepdims=True))
        self.last = np.full(self.n_envs, self.n_actions)

    def step_one(self, action: int, done: bool) -> None:
        """Remember the action of the only environment."""
        if self.n_envs > 1:
            self._check_single()
        self.last[0] = self.n_actions if done else action

    def _sample(self, mask: Mask | None) -> Actions:
        uniforms = self._uniforms()
        if mask is None:
            return draw(self._cumulative[self.last], uniforms)
        return draw_masked(self.allowed[self.last].astype(float), mask, uniforms)

    def _probabilities(self) -> NDArray[np.float64]:
        return restrict(np.ones((self.n_envs, self.n_actions)), self.allowed[self.last])

    def _sample_one(self) -> int:
        return bisect_right(self._cumulative[self.last[0]].tolist(), self._uniform())

    def _step(self, actions: Actions, dones: Mask) -> None:
        self.last = np.where(dones, self.n_actions, actions)

    def _forget(self, which: Mask) -> None:
        self.last[which] = self.n_actions

    def _settings(self) -> dict[str, str | float]:
        return {"tabu": hashlib.sha256(self.allowed.tobytes()).hexdigest()[:32]}

    def _history(self) -> dict[str, float]:
        return {"last": self.n_actions}


def _allowed_after(equivalences: Equivalences) -> Mask:
    presentation = equivalences.indexed
    letters = range(presentation.letters)
    undoes = [[equivalent(presentation, (a, b), ()) is True for b in letters] for a in letters]
    allowed = ~np.array([*undoes, [False] * len(letters)])
    allowed[~allowed.any(axis=1)] = True
    return allowed
