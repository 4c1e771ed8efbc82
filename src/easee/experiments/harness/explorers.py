"""From an arm's settings, which are plain data, to the explorer that it explores with."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from easee import priors
from easee.experiments.harness.figure import Run
from easee.explorers.base import BaseExplorer
from easee.explorers.baselines import TabuExplorer, UniformExplorer, ZetaExplorer
from easee.explorers.easee import Explorer
from easee.graph import unroll
from easee.policy import ExplorationPolicy, balance
from easee.priors.equivalences import Equivalences


def generator(run: Run) -> np.random.Generator:
    """Return the run's own generator: two arms with the same seed share no random numbers."""
    return np.random.default_rng([run.seed, *run.arm.encode()])


def make_explorer(run: Run, n_actions: int, n_envs: int = 1) -> BaseExplorer:
    """Return the explorer that a run asks for.

    Settings: explorer ("easee", "uniform", "zeta", "tabu"); for "easee" a prior, a depth and, if
    wanted, last_only (only the last layer counts), more (relations to add) and floor; for "tabu" a
    prior.
    """
    settings = run.settings
    kind, seed = settings["explorer"], generator(run)
    if kind == "uniform":
        return UniformExplorer(n_actions, n_envs, seed)
    if kind == "zeta":
        return ZetaExplorer(n_actions, n_envs, seed, mu=2.0)
    if kind == "tabu":
        return TabuExplorer(priors.get(settings["prior"]), n_envs, seed)
    policy = policy_of(
        settings["prior"],
        settings["depth"],
        settings.get("last_only", False),
        tuple(settings.get("more", ())),
    )
    return Explorer(policy, n_envs, seed, floor=settings.get("floor", 0.0))


@lru_cache(maxsize=4)
def policy_of(
    prior: str, depth: int, last_only: bool = False, more: tuple[str, ...] = ()
) -> ExplorationPolicy:
    """Compile a ready-made prior with more relations; the last few are remembered."""
    omega = priors.get(prior)
    weights = [0.0] * (depth - 1) + [1.0] if last_only else None
    return balance(unroll(Equivalences(omega.actions, [omega, *more]), depth), weights=weights)
