"""Replay for Atari: frames in device memory, all the small things beside them on the host.

An observation is a stack of four frames, of which one is new in each step, so one is kept. What was
done and what came of it are a few bytes; on the host they cost nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from easee.agents.population.learner import Batch
from easee.errors import MissingExtraError

try:
    import jax.numpy as jnp
    from jax import Array
except ImportError:
    raise MissingExtraError("jax", "jax") from None

STACK = 4  # frames of an observation


class Kept(NamedTuple):
    """What is kept of steps beside the frames, each int (runs, size).

    Place t modulo the size is that of step t, whose frame is the newest before it. The frame after
    it is at the next place.

    Attributes:
        ages: how many frames before it are of the same episode, 3 at most.
        actions: what was done.
        rewards: clipped ones: -1, 0 or 1.
        dones: 1 where the episode ended.
    """

    ages: NDArray[np.int32]
    actions: NDArray[np.int32]
    rewards: NDArray[np.int32]
    dones: NDArray[np.int32]

    @classmethod
    def empty(cls, runs: int, transitions: int) -> Kept:
        """Return room for so many transitions of each run."""
        # Of the oldest observation all frames must be there, of the newest the one that follows.
        return cls(*(np.zeros((runs, transitions + STACK), np.int32) for _ in cls._fields))

    @property
    def size(self) -> int:
        """How many places there are."""
        return len(self.actions[0])

    def add(self, step: int, actions: Any, rewards: Any, dones: Any) -> None:
        """Keep what was done in a step and what came of it."""
        place, following = step % self.size, (step + 1) % self.size
        self.actions[:, place] = actions
        self.rewards[:, place] = rewards
        self.dones[:, place] = dones
        self.ages[:, following] = np.where(dones, 0, np.minimum(self.ages[:, place] + 1, STACK - 1))

    def cut(self, step: int) -> None:
        """Let an episode begin before a step; the one before ended there."""
        self.ages[:, step % self.size] = 0
        self.dones[:, (step - 1) % self.size] = 1

    def sample(
        self, generators: list[np.random.Generator], steps: int, shape: tuple[int, ...]
    ) -> NDArray[np.int32]:
        """Return transitions of each run, out of the last that are kept.

        Args:
            generators: of each run.
            steps: how many were done.
            shape: how many transitions, as an array.

        Returns:
            int (runs, *shape, 6): place, its age, the next one's, action, reward, done.
        """
        kept = min(steps, self.size - STACK)
        back = np.stack([rng.integers(kept, size=shape) for rng in generators])
        places = (steps - 1 - back) % self.size
        run = np.arange(len(places)).reshape(-1, *[1] * len(shape))
        ages, actions, rewards, dones = (column[run, places] for column in self)
        following = self.ages[run, (places + 1) % self.size]
        columns = (places, ages, following, actions, rewards, dones)
        return np.stack(columns, axis=-1).astype(np.int32)


def stacks(frames: Array, places: Array, ages: Array) -> Array:
    """Return observations (count, height, width, 4) from 0 to 1, black before an episode.

    Args:
        frames: uint8 (size, height, width), of one run.
        places: int (count,), of the newest frames.
        ages: int (count,).
    """
    back = jnp.arange(STACK - 1, -1, -1)
    found = frames[(places[:, None] - back) % len(frames)]
    seen = back <= ages[:, None]
    found = jnp.where(seen[:, :, None, None], found, 0)
    return jnp.asarray(jnp.moveaxis(found, 1, -1) / jnp.float32(255))


def batch(frames: Array, sampled: Array) -> Batch:
    """Return a batch of one run from what `Kept.sample` returned for it, int (count, 6)."""
    places, ages, following, actions, rewards, dones = jnp.moveaxis(sampled, -1, 0)
    return Batch(
        stacks(frames, places, ages),
        actions,
        rewards.astype(jnp.float32),
        dones.astype(jnp.float32),
        stacks(frames, places + 1, following),
    )
