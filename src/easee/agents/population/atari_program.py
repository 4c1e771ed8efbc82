"""The device's part of `AtariPopulation`: storing frames, acting and learning."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from easee.agents.population import dqn
from easee.agents.population.devices import check_memory
from easee.agents.population.dqn import Learner, Settings
from easee.agents.population.frames import STACK, make_batch, stack_frames
from easee.agents.population.networks import Network, Params

SIDE = 84  # of a frame


class Program:
    """Functions of a group of runs, compiled once for each size of group.

    `update` is in all of them the array that `pack_update` returns.
    """

    def __init__(self, network: Network, settings: Settings, n_actions: int) -> None:
        self.network, self.settings, self.n_actions = network, settings, n_actions
        self.shape = (SIDE, SIDE, STACK)
        self.init = jax.jit(jax.vmap(self._init))
        self.store = jax.jit(jax.vmap(self._store), donate_argnums=0)
        self.act = jax.jit(jax.vmap(self._act), donate_argnums=1)
        self.learn_and_act = jax.jit(jax.vmap(self._learn_and_act), donate_argnums=(0, 1))
        # A copy, because a buffer that is donated must not be used twice.
        self.sync_target = jax.jit(
            lambda learner: learner._replace(target=jax.tree.map(jnp.copy, learner.params))
        )

    def check_memory(self, runs: int) -> None:
        """Check that a number of runs fits in the device's memory."""
        size = self.settings.buffer_size + STACK
        run = jax.eval_shape(
            lambda: (self._init(jax.random.key(0)), jnp.zeros((size, SIDE, SIDE), jnp.uint8))
        )
        check_memory(run, runs, self.network, self.shape, self.settings.batch_size)

    def _init(self, key: Array) -> Learner:
        return dqn.init(self.network, self.settings, key, self.shape, self.n_actions)

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
        for batch in sampled.reshape(self.settings.gradient_steps, self.settings.batch_size, -1):
            learner = dqn.update(self.network, self.settings, learner, make_batch(frames, batch))
        return learner, frames, self._greedy(learner.params, frames, update)

    def _greedy(self, params: Params, frames: Array, update: Array) -> Array:
        _, index, age, _ = unpack_update(update)
        observation = stack_frames(frames, index[None], age[None])[0]
        return dqn.act(self.network, params, observation)


compile_program = lru_cache(maxsize=8)(Program)


def pack_update(
    frame: NDArray[np.uint8], index: int, age: NDArray[Any], sampled: NDArray[Any] | None = None
) -> NDArray[np.uint8]:
    """Pack what the device needs for a step into one array: each transfer costs like a kernel.

    Args:
        frame: uint8 (runs, height, width), the newest frames.
        index: index at which they are stored.
        age: int (runs,), their ages.
        sampled: int (runs, ...), transitions from `FrameReplay.sample`.

    Returns:
        uint8 (runs, bytes).
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
