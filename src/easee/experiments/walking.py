"""What the exploration figures share: one run walks many episodes and counts the states seen."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from easee import priors
from easee.envs.coverage import Grid, unique_states, walk
from easee.envs.grids import CardinalGrid, RotationGrid
from easee.experiments.runs import Measured, Run
from easee.explorer import Explorer
from easee.explorer_base import BaseExplorer
from easee.graph import unroll
from easee.policy import ExplorationPolicy, balance
from easee.rivals import TabuExplorer, UniformExplorer, ZetaExplorer

GRIDS: dict[str, Grid] = {"CardinalGrid": CardinalGrid, "RotationGrid": RotationGrid}
STEPS = 100
SIZE = (100, 100)
STATES = {"CardinalGrid": 10_000, "RotationGrid": 40_000}
COMPLETE = {"CardinalGrid": "cardinal-grid", "RotationGrid": "rotation-grid-complete"}
METRIC = "unique states"


def measure(run: Run) -> Measured:
    """Walk as many episodes as the largest count asks for; count states after each of `episodes`.

    Settings: grid, explorer ("easee", "uniform", "zeta", "tabu"), episodes (a list), and for
    "easee" a prior, a depth and whether only the last layer counts.
    """
    settings = run.settings
    counts = settings["episodes"]
    grid = GRIDS[settings["grid"]]
    seen = walk(grid, make_explorer(run, max(counts)), STEPS, SIZE)
    return [(n, METRIC, float(unique_states(seen[:, :n]))) for n in counts]


def make_explorer(run: Run, n_envs: int) -> BaseExplorer:
    """Return the explorer that a run asks for."""
    settings = run.settings
    grid = settings["grid"]
    n_actions = len(GRIDS[grid].action_names)
    # The arm is part of the seed: two arms with the same seed share no random numbers.
    seed = np.random.default_rng([run.seed, *run.arm.encode()])
    kind = settings["explorer"]
    if kind == "uniform":
        return UniformExplorer(n_actions, n_envs, seed)
    if kind == "zeta":
        return ZetaExplorer(n_actions, n_envs, seed, mu=2.0)
    if kind == "tabu":
        return TabuExplorer(priors.get(COMPLETE[grid]), n_envs, seed)
    policy = policy_of(settings["prior"], settings["depth"], settings.get("last_only", False))
    return Explorer(policy, n_envs, seed)


@lru_cache(maxsize=4)
def policy_of(prior: str, depth: int, last_only: bool = False) -> ExplorationPolicy:
    """Compile a ready-made prior; the last few are remembered."""
    weights = [0.0] * (depth - 1) + [1.0] if last_only else None
    return balance(unroll(priors.get(prior), depth), weights=weights)
