"""Cells as one byte each.

The code of a cell is `8 * kind + colour`. The kinds up to 10 are MiniGrid's types of objects; the
kinds above distinguish the states of doors and the contents of boxes. Colours are numbered as in
MiniGrid.
"""

from typing import Any

import jax
import jax.numpy as jnp

from easee.errors import ArgumentError

COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
TYPES = (
    "unseen",
    "empty",
    "wall",
    "floor",
    "door",
    "key",
    "ball",
    "box",
    "goal",
    "lava",
    "agent",
)
UNSEEN, EMPTY, WALL, FLOOR, OPEN, KEY, BALL, BOX, GOAL, LAVA, AGENT = range(len(TYPES))
CLOSED, LOCKED = 11, 12
BOX_WITH_KEY = 13  # plus the colour of the key
BOX_WITH_BALL = BOX_WITH_KEY + len(COLOURS)  # plus the colour of the ball

NOTHING = 8 * EMPTY  # code of an empty cell, and of an empty hand
GREY_WALL = 8 * WALL + COLOURS.index("grey")  # code of the cells outside the grid


def encode(cell: Any) -> int:
    """Return the code of a cell of MiniGrid: a `WorldObj`, or None if it is empty.

    Raises:
        ArgumentError: it is a box with something other than a key or a ball inside.

    >>> encode(None)
    8
    """
    if cell is None:
        return NOTHING
    kind = TYPES.index(cell.type)
    if kind == OPEN:
        kind = (OPEN, CLOSED, LOCKED)[cell.encode()[2]]
    elif cell.contains is not None:
        kind = _box_kind(cell.contains)
    return 8 * kind + COLOURS.index(cell.color)


def encode_object(name: str, colour: str) -> int:
    """Return the code of an object without a state, by its type and colour.

    >>> encode_object("key", "blue")
    42
    """
    return 8 * TYPES.index(name) + COLOURS.index(colour)


def _box_kind(content: Any) -> int:
    first = {"key": BOX_WITH_KEY, "ball": BOX_WITH_BALL}.get(content.type)
    if first is None:
        raise ArgumentError(f"expected boxes with keys or balls, found one with a {content.type}")
    return first + COLOURS.index(content.color)


def decode(codes: jax.Array) -> jax.Array:
    """Return type, colour and state of cells as MiniGrid encodes them, uint8 (..., 3).

    Args:
        codes: uint8, of any shape.

    >>> decode(jnp.uint8([8, 8 * 12 + 4, 8 * 13 + 2])).tolist()  # empty, locked door, box
    [[1, 0, 0], [4, 4, 2], [7, 2, 0]]
    """
    kinds = codes >> 3
    doors = (kinds == CLOSED) | (kinds == LOCKED)
    types = jnp.where(doors, jnp.uint8(OPEN), jnp.where(kinds > LOCKED, jnp.uint8(BOX), kinds))
    states = jnp.where(doors, kinds - (CLOSED - 1), 0)
    return jnp.stack([types, codes & 7, states.astype(jnp.uint8)], axis=-1)
