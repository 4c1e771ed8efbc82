"""The environments as pure functions of JAX arrays (Section 5).

`Catcher`, `CardinalGrid`, `RotationGrid` and `DoorKey` behave like the environments of the same
names in `easee.envs`, one environment at a time: use `jax.vmap` for several, `jax.jit` and
`jax.lax.scan` to compile them. A world is a hashable constant; its state is a tuple of arrays.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np

from easee._utils.checks import checked_count
from easee._utils.extras import requires_extra
from easee.envs import catcher, grids
from easee.priors import DOORKEY_ACTIONS

with requires_extra("jax"):
    import jax
    import jax.numpy as jnp
    from jax.typing import ArrayLike

State: TypeAlias = Any  # a NamedTuple of arrays, different for each world
Outcome: TypeAlias = tuple[jax.Array, jax.Array, jax.Array]  # reward, terminated, truncated

# The constants of `easee.envs.doorkey`, which cannot be imported without MiniGrid.
SIZE = 19
SPLIT = 13
MAX_STEPS = 3249
PARTS = (SIZE, SIZE, 4, 2, 2)  # numbers of columns, rows, headings, and values of two flags
LEFT, RIGHT, FORWARD, PICKUP, OPEN = range(len(DOORKEY_ACTIONS))
AHEAD = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]], np.int32)  # east, south, west, north


class World(Protocol):
    """The interface of a world.

    Actions are not checked, because compiled code cannot raise, and episodes do not restart by
    themselves.
    """

    action_names: ClassVar[tuple[str, ...]]

    @property
    def n_actions(self) -> int:
        """Number of actions; they are numbered from 0."""
        return len(self.action_names)

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Shape of an observation."""

    def reset(self, key: jax.Array) -> State:
        """Return the initial state of the first episode."""

    def restart(self, state: State, key: jax.Array) -> State:
        """Return the initial state of the next episode, with the same layout."""
        return self.reset(key)

    def step(self, state: State, action: ArrayLike) -> tuple[State, *Outcome]:
        """Return the next state, the reward, and whether the episode is terminated or truncated."""

    def observe(self, state: State) -> jax.Array:
        """Return the observation as Stable-Baselines3 preprocesses it, float32."""


class CatcherState(NamedTuple):
    """The columns of ball and paddle, and the row of the ball; int32 ()."""

    ball: jax.Array
    paddle: jax.Array
    row: jax.Array


@dataclass(frozen=True)
class Catcher(World):
    """Move a paddle under a falling ball: `easee.envs.Catcher`. Each episode draws a new ball.

    An observation is the image, scaled to [0, 1]: (height, width, 1).

    Args:
        width, height: as in `easee.envs.Catcher`.

    >>> world = Catcher(5, 3)
    >>> state = world.reset(jax.random.key(0))
    >>> state, reward, terminated, truncated = world.step(state, 1)
    >>> int(state.paddle), int(state.row), bool(terminated)
    (3, 1, False)
    """

    width: int = 60
    height: int = 30
    action_names = catcher.Catcher.action_names

    def __post_init__(self) -> None:
        env = catcher.Catcher(self.width, self.height)  # checks the arguments
        _set_fields(self, width=env.width, height=env.height)

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Shape of the image, (height, width, 1)."""
        return self.height, self.width, 1

    def reset(self, key: jax.Array) -> CatcherState:
        """Place the ball at the top of a random reachable column."""
        columns = _int32(catcher.reachable_columns(self.width, self.height))
        ball = columns[jax.random.randint(key, (), 0, len(columns))]
        return CatcherState(ball, _int32(self.width // 2), _int32(0))

    def step(self, state: CatcherState, action: ArrayLike) -> tuple[CatcherState, *Outcome]:
        """Move the paddle left (0) or right (1); the ball falls one row."""
        move = jnp.where(jnp.equal(action, 0), -1, 1)
        paddle = jnp.clip(state.paddle + move, 0, self.width - 1)
        row = state.row + 1
        terminated = row >= self.height
        score = jnp.where(paddle == state.ball, 1.0, -1.0)
        reward = jnp.where(terminated, score, 0.0).astype(jnp.float32)
        return CatcherState(state.ball, paddle, row), reward, terminated, jnp.array(False)

    def observe(self, state: CatcherState) -> jax.Array:
        """Return the image, with the ball in front of the paddle."""
        rows, columns = jnp.arange(self.height)[:, None], jnp.arange(self.width)
        ball = (rows == state.row) & (columns == state.ball)
        paddle = (rows == self.height - 1) & (columns == state.paddle)
        grey = jnp.where(ball, catcher.BALL / 255, jnp.where(paddle, catcher.PADDLE / 255, 0.0))
        return grey.astype(jnp.float32)[:, :, None]


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
        _set_fields(self, size=env.size, start=tuple(env.start.tolist()), shape=env.shape)
        if self.max_steps is not None:
            _set_fields(self, max_steps=checked_count(self.max_steps, "max_steps"))

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Shape of the observation, (width + height + headings,)."""
        return (sum(self.shape),)

    def reset(self, key: jax.Array) -> GridState:
        """Place the agent at the start."""
        return GridState(_int32(self.start), _int32(0))

    def step(self, state: GridState, action: ArrayLike) -> tuple[GridState, *Outcome]:
        """Take an action; there is no reward, and episodes only end at the time limit."""
        next_state = GridState(self._move(state.place, jnp.asarray(action)), state.steps + 1)
        limit = self.max_steps
        truncated = jnp.array(False) if limit is None else next_state.steps >= limit
        return next_state, jnp.zeros((), jnp.float32), jnp.array(False), truncated

    def observe(self, state: GridState) -> jax.Array:
        """Return the one-hot vectors of x, y and heading."""
        return _one_hot(list(state.place), self.shape)

    def _move(self, place: jax.Array, action: jax.Array) -> jax.Array:
        raise NotImplementedError

    def _clip(self, place: jax.Array) -> jax.Array:
        """Return the nearest place within the walls, int32 (2,)."""
        return jnp.clip(place, 0, _int32(self.shape[:2]) - 1)


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
        return self._clip(place + _int32(grids.MOVES)[action])


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
        ahead = self._clip(place[:2] + _int32(grids.HEADINGS)[place[2]])
        heading = (place[2] + (action == 2) - (action == 1)) % 4
        return jnp.append(jnp.where(action == 0, ahead, place[:2]), heading)


class Layout(NamedTuple):
    """The part of the state that all episodes of a DoorKey share, int32."""

    key: jax.Array  # column and row of the key (2,)
    door: jax.Array  # row of the door ()
    start: jax.Array  # first column, row and heading of the agent (3,)


class DoorKeyState(NamedTuple):
    """The state of an episode."""

    layout: Layout
    place: jax.Array  # column and row of the agent, int32 (2,)
    heading: jax.Array  # 0 is east, then clockwise; int32 ()
    carries: jax.Array  # whether the agent has the key, bool ()
    opened: jax.Array  # whether the door is open, bool ()
    steps: jax.Array  # number of steps taken, int32 ()


@dataclass(frozen=True)
class DoorKey(World):
    """Fetch the key, open the door, reach the goal: `easee.envs.doorkey.DoorKey`.

    `reset` draws a layout, `restart` keeps it. An observation is the one-hot vectors of column,
    row, heading, whether the key is carried and whether the door is open, concatenated: (46,).

    Args:
        max_steps: number of steps after which an episode is truncated; as in the paper by default.

    >>> world = DoorKey()
    >>> state = world.at([3, 5, 0, 0, 0], key=(4, 5), door=7)
    >>> for action in (3, 2):  # pick up the key, then move to where it was
    ...     state, *_ = world.step(state, action)
    >>> state.place.tolist(), bool(state.carries)
    ([4, 5], True)
    """

    max_steps: int = MAX_STEPS
    action_names = DOORKEY_ACTIONS

    def __post_init__(self) -> None:
        _set_fields(self, max_steps=checked_count(self.max_steps, "max_steps"))

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Shape of the observation, (46,)."""
        return (sum(PARTS),)

    def reset(self, key: jax.Array) -> DoorKeyState:
        """Draw door, key, agent and heading uniformly over the free cells."""
        keys = jax.random.split(key, 4)
        columns, rows = SPLIT - 1, SIZE - 2  # of the room with the key
        door = jax.random.randint(keys[0], (), 1, SIZE - 1)
        key_cell = jax.random.randint(keys[1], (), 0, columns * rows)
        cell = jax.random.randint(keys[2], (), 0, columns * rows - 1)
        cell = cell + (cell >= key_cell)  # the agent does not start on the key
        heading = jax.random.randint(keys[3], (), 0, 4)
        key_place = jnp.stack([1 + key_cell // rows, 1 + key_cell % rows])
        start = [1 + cell // rows, 1 + cell % rows, heading]
        return self.at([*start, False, False], key=key_place, door=door)

    def restart(self, state: DoorKeyState, key: jax.Array) -> DoorKeyState:
        """Return to the start of the same layout."""
        layout = state.layout
        return self.at([*layout.start, False, False], key=layout.key, door=layout.door)

    def at(self, state: Any, *, key: ArrayLike | tuple[int, ...], door: ArrayLike) -> DoorKeyState:
        """Return the first state of an episode that starts in a given state.

        Args:
            state: column, row, heading, whether the key is carried, whether the door is open.
            key: column and row of the key before it is picked up.
            door: row of the door.
        """
        start = jnp.stack([_int32(part) for part in state[:3]])
        carries, opened = (jnp.asarray(flag, bool) for flag in state[3:])
        layout = Layout(_int32(key), _int32(door), start)
        return DoorKeyState(layout, start[:2], start[2], carries, opened, _int32(0))

    def step(self, state: DoorKeyState, action: ArrayLike) -> tuple[DoorKeyState, *Outcome]:
        """Turn left (0) or right (1), go forward (2), pick up (3) or open (4)."""
        action = jnp.asarray(action)
        ahead = state.place + jnp.asarray(AHEAD)[state.heading]
        at_key = (ahead == state.layout.key).all() & ~state.carries
        at_door = (ahead[0] == SPLIT) & (ahead[1] == state.layout.door)
        inside = ((ahead > 0) & (ahead < SIZE - 1)).all() & (ahead[0] != SPLIT)
        free = (inside & ~at_key) | (at_door & state.opened)
        next_state = state._replace(
            place=jnp.where((action == FORWARD) & free, ahead, state.place),
            heading=(state.heading + (action == RIGHT) - (action == LEFT)) % 4,
            carries=state.carries | ((action == PICKUP) & at_key),
            opened=state.opened | ((action == OPEN) & at_door & state.carries),
            steps=state.steps + 1,
        )
        terminated = (action == FORWARD) & (ahead == SIZE - 2).all()  # the goal, in the corner
        truncated = next_state.steps >= self.max_steps
        return next_state, terminated.astype(jnp.float32), terminated, truncated

    def observe(self, state: DoorKeyState) -> jax.Array:
        """Return the one-hot vectors of the five parts of the state."""
        parts = [*state.place, state.heading, state.carries, state.opened]
        return _one_hot(parts, PARTS)


def _one_hot(values: list[jax.Array], sizes: tuple[int, ...]) -> jax.Array:
    """Return the concatenated one-hot vectors of some values, float32 (sum of sizes,)."""
    pairs = zip(values, sizes, strict=True)
    return jnp.concatenate([jnp.arange(size) == value for value, size in pairs]).astype(jnp.float32)


def _int32(value: Any) -> jax.Array:
    return jnp.asarray(value, jnp.int32)


def _set_fields(world: Any, **fields: Any) -> None:
    """Set fields of a frozen dataclass while it is being initialised."""
    for name, value in fields.items():
        object.__setattr__(world, name, value)
