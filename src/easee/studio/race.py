"""The coverage race: uniform, temporally extended and this policy's actions on one grid."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from easee.envs.grids import CardinalGrid, RotationGrid
from easee.errors import ArgumentError
from easee.experiments.coverage.simulation import Grid, walk
from easee.explorers.base import BaseExplorer
from easee.explorers.baselines import UniformExplorer, ZetaExplorer
from easee.explorers.easee import Explorer
from easee.priors.equivalences import Equivalences
from easee.studio.compilation import compiled
from easee.studio.limits import checked_between
from easee.studio.prior_text import read_prior

GRIDS: tuple[Grid, ...] = (CardinalGrid, RotationGrid)

Json = dict[str, Any]


def race(
    text: str, depth: int, *, size: int = 41, walkers: int = 20, steps: int = 100, seed: int = 0
) -> Json:
    """Let three explorers walk from the middle of a grid; return their cells and their counts.

    Of each explorer, `cells` are int (steps + 1, walkers), as x + size * y from the bottom left,
    and `counts` are the different cells that all its walkers together have seen after each step.
    """
    size = checked_between(size, "the side of the grid", 5, 101)
    walkers = checked_between(walkers, "walkers", 1, 100)
    steps = checked_between(steps, "steps", 1, 500)
    seed = checked_between(seed, "seed", 0, 2**31)
    grid, omega = _in_order(read_prior(text))
    policy = compiled(str(omega), depth).policy
    k = len(omega.actions)
    rngs = [np.random.default_rng([seed, arm]) for arm in range(3)]
    explorers: dict[str, tuple[str, BaseExplorer]] = {
        "uniform": ("uniform actions", UniformExplorer(k, walkers, rngs[0])),
        "zeta": ("temporally extended", ZetaExplorer(k, walkers, rngs[1], mu=2.0)),
        "easee": (f"EASEE, depth {depth}", Explorer(policy, walkers, rngs[2])),
    }
    runners = []
    for method, (name, explorer) in explorers.items():
        cells = _cells(grid, walk(grid, explorer, steps, (size, size)), size)
        counts = _rising_counts(cells)
        runners.append({"method": method, "name": name, "cells": cells.tolist(), "counts": counts})
    moves = "four moves" if grid is CardinalGrid else "forward and turns"
    world = {"grid": grid.__name__, "moves": moves, "size": size}
    return {**world, "walkers": walkers, "steps": steps, "runners": runners}


def _in_order(omega: Equivalences) -> tuple[Grid, Equivalences]:
    """Return the grid with the actions of a prior, and the prior in its order."""
    for grid in GRIDS:
        if set(omega.actions) == set(grid.action_names):
            return grid, Equivalences(grid.action_names, [omega])
    known = " or ".join(", ".join(grid.action_names) for grid in GRIDS)
    raise ArgumentError(
        f"the race is on a grid with the actions {known}: this prior has "
        f"{', '.join(omega.actions)}. Choose a ready-made prior of a grid, or measure this one in "
        "its own environment: Check, How deep?"
    )


def _cells(grid: Grid, states: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    """Return the cells of states, whatever the heading."""
    shape = grid((size, size)).shape
    x, y, *_ = np.unravel_index(states, shape)
    return np.asarray(x + size * y)


def _rising_counts(cells: NDArray[np.int64]) -> list[int]:
    """Return the number of different cells up to each step.

    >>> _rising_counts(np.array([[4, 4], [4, 5], [3, 5]]))
    [1, 2, 3]
    """
    _, first = np.unique(cells.ravel(), return_index=True)  # the first of equal ones
    counts = np.bincount(first // cells.shape[1], minlength=len(cells)).cumsum()
    return [int(count) for count in counts]
