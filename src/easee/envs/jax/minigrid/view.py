"""What the agent sees: its view, or the whole grid."""

import jax
import jax.numpy as jnp

import easee.envs.jax.minigrid.codes as codes
from easee.envs.jax.minigrid.moves import MiniGridState

LARGEST = 31  # columns of a view: the visible cells of a row are the bits of an integer


def full_image(state: MiniGridState) -> jax.Array:
    """Return the image of `minigrid.wrappers.FullyObsWrapper`, uint8 (width, height, 3)."""
    columns, rows = (jnp.arange(size) for size in state.grid.shape)
    here = (columns == state.place[0])[:, None] & (rows == state.place[1])
    agent = jnp.stack([jnp.int32(codes.AGENT), jnp.int32(0), state.heading]).astype(jnp.uint8)
    return jnp.where(here[:, :, None], agent, codes.decode(state.grid))


def egocentric_image(state: MiniGridState, view: int, see_through_walls: bool) -> jax.Array:
    """Return the image that the agent sees, as `MiniGridEnv.gen_obs`, uint8 (view, view, 3).

    The agent is in the middle of the last row and faces up; it sees what it carries in its place.
    """
    cells = _cells_in_view(state, view)
    if not see_through_walls:
        cells = jnp.where(_visible(cells), cells, codes.UNSEEN)
    middle, last = view // 2, view - 1
    columns, rows = jnp.arange(view)[:, None], jnp.arange(view)
    return codes.decode(jnp.where((columns == middle) & (rows == last), state.carried, cells))


def _cells_in_view(state: MiniGridState, view: int) -> jax.Array:
    """Return the codes of the cells in view, with walls outside the grid, uint8 (view, view)."""
    right = jnp.arange(view)[:, None] - view // 2  # of the agent
    ahead = view - 1 - jnp.arange(view)
    odd = state.heading % 2
    x, y = (1 - state.heading) * (1 - odd), (2 - state.heading) * odd  # the direction ahead
    columns = state.place[0] + ahead * x - right * y
    rows = state.place[1] + ahead * y + right * x
    width, height = state.grid.shape
    inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
    return jnp.where(inside, state.grid[columns, rows], codes.GREY_WALL)


def _visible(cells: jax.Array) -> jax.Array:
    """Return which cells of a view are visible, as `Grid.process_vis`, bool (view, view).

    Sight spreads from the agent within its row, first to the right, then to the left, and from
    every cell that it passes to the next row, straight and in the direction of the spread. The
    cells of a row are the bits of an integer, so that a spread takes few operations.
    """
    view = len(cells)
    kinds = cells >> 3
    clear = (kinds != codes.WALL) & (kinds != codes.CLOSED) & (kinds != codes.LOCKED)
    bits = jnp.arange(view, dtype=jnp.uint32)[:, None]
    clear_rows = (clear.astype(jnp.uint32) << bits).sum(axis=0, dtype=jnp.uint32)
    seen = jnp.uint32(1 << view // 2)
    rows = []
    for row in reversed(range(view)):
        clear_row = clear_rows[row]
        passed = _spread(seen, clear_row, view, 1)
        seen = seen | passed << 1
        above = passed | passed << 1
        passed = _spread(seen, clear_row, view, -1)
        rows.append(seen | passed >> 1)
        seen = above | passed | passed >> 1
    return (jnp.stack(rows[::-1]) >> bits & 1).astype(bool)


def _spread(seen: jax.Array, clear: jax.Array, view: int, direction: int) -> jax.Array:
    """Return the cells of a row that sight passes in a direction, the last cell excepted.

    `seen` and `clear` are the bits of the cells that are seen, and that can be seen through; the
    direction is 1 towards higher bits, -1 towards lower bits.
    """
    last = view - 1 if direction == 1 else 0
    clear = clear & jnp.uint32((1 << view) - 1 - (1 << last))
    passed = seen & clear
    distance = 1
    while distance < view - 1:  # doubles the distance that sight has spread
        passed = passed | clear & _shift(passed, distance * direction)
        clear = clear & _shift(clear, distance * direction)
        distance *= 2
    return passed


def _shift(bits: jax.Array, count: int) -> jax.Array:
    return bits << count if count > 0 else bits >> -count
