"""What the arms of a task explore with: an explorer, and for some a reward for novelty."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from easee.envs.minigrid import is_minigrid, minigrid_state
from easee.experiments.hard.tasks import TASKS, HardTask
from easee.experiments.harness.explorers import deepest_policy, policy_of
from easee.policy import ExplorationPolicy
from easee.probing.discover import discover
from easee.viz.style import names

if TYPE_CHECKING:
    from easee.agents.population.bonuses import Bonus
    from easee.explorers.jax import Tables

EXPLORERS = names(
    "uniform", "useful", "zeta", "count", "rnd", "exact", "usual", "discovered",
    uniform="epsilon-greedy", zeta="temporally extended",
)  # fmt: skip
MAX_NODES = 50_000  # of the graph of a discovered prior


def explorers_of(task: HardTask) -> list[str]:
    """Return the explorers of a task; without interactions, `useful` would be `uniform`."""
    return [name for name in EXPLORERS if name != "useful" or task.interactions]


def make_bonus(settings: Mapping[str, Any]) -> Bonus:
    """Return the reward for novelty of an arm."""
    from easee.agents.population import bonuses

    if settings["explorer"] == "count":
        return bonuses.CountBonus(settings["weight"])
    if settings["explorer"] == "rnd":
        return bonuses.RndBonus(settings["weight"])
    return bonuses.NO_BONUS


def make_tables(settings: Mapping[str, Any], seed: int) -> Tables:
    """Return the explorer of an arm."""
    from easee.explorers import jax as explorers

    task, name = TASKS[settings["task"]], settings["explorer"]
    if name in ("uniform", "count", "rnd"):
        return explorers.uniform(task.n_actions)
    if name == "zeta":
        return explorers.zeta(task.n_actions, settings["mu"])
    if name == "useful":
        return explorers.fixed(_useful(policy_of(*task.usual)))
    if name == "discovered":
        return explorers.from_policy(discovered(task.name, seed)[0])
    prior, depth = task.exact if name == "exact" else task.usual
    return explorers.from_policy(
        policy_of(settings.get("prior", prior), settings.get("depth", depth))
    )


def _useful(policy: ExplorationPolicy) -> Any:
    """Return the floors of a policy, with the rest spread evenly over the other useful actions."""
    moves = policy.probabilities.any(axis=0)
    return policy.floors + (1.0 - policy.floors.sum()) * moves / np.count_nonzero(moves)


def discovered(name: str, seed: int) -> tuple[ExplorationPolicy, int]:
    """Compile the discovered prior of a run at the largest depth that fits.

    Returns:
        The policy, and the number of environment steps that discovery took.
    """
    return _discovered(name, seed % TASKS[name].discoveries)


@lru_cache(maxsize=64)
def _discovered(name: str, seed: int) -> tuple[ExplorationPolicy, int]:
    task = TASKS[name]
    env = task.make_env()
    state = minigrid_state if is_minigrid(env) and task.convolutions else None
    found = discover(env, seed=seed, state=state, **task.discovery)
    policy = deepest_policy(found.equivalences, task.usual[1], max_nodes=MAX_NODES)
    return policy, found.env_steps
