"""Coverage of a grid: thousands of walkers at once, and the number of states that they see.

Each walker does one episode from the start. Exploration does not learn, so parallel episodes see
the same states as consecutive ones.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from easee.envs.grids import CardinalGrid, RotationGrid
from easee.errors import ArgumentError
from easee.experiments.harness.explorers import make_explorer
from easee.experiments.harness.figure import Measured, Row, Run
from easee.experiments.harness.rows import values_by_arm
from easee.experiments.harness.statistics import Estimate, ratio_interval
from easee.explorers.base import BaseExplorer

Grid: TypeAlias = type[CardinalGrid] | type[RotationGrid]

GRIDS: dict[str, Grid] = {"CardinalGrid": CardinalGrid, "RotationGrid": RotationGrid}
STEPS = 100
SIZE = (100, 100)
EPISODES = 100  # for which arms are compared
STATES = {"CardinalGrid": 10_000, "RotationGrid": 40_000}
METRIC = "unique states"


def measure(run: Run) -> Measured:
    """Count the unique states in the first n episodes, for each n of the setting `episodes`.

    Settings: grid, episodes (a list), and the explorer's.
    """
    counts = run.settings["episodes"]
    seen = walk_run(run, max(counts))
    return [(n, METRIC, float(unique_states(seen[:, :n]))) for n in counts]


def ratios(rows: list[Row], episodes: int = EPISODES) -> dict[str, Estimate]:
    """Return the ratio of the unique states to those of uniform actions on the same grid, by arm.

    Names of arms begin with the grid: "GRID/uniform" is the baseline of "GRID/...".
    """
    states = values_by_arm(rows, metric=METRIC, step=episodes)
    baselines = {arm: f"{arm.partition('/')[0]}/uniform" for arm in states}
    return {
        arm: ratio_interval(states[arm], states[baseline])
        for arm, baseline in baselines.items()
        if baseline in states
    }


def walk_run(run: Run, n_envs: int) -> NDArray[np.int32]:
    """Walk the episodes of a run on its grid; see `walk`."""
    grid = GRIDS[run.settings["grid"]]
    return walk(grid, make_explorer(run, len(grid.action_names), n_envs), STEPS, SIZE)


def walk(
    grid: Grid, explorer: BaseExplorer, steps: int, size: tuple[int, int] = SIZE
) -> NDArray[np.int32]:
    """Walk one episode per environment of the explorer, from the middle of a grid.

    Returns:
        int (steps + 1, n_envs), the index of the state of each walker.

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
    return walk_table(transitions(env), start_state(env), explorer, steps)


def walk_table(
    table: NDArray[np.int32], start: int, explorer: BaseExplorer, steps: int
) -> NDArray[np.int32]:
    """Walk one episode per environment of the explorer, in a world given as a table.

    The table is int (states * actions,): the next state for each state and action.
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
    """Count the different states in the result of `walk`."""
    return int(np.count_nonzero(np.bincount(seen.ravel())))


def transitions(env: CardinalGrid | RotationGrid) -> NDArray[np.int32]:
    """Return the next state for every state and action, flat (states * actions,)."""
    shape = env.shape
    states = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)
    after = [
        np.ravel_multi_index(
            tuple(env.transition(states, np.full(len(states), action), env.size).T), shape
        )
        for action in range(len(env.action_names))
    ]
    return np.stack(after, axis=1).astype(np.int32).ravel()


def start_state(env: CardinalGrid | RotationGrid) -> int:
    """Return the index of the state in which episodes start."""
    return int(np.ravel_multi_index(tuple(env.start), env.shape))
