"""Learning curves: mean rewards of the episodes that ended in each part (bin) of training."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray


class Scores(NamedTuple):
    """The curve of one run, on the device: rewards of the current episodes, and see `Curves`."""

    running: Array
    sums: Array
    counts: Array
    successes: Array

    @classmethod
    def empty(cls, bins: int, n_envs: tuple[int, ...] = ()) -> Scores:
        """Return scores without episodes, for one environment or several."""
        none = jnp.zeros(bins, jnp.int32)
        return cls(jnp.zeros(n_envs), jnp.zeros(bins), none, none)

    def add(self, step: Array, total: int, reward: Array, done: Array) -> Scores:
        """Return the scores after a step, counted from 1, of `total`."""
        score = self.running + reward
        index = jnp.minimum((step * len(self.sums) - 1) // total, len(self.sums) - 1)
        return Scores(
            jnp.where(done, 0.0, score),
            self.sums.at[index].add(jnp.where(done, score, 0.0).sum()),
            self.counts.at[index].add(jnp.sum(done)),
            self.successes.at[index].add(jnp.sum(done & (score > 0))),
        )


class Curves(NamedTuple):
    """The learning curves of a population.

    Attributes:
        sums: float (runs, bins), sum of the rewards of the episodes that ended in each bin.
        counts: int (runs, bins), number of those episodes.
        successes: int (runs, bins), number of those with a positive reward.
        steps: number of steps of training.
    """

    sums: NDArray[np.float64]
    counts: NDArray[np.int64]
    successes: NDArray[np.int64]
    steps: int

    @classmethod
    def empty(cls, runs: int, bins: int, steps: int) -> Curves:
        """Return curves without episodes."""
        none = np.zeros((runs, bins), np.int64)
        return cls(np.zeros((runs, bins)), none, none.copy(), steps)

    def add(self, step: int, scores: NDArray[np.float64], ended: NDArray[np.bool_]) -> None:
        """Add the scores of the runs whose episode ended with a step, counted from 1, in place."""
        bins = self.sums.shape[1]
        index = min((step * bins - 1) // self.steps, bins - 1)
        self.sums[ended, index] += scores[ended]
        self.counts[ended, index] += 1
        self.successes[ended, index] += scores[ended] > 0

    def points(self, run: int) -> list[tuple[int, float]]:
        """Return the last step and the mean reward of each bin in which episodes ended."""
        return self._means(self.sums[run], self.counts[run])

    def success(self, run: int) -> list[tuple[int, float]]:
        """Return the last step and the share of episodes with a positive reward of each bin."""
        return self._means(self.successes[run], self.counts[run])

    def _means(self, totals: NDArray[Any], counts: NDArray[Any]) -> list[tuple[int, float]]:
        ends = np.linspace(0, self.steps, len(counts) + 1)[1:]
        return [
            (round(end), float(total / count))
            for end, total, count in zip(ends, totals, counts, strict=True)
            if count
        ]
