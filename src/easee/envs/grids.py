"""CardinalGrid and RotationGrid: empty rooms with walls at the border (Section 5.1).

In `CardinalGrid` the agent moves one square right, left, up or down. In `RotationGrid` it moves one
square forward or turns on the spot. A move into a wall has no effect. There is no reward and no
goal: these environments measure which states are visited. `GoalGrid` is a `RotationGrid` with a
reward in a corner, for learning.
"""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from easee._utils.checks import checked_count
from easee.errors import ArgumentError, ArgumentTypeError

State = NDArray[np.int64]

MOVES = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])  # right, left, up, down
HEADINGS = np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])  # north, east, south, west
ARROWS = "^>v<"
GOAL_STEPS = 8  # time limit of `GoalGrid`, in multiples of its longer side
PIXELS = 5  # a cell's side in `rgb_array`


class _Grid(gym.Env[State, np.int64]):
    """An empty room whose states are (x, y) or (x, y, heading)."""

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 10}
    action_names: tuple[str, ...]
    headings = 1

    def __init__(
        self,
        size: int | tuple[int, int] = 100,
        start: tuple[int, ...] | None = None,
        render_mode: str | None = None,
    ) -> None:
        width, height = _checked_size(size)
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ArgumentError(
                f"expected a render_mode of {self.metadata['render_modes']}, found {render_mode!r}"
            )
        self.size = (width, height)
        self.shape = (width, height, self.headings)[: 2 if self.headings == 1 else 3]
        self.observation_space = spaces.MultiDiscrete(list(self.shape))
        self.action_space = spaces.Discrete(len(self.action_names))
        self.render_mode = render_mode
        middle = (width // 2, height // 2, 0)[: len(self.shape)]
        self.start = _checked_start(middle if start is None else start, len(middle))
        if not self.observation_space.contains(self.start):
            raise ArgumentError(
                f"expected a start inside a grid of {self.shape}, found {self.start.tolist()}"
            )
        self.state = self.start.copy()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[State, dict[str, Any]]:
        """Return to the start."""
        super().reset(seed=seed)
        self.state = self.start.copy()
        return self.state.copy(), {}

    def step(self, action: np.int64 | int) -> tuple[State, float, bool, bool, dict[str, Any]]:
        """Take an action; the reward is 0 and the episode never terminates."""
        if not self.action_space.contains(action):
            raise ArgumentError(
                f"expected an action from 0 to {len(self.action_names) - 1}, found {action!r}"
            )
        self.state = self.transition(self.state[None], np.array([int(action)]), self.size)[0]
        return self.state.copy(), 0.0, False, False, {}

    @classmethod
    def transition(cls, states: State, actions: State, size: tuple[int, int]) -> State:
        """Return the states (n, 2 or 3) that actions (n,) lead to from states of that shape."""
        raise NotImplementedError

    def render(self) -> str | NDArray[np.uint8] | None:
        """Return the room as text or as an RGB array (height, width, 3), with north at the top."""
        if self.render_mode == "ansi":
            return self._text()
        if self.render_mode == "rgb_array":
            return self._image()
        return None

    def _text(self) -> str:
        width, height = self.size
        rows = [["."] * width for _ in range(height)]
        mark = ARROWS[self.state[2]] if self.headings > 1 else "@"
        rows[height - 1 - self.state[1]][self.state[0]] = mark
        border = "#" * (width + 2)
        return "\n".join([border, *(f"#{''.join(row)}#" for row in rows), border])

    def _image(self) -> NDArray[np.uint8]:
        width, height = self.size
        cells = np.full((height + 2, width + 2, 3), 90, np.uint8)  # the walls
        cells[1:-1, 1:-1] = 245
        image = cells.repeat(PIXELS, axis=0).repeat(PIXELS, axis=1)
        x, y = self.state[:2]
        top, left = (height - y) * PIXELS, (x + 1) * PIXELS
        image[top : top + PIXELS, left : left + PIXELS] = (200, 30, 30)
        if self.headings > 1:  # a light pixel shows the heading
            dx, dy = HEADINGS[self.state[2]] * (PIXELS // 2)
            image[top + PIXELS // 2 - dy, left + PIXELS // 2 + dx] = (255, 230, 80)
        return image


class CardinalGrid(_Grid):
    """A room with four moves: right, left, up, down.

    Args:
        size: the side of the room, or (width, height).
        start: initial state (x, y); the middle by default.
        render_mode: "ansi" or "rgb_array".

    >>> env = CardinalGrid(5)
    >>> env.reset()[0], env.step(0)[0]
    (array([2, 2]), array([3, 2]))
    """

    action_names = ("right", "left", "up", "down")

    @classmethod
    def transition(cls, states: State, actions: State, size: tuple[int, int]) -> State:
        """Move, stopped by walls."""
        moved: State = np.minimum(np.maximum(states + MOVES[actions], 0), np.array(size) - 1)
        return moved


class RotationGrid(_Grid):
    """A room with three actions: one square forward, and turns to the left and right.

    Args:
        size, render_mode: as in `CardinalGrid`.
        start: initial state (x, y, heading); by default in the middle, facing north.

    >>> env = RotationGrid(5)
    >>> [env.step(a)[0].tolist() for a in (0, 2, 0)]  # forward, right, forward
    [[2, 3, 0], [2, 3, 1], [3, 3, 1]]
    """

    action_names = ("forward", "left", "right")
    headings = 4

    @classmethod
    def transition(cls, states: State, actions: State, size: tuple[int, int]) -> State:
        """Move or turn, stopped by walls."""
        moved = np.empty_like(states)
        ahead = states[:, :2] + HEADINGS[states[:, 2]] * (actions == 0)[:, None]
        moved[:, :2] = np.minimum(np.maximum(ahead, 0), np.array(size) - 1)
        moved[:, 2] = (states[:, 2] + (actions == 2) - (actions == 1)) % 4
        return moved


class GoalGrid(RotationGrid):
    """A rotation grid with a goal: a reward of 1 in the corner (0, 0), which ends the episode.

    Args:
        size, start, render_mode: as in `RotationGrid`.
        max_steps: number of steps after which an episode is truncated; eight times the longer side
            by default.

    >>> env = GoalGrid(3, start=(1, 0, 3))
    >>> env.step(0)[:4]
    (array([0, 0, 3]), 1.0, True, False)
    """

    def __init__(
        self,
        size: int | tuple[int, int] = 51,
        start: tuple[int, ...] | None = None,
        render_mode: str | None = None,
        max_steps: int | None = None,
    ) -> None:
        super().__init__(size, start, render_mode)
        limit = GOAL_STEPS * max(self.size) if max_steps is None else max_steps
        self.max_steps, self.steps = checked_count(limit, "max_steps"), 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[State, dict[str, Any]]:
        """Return to the start."""
        self.steps = 0
        return super().reset(seed=seed, options=options)

    def step(self, action: np.int64 | int) -> tuple[State, float, bool, bool, dict[str, Any]]:
        """Take an action; the episode ends in the corner, or after `max_steps`."""
        state, *_ = super().step(action)
        self.steps += 1
        reached = not state[:2].any()
        return state, float(reached), reached, self.steps >= self.max_steps, {}


def _checked_size(size: int | tuple[int, int]) -> tuple[int, int]:
    """Return the width and the height of a room."""
    sides = tuple(size) if isinstance(size, tuple | list) else (size, size)
    if len(sides) != 2:
        raise ArgumentError(f"expected size as one number or as (width, height), found {size!r}")
    return checked_count(sides[0], "width"), checked_count(sides[1], "height")


def _checked_start(start: Any, length: int) -> State:
    """Return the initial state as an array of whole numbers; its shape is checked elsewhere."""
    try:
        state = np.asarray(start)
    except ValueError:  # a ragged list
        state = np.asarray(None)
    if state.dtype.kind not in "iu":
        fields = ", ".join(("x", "y", "heading")[:length])
        raise ArgumentTypeError(f"expected start as whole numbers ({fields}), found {start!r}")
    return state.astype(np.int64)
