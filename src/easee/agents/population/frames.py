"""Replay buffer for Atari: frames in device memory, everything else on the host.

An observation is a stack of four frames of which each step adds one, so only that one is stored.
Actions, rewards and dones are a few bytes, and handling them on the host costs nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from easee.agents.population.dqn import Batch

STACK = 4  # frames of an observation


class FrameReplay(NamedTuple):
    """The host's part of the replay buffer: everything but the frames, each int32 (runs, size).

    Step t is stored at index t modulo the size, with the newest frame before it. The frame after it
    is at the next index.

    Attributes:
        ages: number of earlier frames of the same episode, at most 3.
        actions: actions taken.
        rewards: clipped rewards: -1, 0 or 1.
        dones: 1 where the episode ended.
    """

    ages: NDArray[np.int32]
    actions: NDArray[np.int32]
    rewards: NDArray[np.int32]
    dones: NDArray[np.int32]

    @classmethod
    def empty(cls, runs: int, transitions: int) -> FrameReplay:
        """Return a buffer for a number of transitions of each run."""
        # The oldest observation needs all of its frames, the newest the frame that follows.
        return cls(*(np.zeros((runs, transitions + STACK), np.int32) for _ in cls._fields))

    @property
    def size(self) -> int:
        """Number of frames stored of each run."""
        return len(self.actions[0])

    def add(self, step: int, actions: Any, rewards: Any, dones: Any) -> None:
        """Store the transitions of a step."""
        index, next_index = step % self.size, (step + 1) % self.size
        self.actions[:, index] = actions
        self.rewards[:, index] = rewards
        self.dones[:, index] = dones
        ages = np.minimum(self.ages[:, index] + 1, STACK - 1)
        self.ages[:, next_index] = np.where(dones, 0, ages)

    def end_episodes(self, step: int) -> None:
        """Mark new episodes as starting at a step and the ones before it as ended."""
        self.ages[:, step % self.size] = 0
        self.dones[:, (step - 1) % self.size] = 1

    def sample(
        self, generators: list[np.random.Generator], steps: int, shape: tuple[int, ...]
    ) -> NDArray[np.int32]:
        """Return random transitions of each run.

        Args:
            generators: random generator of each run.
            steps: number of steps done.
            shape: shape of the sample.

        Returns:
            int (runs, *shape, 6): index, its age, the next one's age, action, reward, done.
        """
        stored = min(steps, self.size - STACK)
        back = np.stack([rng.integers(stored, size=shape) for rng in generators])
        indices = (steps - 1 - back) % self.size
        run = np.arange(len(indices)).reshape(-1, *[1] * len(shape))
        ages, actions, rewards, dones = (column[run, indices] for column in self)
        next_ages = self.ages[run, (indices + 1) % self.size]
        columns = (indices, ages, next_ages, actions, rewards, dones)
        return np.stack(columns, axis=-1).astype(np.int32)


def stack_frames(frames: Array, indices: Array, ages: Array) -> Array:
    """Return observations (count, height, width, 4) in [0, 1]; frames before an episode are black.

    Args:
        frames: uint8 (size, height, width), frames of one run.
        indices: int (count,), indices of the newest frames.
        ages: int (count,), their ages.
    """
    back = jnp.arange(STACK - 1, -1, -1)
    stacks = frames[(indices[:, None] - back) % len(frames)]
    in_episode = back <= ages[:, None]
    stacks = jnp.where(in_episode[:, :, None, None], stacks, 0)
    return jnp.asarray(jnp.moveaxis(stacks, 1, -1) / jnp.float32(255))


def make_batch(frames: Array, sampled: Array) -> Batch:
    """Return the batch of one run from its `FrameReplay.sample`, int (count, 6)."""
    indices, ages, next_ages, actions, rewards, dones = jnp.moveaxis(sampled, -1, 0)
    return Batch(
        stack_frames(frames, indices, ages),
        actions,
        rewards.astype(jnp.float32),
        dones.astype(jnp.float32),
        stack_frames(frames, indices + 1, next_ages),
    )
