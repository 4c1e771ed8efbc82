"""What the exploration figures share: one run walks many episodes and counts the states seen."""

from __future__ import annotations

from easee.envs.grids import CardinalGrid, RotationGrid
from easee.experiments.coverage.simulation import Grid, unique_states, walk
from easee.experiments.harness.explorers import make_explorer
from easee.experiments.harness.figure import Measured, Run
from easee.explorers.base import BaseExplorer

GRIDS: dict[str, Grid] = {"CardinalGrid": CardinalGrid, "RotationGrid": RotationGrid}
STEPS = 100
SIZE = (100, 100)
STATES = {"CardinalGrid": 10_000, "RotationGrid": 40_000}
COMPLETE = {"CardinalGrid": "cardinal-grid", "RotationGrid": "rotation-grid-complete"}
METRIC = "unique states"


def measure(run: Run) -> Measured:
    """Walk as many episodes as the largest count asks for; count states after each of `episodes`.

    Settings: grid, episodes (a list), and the explorer's.
    """
    settings = run.settings
    counts = settings["episodes"]
    grid = GRIDS[settings["grid"]]
    seen = walk(grid, explorer_on_grid(run, max(counts)), STEPS, SIZE)
    return [(n, METRIC, float(unique_states(seen[:, :n]))) for n in counts]


def explorer_on_grid(run: Run, n_envs: int) -> BaseExplorer:
    """Return the explorer that a run asks for, for the actions of its grid."""
    return make_explorer(run, len(GRIDS[run.settings["grid"]].action_names), n_envs)
