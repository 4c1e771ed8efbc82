"""CardinalGrid and RotationGrid as worlds (Section 5.1)."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from easee._utils.checks import checked_count
from easee.envs import grids
from easee.envs.jax.world import Outcome, World, int32, one_hot, set_fields


class GridState(NamedTuple):
    """The agent's x, y and, if any, heading, int32 (2,) or (3,); the steps taken, int32 ()."""

    place: jax.Array
    steps: jax.Array


@dataclass(frozen=True)
class _Grid(World):
    """An empty room. Observations are the one-hot vectors of x, y and heading, concatenated."""

    size: int | tuple[int, int] = 100
    start: tuple[int, ...] | None = None
    max_steps: int | None = None
    shape: tuple[int, ...] = field(init=False, repr=False)
    _env: ClassVar[type[grids.CardinalGrid | grids.RotationGrid]]

    def __post_init__(self) -> None:
        env = self._env(self.size, self.start)  # checks the arguments
        set_fields(self, size=env.size, start=tuple(env.start.tolist()), shape=env.shape)
        if self.max_steps is not None:
            set_fields(self, max_steps=checked_count(self.max_steps, "max_steps"))

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Shape of the observation, (width + height + headings,)."""
        return (sum(self.shape),)

    def reset(self, key: jax.Array) -> GridState:
        """Place the agent at the start."""
        return GridState(int32(self.start), int32(0))

    def step(self, state: GridState, action: ArrayLike) -> tuple[GridState, *Outcome]:
        """Take an action; there is no reward, and episodes only end at the time limit."""
        next_state = GridState(self._move(state.place, jnp.asarray(action)), state.steps + 1)
        limit = self.max_steps
        truncated = jnp.array(False) if limit is None else next_state.steps >= limit
        return next_state, jnp.zeros((), jnp.float32), jnp.array(False), truncated

    def pack(self, state: GridState) -> jax.Array:
        """Return x, y and heading, int16 (2,) or (3,)."""
        return state.place.astype(jnp.int16)

    def unpack(self, packed: jax.Array) -> jax.Array:
        """Return the one-hot vectors of x, y and heading."""
        return one_hot(list(packed), self.shape)

    def _move(self, place: jax.Array, action: jax.Array) -> jax.Array:
        raise NotImplementedError

    def _clip(self, place: jax.Array) -> jax.Array:
        """Return the nearest place within the walls, int32 (2,)."""
        return jnp.clip(place, 0, int32(self.shape[:2]) - 1)


@dataclass(frozen=True)
class CardinalGrid(_Grid):
    """Four moves in an empty room: `easee.envs.CardinalGrid`.

    Args:
        size: side of the room, or (width, height).
        start: first place of the agent; the centre by default.
        max_steps: number of steps after which an episode is truncated; by default never.

    >>> world = CardinalGrid(5)
    >>> state, *_ = world.step(world.reset(jax.random.key(0)), 0)
    >>> state.place.tolist(), world.observation_shape
    ([3, 2], (10,))
    """

    action_names = grids.CardinalGrid.action_names
    _env = grids.CardinalGrid

    def _move(self, place: jax.Array, action: jax.Array) -> jax.Array:
        return self._clip(place + int32(grids.MOVES)[action])


@dataclass(frozen=True)
class RotationGrid(_Grid):
    """Forward moves and turns in an empty room: `easee.envs.RotationGrid`.

    Args:
        size, max_steps: as in `CardinalGrid`.
        start: first place and heading of the agent; the centre, facing north, by default.

    >>> world = RotationGrid(5)
    >>> state, *_ = world.step(world.reset(jax.random.key(0)), 2)
    >>> state.place.tolist()
    [2, 2, 1]
    """

    action_names = grids.RotationGrid.action_names
    _env = grids.RotationGrid

    def _move(self, place: jax.Array, action: jax.Array) -> jax.Array:
        ahead = self._clip(place[:2] + int32(grids.HEADINGS)[place[2]])
        heading = (place[2] + (action == 2) - (action == 1)) % 4
        return jnp.append(jnp.where(action == 0, ahead, place[:2]), heading)


@dataclass(frozen=True)
class GoalGrid(RotationGrid):
    """A rotation grid with a reward of 1 in the corner (0, 0): `easee.envs.GoalGrid`.

    Args:
        size, start: as in `RotationGrid`.
        max_steps: as in `RotationGrid`; eight times the longer side by default.

    >>> world = GoalGrid(3, start=(1, 0, 3))
    >>> state, reward, terminated, truncated = world.step(world.reset(jax.random.key(0)), 0)
    >>> state.place.tolist(), float(reward), bool(terminated), world.max_steps
    ([0, 0, 3], 1.0, True, 24)
    """

    size: int | tuple[int, int] = 51
    _env = grids.GoalGrid

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_steps is None:
            set_fields(self, max_steps=grids.GOAL_STEPS * max(self.shape[:2]))

    def step(self, state: GridState, action: ArrayLike) -> tuple[GridState, *Outcome]:
        """Move or turn; the goal ends the episode."""
        next_state, _, _, truncated = super().step(state, action)
        terminated = (next_state.place[:2] == 0).all()
        return next_state, terminated.astype(jnp.float32), terminated, truncated
