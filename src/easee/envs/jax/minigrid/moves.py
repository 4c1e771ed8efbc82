"""The state of an episode of MiniGrid, and what the seven actions do to it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

import easee.envs.jax.minigrid.codes as codes
from easee.priors import MINIGRID_ACTIONS

LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE, DONE = range(len(MINIGRID_ACTIONS))


class MiniGridState(NamedTuple):
    """The state of an episode.

    Attributes:
        grid: codes of the cells by column and row, uint8 (width, height).
        place: column and row of the agent, int32 (2,).
        heading: 0 is right, then clockwise; int32 ().
        carried: code of the carried object, or of an empty cell; uint8 ().
        steps: number of steps taken, int32 ().
        target: what the task's rule needs to know of the layout, int32 (any length,).
    """

    grid: jax.Array
    place: jax.Array
    heading: jax.Array
    carried: jax.Array
    steps: jax.Array
    target: jax.Array


def cell_at(grid: jax.Array, place: jax.Array) -> jax.Array:
    """Return the code of a cell, uint8 ()."""
    return grid[place[0], place[1]]


def cell_ahead(state: MiniGridState) -> jax.Array:
    """Return the place in front of the agent, int32 (2,)."""
    heading, odd = state.heading, state.heading % 2
    return state.place + jnp.stack([(1 - heading) * (1 - odd), (2 - heading) * odd])


def move(state: MiniGridState, action: jax.Array) -> MiniGridState:
    """Return the state after an action, as in `MiniGridEnv.step`."""
    ahead = cell_ahead(state)
    front = cell_at(state.grid, ahead)
    changed, carried = _use(front, state.carried, action)
    columns, rows = (jnp.arange(size) for size in state.grid.shape)
    # Comparing all cells with the place is faster than a scatter, and fuses with what follows.
    here = (columns == ahead[0])[:, None] & (rows == ahead[1])
    return state._replace(
        grid=jnp.where(here, changed, state.grid),
        place=jnp.where((action == FORWARD) & _can_enter(front >> 3), ahead, state.place),
        heading=(state.heading + (action == RIGHT) - (action == LEFT)) % 4,
        carried=carried,
        steps=state.steps + 1,
    )


def _can_enter(kind: jax.Array) -> jax.Array:
    enterable = (codes.EMPTY, codes.FLOOR, codes.OPEN, codes.GOAL, codes.LAVA)
    return jnp.any(jnp.stack([kind == one for one in enterable]), axis=0)


def _use(front: jax.Array, carried: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the cell in front of the agent and the carried object after an action."""
    nothing = jnp.uint8(codes.NOTHING)
    kind = front >> 3
    is_item = ((kind >= codes.KEY) & (kind <= codes.BOX)) | (kind >= codes.BOX_WITH_KEY)
    picks = (action == PICKUP) & is_item & (carried == nothing)
    drops = (action == DROP) & (front == nothing)  # with an empty hand, this changes nothing
    toggled = jnp.where(action == TOGGLE, _toggle(front, carried), front)
    changed = jnp.where(picks, nothing, jnp.where(drops, carried, toggled))
    return changed, jnp.where(picks, front, jnp.where(drops, nothing, carried))


def _toggle(front: jax.Array, carried: jax.Array) -> jax.Array:
    """Return a cell after it was toggled: a door, a box, or anything else, which stays."""
    kind, colour = front >> 3, front & 7
    key_fits = carried == 8 * codes.KEY + colour
    opens = (kind == codes.CLOSED) | ((kind == codes.LOCKED) & key_fits)
    key, ball = kind - codes.BOX_WITH_KEY, kind - codes.BOX_WITH_BALL  # colours of contents
    cases = [
        (opens, 8 * codes.OPEN + colour),
        (kind == codes.OPEN, 8 * codes.CLOSED + colour),
        (kind == codes.BOX, jnp.full_like(front, codes.NOTHING)),
        (kind >= codes.BOX_WITH_BALL, 8 * codes.BALL + ball),
        (kind >= codes.BOX_WITH_KEY, 8 * codes.KEY + key),
    ]
    return jnp.select([case for case, _ in cases], [cell for _, cell in cases], front)
