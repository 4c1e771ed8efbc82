"""Priors on action sequences.

`get(name)` returns a ready-made prior, `names()` lists them, and the other functions build priors
that take parameters.
"""

from easee.priors.catalogue import (
    CARDINAL_ACTIONS,
    DOORKEY_ACTIONS,
    MINIGRID_ACTIONS,
    ROTATION_ACTIONS,
    atari,
    boxing,
    cardinal_grid,
    carnival,
    catcher,
    describe,
    doorkey,
    doorkey_usual,
    freeway,
    get,
    minigrid,
    minigrid_usual,
    names,
    rotation_grid,
)

__all__ = [
    "CARDINAL_ACTIONS",
    "DOORKEY_ACTIONS",
    "MINIGRID_ACTIONS",
    "ROTATION_ACTIONS",
    "atari",
    "boxing",
    "cardinal_grid",
    "carnival",
    "catcher",
    "describe",
    "doorkey",
    "doorkey_usual",
    "freeway",
    "get",
    "minigrid",
    "minigrid_usual",
    "names",
    "rotation_grid",
]
