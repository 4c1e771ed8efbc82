"""Catcher as a world (Section 5.3)."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from easee.envs import catcher
from easee.envs.jax.world import Outcome, World, int32, set_fields


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
        set_fields(self, width=env.width, height=env.height)

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Shape of the image, (height, width, 1)."""
        return self.height, self.width, 1

    def reset(self, key: jax.Array) -> CatcherState:
        """Place the ball at the top of a random reachable column."""
        columns = int32(catcher.reachable_columns(self.width, self.height))
        ball = columns[jax.random.randint(key, (), 0, len(columns))]
        return CatcherState(ball, int32(self.width // 2), int32(0))

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
