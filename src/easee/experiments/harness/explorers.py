"""Explorers from the settings of an arm, which are plain data.

Settings: `explorer` ("easee", "uniform", "zeta" or "tabu"). "easee" needs `prior` and `depth`, and
takes `last_only` (only the last layer counts), `more` (additional relations) and `floor`. "tabu"
needs `prior`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from easee import priors
from easee.errors import ArgumentError, GraphTooLargeError
from easee.experiments.harness.figure import Run
from easee.explorers.base import BaseExplorer
from easee.explorers.baselines import TabuExplorer, UniformExplorer, ZetaExplorer
from easee.explorers.easee import Explorer
from easee.graph import deepest_that_fits
from easee.policy import ExplorationPolicy, compile
from easee.priors.equivalences import Equivalences

if TYPE_CHECKING:
    from easee.explorers.jax import Tables


def generator(run: Run) -> np.random.Generator:
    """Return the random generator of a run; arms with the same seed share no random numbers."""
    return np.random.default_rng([run.seed, *run.arm.encode()])


def agent_seed(run: Run) -> int:
    """Return the random seed of the agent of a run."""
    return int(generator(run).integers(2**31))


def make_explorer(run: Run, n_actions: int, n_envs: int = 1) -> BaseExplorer:
    """Return the explorer of a run."""
    kind, rng = run.settings["explorer"], generator(run)
    if kind == "uniform":
        return UniformExplorer(n_actions, n_envs, rng)
    if kind == "zeta":
        return ZetaExplorer(n_actions, n_envs, rng, mu=2.0)
    if kind == "tabu":
        return TabuExplorer(priors.get(run.settings["prior"]), n_envs, rng)
    policy, floor = _policy_and_floor(run.settings)
    return Explorer(policy, n_envs, rng, floor=floor)


def make_tables(settings: Mapping[str, Any], n_actions: int) -> Tables:
    """Return the explorer of an arm for JAX."""
    from easee.explorers import jax as explorers

    kind = settings["explorer"]
    if kind == "uniform":
        return explorers.uniform(n_actions)
    if kind == "zeta":
        return explorers.zeta(n_actions, mu=2.0)
    policy, floor = _policy_and_floor(settings)
    return explorers.from_policy(policy, floor=floor)


def _policy_and_floor(settings: Mapping[str, Any]) -> tuple[ExplorationPolicy, float | None]:
    """Return the policy of an arm that explores with EASEE, and its floor."""
    if settings["explorer"] != "easee":
        raise ArgumentError(f"expected the explorer 'easee' here, found {settings['explorer']!r}")
    last_only, more = settings.get("last_only", False), tuple(settings.get("more", ()))
    policy = policy_of(settings["prior"], settings["depth"], last_only, more)
    return policy, settings.get("floor")


@lru_cache(maxsize=4)
def policy_of(
    prior: str, depth: int, last_only: bool = False, more: tuple[str, ...] = ()
) -> ExplorationPolicy:
    """Compile a ready-made prior with additional relations; the last few policies are cached."""
    omega = priors.get(prior)
    weights = [0.0] * (depth - 1) + [1.0] if last_only else None
    return compile(Equivalences(omega.actions, [omega, *more]), depth, weights=weights)


def deepest_policy(
    omega: Equivalences, depth: int, *, max_nodes: int = 100_000
) -> ExplorationPolicy:
    """Compile a prior at the largest depth, up to a given one, whose graph is small enough."""
    try:
        depth = deepest_that_fits(omega, depth, max_nodes=max_nodes)
    except GraphTooLargeError:
        depth = 1
    return compile(omega, depth)
