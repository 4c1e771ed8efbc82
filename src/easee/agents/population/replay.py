"""Replay in device memory, for one run; callers map over runs.

Runs are in step, so the place to write is the same for all. Environments in JAX have small states:
`StateReplay` keeps those, and observations are made from them when they are sampled. Of Atari's
stacks of four frames `FrameReplay` keeps one frame a step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from easee.agents.population.learner import Batch
from easee.agents.population.worlds import World
from easee.errors import MissingExtraError

try:
    import jax
    import jax.numpy as jnp
    from jax import Array
except ImportError:
    raise MissingExtraError("jax", "jax") from None

STACK = 4  # frames of an observation


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


class FrameReplay(NamedTuple):
    """The last transitions of an Atari game; place t modulo the size has the frame before step t.

    The frame after a step is at the next place, so there is one place more than transitions.

    Attributes:
        frames: uint8 (size, height, width), the newest of each stack.
        ages: uint8 (size,), how many steps before it are of the same episode, 3 at most.
        actions: int (size,).
        rewards: float (size,).
        dones: float (size,), 1 where the episode ended.
    """

    frames: Array
    ages: Array
    actions: Array
    rewards: Array
    dones: Array

    @classmethod
    def empty(cls, transitions: int, height: int, width: int) -> FrameReplay:
        """Return a replay for so many transitions."""
        # Of the oldest observation all frames must be there, of the newest the one that follows.
        size = transitions + STACK
        return cls(
            jnp.zeros((size, height, width), jnp.uint8),
            jnp.zeros(size, jnp.uint8),
            jnp.zeros(size, jnp.int32),
            jnp.zeros(size),
            jnp.zeros(size),
        )

    def restart(self, step: Array, frame: Array) -> FrameReplay:
        """Let an episode begin before a step, with this frame; the one before ended there."""
        place = step % len(self.actions)
        return self._replace(
            frames=self.frames.at[place].set(frame),
            ages=self.ages.at[place].set(0),
            dones=self.dones.at[place - 1].set(1.0),
        )

    def add(
        self, step: Array, action: Array, reward: Array, done: Array, frame: Array
    ) -> FrameReplay:
        """Keep what was done in a step, and the frame after it; if done, the next episode's."""
        place, following = step % len(self.actions), (step + 1) % len(self.actions)
        age = jnp.where(done, 0, jnp.minimum(self.ages[place] + 1, STACK - 1))
        return FrameReplay(
            self.frames.at[following].set(frame),
            self.ages.at[following].set(age.astype(jnp.uint8)),
            self.actions.at[place].set(action),
            self.rewards.at[place].set(reward),
            self.dones.at[place].set(done),
        )

    def sample(self, key: Array, filled: Array, count: int) -> Batch:
        """Return so many of the first `filled` transitions or, if fewer, of those kept."""
        size = len(self.actions)
        kept = jnp.minimum(filled, size - STACK)
        places = (filled - 1 - jax.random.randint(key, (count,), 0, kept)) % size
        return Batch(
            self.stacked(places),
            self.actions[places],
            self.rewards[places],
            self.dones[places],
            self.stacked((places + 1) % size),
        )

    def stacked(self, places: Array) -> Array:
        """Return observations (count, height, width, 4) from 0 to 1, black before an episode."""
        back = jnp.arange(STACK - 1, -1, -1)
        frames = self.frames[(places[:, None] - back) % len(self.actions)]
        seen = back <= self.ages[places][:, None]
        stacks = jnp.where(seen[:, :, None, None], frames, 0)
        return jnp.asarray(jnp.moveaxis(stacks, 1, -1) / jnp.float32(255))
