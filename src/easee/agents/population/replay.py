"""Replay buffer of one run in device memory; callers map over runs.

Environments in JAX have small states, so `StateReplay` stores states and computes observations when
they are sampled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from easee.agents.population.dqn import Batch
from easee.envs.jax import World


class StateReplay(NamedTuple):
    """The last transitions, as states of a world; step t is stored at index t modulo the size."""

    before: Any
    after: Any
    actions: Array
    rewards: Array
    dones: Array

    @classmethod
    def empty(cls, size: int, state: Any) -> StateReplay:
        """Return a replay buffer of `size` transitions between states like the given one."""
        states = jax.tree.map(lambda leaf: jnp.zeros((size, *leaf.shape), leaf.dtype), state)
        return cls(states, states, jnp.zeros(size, jnp.int32), jnp.zeros(size), jnp.zeros(size))

    def add(self, step: Array, transition: StateReplay) -> StateReplay:
        """Return the buffer with the transition of a step in place of the oldest."""
        index = step % len(self.actions)
        replay: StateReplay = jax.tree.map(
            lambda stored, new: stored.at[index].set(new), self, transition
        )
        return replay

    def sample(self, key: Array, filled: Array, count: int, world: World) -> Batch:
        """Return `count` transitions drawn from the first `filled`, or from all stored if fewer."""
        indices = jax.random.randint(key, (count,), 0, jnp.minimum(filled, len(self.actions)))
        before, after, actions, rewards, dones = jax.tree.map(lambda stored: stored[indices], self)
        observe = jax.vmap(world.observe)
        return Batch(observe(before), actions, rewards, dones, observe(after))
