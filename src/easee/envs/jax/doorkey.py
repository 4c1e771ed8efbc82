"""The paper's DoorKey as a world (Section 5.2)."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from easee._utils.checks import checked_count
from easee.envs.jax.world import Outcome, World, int32, one_hot, set_fields
from easee.priors import DOORKEY_ACTIONS

# The constants of `easee.envs.doorkey`, which cannot be imported without MiniGrid.
SIZE = 19
SPLIT = 13
MAX_STEPS = 3249
PARTS = (SIZE, SIZE, 4, 2, 2)  # numbers of columns, rows, headings, and values of two flags
LEFT, RIGHT, FORWARD, PICKUP, OPEN = range(len(DOORKEY_ACTIONS))
AHEAD = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]], np.int32)  # east, south, west, north


class Layout(NamedTuple):
    """The part of the state that all episodes of a DoorKey share, int32.

    Attributes:
        key: column and row of the key, (2,).
        door: row of the door, ().
        start: first column, row and heading of the agent, (3,).
    """

    key: jax.Array
    door: jax.Array
    start: jax.Array


class DoorKeyState(NamedTuple):
    """The state of an episode.

    Attributes:
        layout: positions of key, door and start.
        place: column and row of the agent, int32 (2,).
        heading: 0 is east, then clockwise; int32 ().
        carries: whether the agent has the key, bool ().
        opened: whether the door is open, bool ().
        steps: number of steps taken, int32 ().
    """

    layout: Layout
    place: jax.Array
    heading: jax.Array
    carries: jax.Array
    opened: jax.Array
    steps: jax.Array


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
        set_fields(self, max_steps=checked_count(self.max_steps, "max_steps"))

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
        start = jnp.stack([int32(part) for part in state[:3]])
        carries, opened = (jnp.asarray(flag, bool) for flag in state[3:])
        layout = Layout(int32(key), int32(door), start)
        return DoorKeyState(layout, start[:2], start[2], carries, opened, int32(0))

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

    def pack(self, state: DoorKeyState) -> jax.Array:
        """Return column, row, heading and the two flags, int8 (5,)."""
        parts = [*state.place, state.heading, state.carries, state.opened]
        return jnp.stack([part.astype(jnp.int8) for part in parts])

    def unpack(self, packed: jax.Array) -> jax.Array:
        """Return the one-hot vectors of the five parts of the state."""
        return one_hot(list(packed), PARTS)
