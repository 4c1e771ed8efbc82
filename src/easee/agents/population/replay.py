"""Replay in device memory, for one run; callers map over runs.

Runs are in step, so the place to write is the same for all. Environments in JAX have small states:
`StateReplay` keeps those, and observations are made from them when they are sampled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from easee.agents.population.learner import Batch
from easee.envs.jax import World
from easee.errors import MissingExtraError

try:
    import jax
    import jax.numpy as jnp
    from jax import Array
except ImportError:
    raise MissingExtraError("jax", "jax") from None


class StateReplay(NamedTuple):
    """The last transitions, as states of a world; the place of step t is t modulo the size."""

    before: Any
    after: Any
    actions: Array
    rewards: Array
    dones: Array

    @classmethod
    def empty(cls, size: int, state: Any) -> StateReplay:
        """Return a replay for so many transitions between states like this one."""
        room = jax.tree.map(lambda leaf: jnp.zeros((size, *leaf.shape), leaf.dtype), state)
        return cls(room, room, jnp.zeros(size, jnp.int32), jnp.zeros(size), jnp.zeros(size))

    def add(self, step: Array, transition: StateReplay) -> StateReplay:
        """Keep the transition of a step in place of the oldest."""
        place = step % len(self.actions)
        kept: StateReplay = jax.tree.map(
            lambda room, new: room.at[place].set(new), self, transition
        )
        return kept

    def sample(self, key: Array, filled: Array, count: int, world: World) -> Batch:
        """Return so many transitions of the first `filled` steps or, if fewer, of those kept."""
        places = jax.random.randint(key, (count,), 0, jnp.minimum(filled, len(self.actions)))
        found = jax.tree.map(lambda room: room[places], self)
        observe = jax.vmap(world.observe)
        return Batch(
            observe(found.before), found.actions, found.rewards, found.dones, observe(found.after)
        )
