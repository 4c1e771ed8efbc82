"""How much of a grid exploration sees: thousands of walkers at once.

Each walker is one episode from the start. Exploration does not learn, so episodes side by side see
what they would see one after the other.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from easee.envs.grids import CardinalGrid, RotationGrid
from easee.errors import ArgumentError
from easee.explorers.base import BaseExplorer

Grid: TypeAlias = type[CardinalGrid] | type[RotationGrid]


def walk(
    grid: Grid, explorer: BaseExplorer, steps: int, size: tuple[int, int] = (100, 100)
) -> NDArray[np.int32]:
    """Let every environment of the explorer walk an episode from the middle of a grid.

    Returns:
        int (steps + 1, n_envs), the number of the state that each walker is in.

    >>> from easee.explorers.baselines import UniformExplorer
    >>> walk(CardinalGrid, UniformExplorer(4, n_envs=3, seed=0), steps=10).shape
    (11, 3)
    """
    env = grid(size)
    if explorer.n_actions != len(grid.action_names):
        raise ArgumentError(
            f"expected an explorer of the {len(grid.action_names)} actions "
            f"{list(grid.action_names)}, found one of {explorer.n_actions}"
        )
    return walk_table(transitions(env), _number(env.start, env), explorer, steps)


def walk_table(
    table: NDArray[np.int32], start: int, explorer: BaseExplorer, steps: int
) -> NDArray[np.int32]:
    """Let every environment of the explorer walk an episode in a world given as a table.

    Args:
        table: int (states * actions,), the state after each state and action.
        start: the state to start in.
        explorer: chooses the actions.
        steps: how many.
    """
    state = np.full(explorer.n_envs, start, np.int32)
    seen = np.empty((steps + 1, explorer.n_envs), np.int32)
    seen[0] = state
    for t in range(1, steps + 1):
        actions = explorer.sample()
        explorer.step(actions)
        state = table.take(state * explorer.n_actions + actions)
        seen[t] = state
    return seen


def unique_states(seen: NDArray[np.int32]) -> int:
    """Count the different states in what `walk` returned."""
    return int(np.count_nonzero(np.bincount(seen.ravel())))


def transitions(env: CardinalGrid | RotationGrid) -> NDArray[np.int32]:
    """Return the state after every state and action, flat (states * actions,)."""
    shape = env.shape
    states = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)
    after = [
        np.ravel_multi_index(
            tuple(env.transition(states, np.full(len(states), action), env.size).T), shape
        )
        for action in range(len(env.action_names))
    ]
    return np.stack(after, axis=1).astype(np.int32).ravel()


def _number(state: NDArray[np.int64], env: CardinalGrid | RotationGrid) -> int:
    return int(np.ravel_multi_index(tuple(state), env.shape))
