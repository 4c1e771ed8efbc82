"""The replay buffer of `AtariPopulation`, and its compiled functions.

An observation is a stack of four frames of which each step adds one, so only that one is stored, in
device memory. Actions, rewards and dones are a few bytes, and handling them on the host costs
nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

import easee.agents.population.dqn as dqn
from easee.agents.population.dqn import Batch, Learner, Settings
from easee.agents.population.networks import Network, Params

SIDE = 84  # of a frame
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
        """Return random transitions of each run after a number of steps.

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

    `frames` are all frames of one run; `indices` and `ages` (count,) are those of the newest frame
    of each observation.
    """
    back = jnp.arange(STACK - 1, -1, -1)
    stacks = frames[(indices[:, None] - back) % len(frames)]
    in_episode = back <= ages[:, None]
    stacks = jnp.where(in_episode[:, :, None, None], stacks, 0)
    return jnp.asarray(jnp.moveaxis(stacks, 1, -1) / jnp.float32(255))


def make_batch(frames: Array, sampled: Array, gamma: float) -> Batch:
    """Return the batch of one run from its `FrameReplay.sample`, int (count, 6)."""
    indices, ages, next_ages, actions, rewards, dones = jnp.moveaxis(sampled, -1, 0)
    observations = stack_frames(frames, indices, ages)
    rewards, discounts = rewards.astype(jnp.float32), (1.0 - dones) * gamma
    return Batch(
        observations, actions, rewards, discounts, stack_frames(frames, indices + 1, next_ages)
    )


def pack_update(
    frame: NDArray[np.uint8], index: int, age: NDArray[Any], sampled: NDArray[Any] | None = None
) -> NDArray[np.uint8]:
    """Pack what the device needs for a step into one array: each transfer costs like a kernel.

    `frame` (runs, height, width) are the newest frames, to be stored at `index`, `age` (runs,) are
    their ages, and `sampled` is from `FrameReplay.sample`. Returns an array (runs, bytes).
    """
    runs = len(frame)
    columns = [np.full((runs, 1), index), age[:, None]]
    if sampled is not None:
        columns.append(sampled.reshape(runs, -1))
    numbers = np.concatenate(columns, axis=1, dtype=np.int32, casting="same_kind")
    return np.concatenate([frame.reshape(runs, -1), numbers.view(np.uint8)], axis=1)


def unpack_update(update: Array) -> tuple[Array, Array, Array, Array]:
    """Return frame, index, age and sampled transitions of one run from `pack_update`'s array."""
    frame = update[: SIDE * SIDE].reshape(SIDE, SIDE)
    numbers = jax.lax.bitcast_convert_type(update[SIDE * SIDE :].reshape(-1, 4), jnp.int32)
    return frame, numbers[0], numbers[1], numbers[2:]


class Program:
    """Functions of a group of runs, compiled once for each size of group.

    `update` is in all of them the array that `pack_update` returns.
    """

    shape = (SIDE, SIDE, STACK)

    def __init__(self, network: Network, settings: Settings, n_actions: int) -> None:
        self.network, self.settings, self.n_actions = network, settings, n_actions
        self.init = jax.jit(jax.vmap(self._init))
        self.store = jax.jit(jax.vmap(self._store), donate_argnums=0)
        self.act = jax.jit(jax.vmap(self._act), donate_argnums=1)
        self.learn_and_act = jax.jit(jax.vmap(self._learn_and_act), donate_argnums=(0, 1))

    def _init(self, key: Array) -> tuple[Learner, Array]:
        """Return a learner and empty memory for frames."""
        learner = dqn.init(self.network, self.settings, key, self.shape, self.n_actions)
        return learner, jnp.zeros((self.settings.buffer_size + STACK, SIDE, SIDE), jnp.uint8)

    def _store(self, frames: Array, update: Array) -> Array:
        """Store the newest frame."""
        frame, index, _, _ = unpack_update(update)
        return frames.at[index].set(frame)

    def _act(self, params: Params, frames: Array, update: Array) -> tuple[Array, Array]:
        """Store the newest frame, and return the greedy action."""
        frames = self._store(frames, update)
        return frames, self._greedy(params, frames, update)

    def _learn_and_act(
        self, learner: Learner, frames: Array, update: Array
    ) -> tuple[Learner, Array, Array]:
        """Store the newest frame, learn from samples, and return the greedy action after that."""
        frames = self._store(frames, update)
        sampled = unpack_update(update)[-1]
        settings = self.settings
        for part in sampled.reshape(settings.gradient_steps, settings.batch_size, -1):
            batch = make_batch(frames, part, settings.gamma)
            learner = dqn.update(self.network, settings, learner, batch)
        return learner, frames, self._greedy(learner.params, frames, update)

    def _greedy(self, params: Params, frames: Array, update: Array) -> Array:
        _, index, age, _ = unpack_update(update)
        observation = stack_frames(frames, index[None], age[None])[0]
        return dqn.act(self.network, params, observation)


compile_program = lru_cache(maxsize=8)(Program)
