"""The replay buffer of a population's run: packed states of a world, and segments of episodes."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array


class StateReplay(NamedTuple):
    """The last transitions of a run; step t is stored at index t modulo the size.

    States are stored packed, and observations are computed when sampled.

    Attributes:
        before, after: packed states before and after each step.
        actions, rewards: action and reward of each step.
        dones: 1.0 where the episode terminated (not truncated).
        ends: whether the episode ended.
    """

    before: Any
    after: Any
    actions: Array
    rewards: Array
    dones: Array
    ends: Array

    @classmethod
    def empty(cls, size: int, packed: Any) -> StateReplay:
        """Return a replay buffer of `size` transitions between states packed like the given one."""
        states = jax.tree.map(lambda leaf: jnp.zeros((size, *leaf.shape), leaf.dtype), packed)
        numbers = jnp.zeros(size)
        return cls(
            states, states, jnp.zeros(size, jnp.int32), numbers, numbers, jnp.zeros(size, bool)
        )

    def add(self, step: Array, transition: StateReplay) -> StateReplay:
        """Return the buffer with the transition of a step in place of the oldest."""
        index = step % len(self.actions)
        replay: StateReplay = jax.tree.map(lambda a, new: a.at[index].set(new), self, transition)
        return replay

    def sample(self, key: Array, filled: Array, count: int, n_steps: int, gamma: float) -> Segments:
        """Return `count` segments of up to `n_steps` steps, after `filled` steps in all.

        Segments start at any stored step. They end early with the episode or at the newest step.
        """
        size = len(self.actions)
        first = jax.random.randint(key, (count,), 0, jnp.minimum(filled, size))
        ahead = jnp.arange(n_steps)
        indices = (first[:, None] + ahead) % size
        stored = ahead <= ((filled - 1 - first) % size)[:, None]
        ended = jnp.cumsum(self.ends[indices], axis=1) - self.ends[indices]  # before each step
        within = stored & (ended == 0)
        last = within.sum(axis=1) - 1
        final = jnp.take_along_axis(indices, last[:, None], axis=1)[:, 0]
        return Segments(
            jax.tree.map(lambda a: a[first], self.before),
            jax.tree.map(lambda a: a[indices], self.after),
            last,
            self.actions[first],
            self.rewards[indices],
            jnp.where(within, gamma**ahead, 0.0),
            (1.0 - self.dones[final]) * gamma ** (last + 1),
        )


class Segments(NamedTuple):
    """Parts of episodes of up to n steps.

    Attributes:
        before: packed state before the first step, (count, ...).
        after: packed state after each step, (count, n, ...).
        last: int (count,), index of the last step of the segment.
        actions: int (count,), action of the first step.
        rewards: float (count, n), reward of each step.
        weights: float (count, n), discount of each reward, 0 after the end of the segment.
        discounts: float (count,), discount of the value after the last step, 0 where the episode
            terminated.
    """

    before: Any
    after: Any
    last: Array
    actions: Array
    rewards: Array
    weights: Array
    discounts: Array

    def final(self) -> Any:
        """Return the packed states after the last step, (count, ...)."""
        rows = jnp.arange(len(self.last))
        return jax.tree.map(lambda leaf: leaf[rows, self.last], self.after)
