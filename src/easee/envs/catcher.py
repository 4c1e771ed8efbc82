"""Catcher: move a paddle under a falling ball (Section 5.3).

The field is 60 blocks wide and 30 high. Ball and paddle move one block per step, so an episode has
30 steps: the ball starts in the top row, reaches the paddle's row at step 29, and the paddle must
move under it at step 30. The paddle moves at every step, so it can end only in every other column;
the ball falls only in columns that the paddle can reach, so the best mean reward is 1.
"""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from easee._utils.checks import checked_count
from easee.errors import ArgumentError

Image = NDArray[np.uint8]

BALL, PADDLE = 255, 128  # grey values
PIXELS = 8  # a block's side in `rgb_array`


class Catcher(gym.Env[Image, np.int64]):
    """Catch one ball with the actions left and right, for a reward of 1, or -1 if it is missed.

    Observations are images, uint8 (height, width, 1): 255 is the ball, 128 the paddle. The paddle
    starts in the middle and is stopped by walls.

    Args:
        width: width of the field in blocks.
        height: height of the field, which is the number of steps.
        render_mode: "ansi" or "rgb_array".

    >>> env = Catcher()
    >>> observation, info = env.reset(seed=0)
    >>> observation.shape, env.ball, env.paddle
    ((30, 60, 1), 50, 30)
    >>> [env.step(1)[1:3] for _ in range(30)][-1]  # always right
    (-1.0, True)
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 10}
    action_names = ("left", "right")

    def __init__(self, width: int = 60, height: int = 30, render_mode: str | None = None) -> None:
        self.width = checked_count(width, "width")
        self.height = checked_count(height, "height")
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ArgumentError(
                f"expected a render_mode of {self.metadata['render_modes']}, found {render_mode!r}"
            )
        self.render_mode = render_mode
        self.observation_space = spaces.Box(0, 255, (self.height, self.width, 1), np.uint8)
        self.action_space = spaces.Discrete(2)
        self.columns = reachable_columns(self.width, self.height)
        if not len(self.columns):
            raise ArgumentError(
                f"expected a field in which a ball can be caught, found width {self.width} and "
                f"height {self.height}: choose a width of at least 2"
            )
        self.ball = self.paddle = self.width // 2
        self.row = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Image, dict[str, Any]]:
        """Start an episode with a new ball."""
        super().reset(seed=seed)
        self.ball = int(self.np_random.choice(self.columns))
        self.paddle, self.row = self.width // 2, 0
        return self._observation(), {}

    def step(self, action: np.int64 | int) -> tuple[Image, float, bool, bool, dict[str, Any]]:
        """Move the paddle left (0) or right (1) and the ball down by one row."""
        if not self.action_space.contains(action):
            raise ArgumentError(f"expected an action of 0 or 1, found {action!r}")
        self.paddle = min(max(self.paddle + (1 if action else -1), 0), self.width - 1)
        self.row += 1
        done = self.row >= self.height
        reward = (1.0 if self.paddle == self.ball else -1.0) if done else 0.0
        return self._observation(), reward, done, False, {}

    def _observation(self) -> Image:
        image = np.zeros((self.height, self.width, 1), np.uint8)
        image[-1, self.paddle] = PADDLE
        if self.row < self.height:
            image[self.row, self.ball] = BALL
        return image

    def render(self) -> str | Image | None:
        """Return the field as text or as an RGB array (height, width, 3)."""
        field = self._observation()[:, :, 0]
        if self.render_mode == "ansi":
            marks = {0: ".", BALL: "o", PADDLE: "="}
            return "\n".join("".join(marks[value] for value in row) for row in field.tolist())
        if self.render_mode == "rgb_array":
            colours = {0: (24, 28, 44), BALL: (255, 214, 92), PADDLE: (230, 57, 70)}
            image = np.array([[colours[v] for v in row] for row in field.tolist()], np.uint8)
            return image.repeat(PIXELS, axis=0).repeat(PIXELS, axis=1)
        return None


def reachable_columns(width: int, height: int) -> NDArray[np.int64]:
    """Return the columns that a paddle can reach in exactly `height` moves without hitting a wall.

    >>> reachable_columns(9, 2)
    array([2, 4, 6])
    """
    columns = np.arange(width)
    distance = np.abs(columns - width // 2)
    reachable: NDArray[np.int64] = columns[(distance <= height) & ((distance - height) % 2 == 0)]
    return reachable
