"""Populations in the worlds of `easee.envs.jax`, whatever they learn with."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from easee.agents.compat import check_actions, explorer_type_error
from easee.agents.population.base import AnySettings, BasePopulation, check_static
from easee.agents.population.bonuses import Bonus
from easee.agents.population.curves import Curves
from easee.envs.jax import World
from easee.errors import ArgumentError
from easee.explorers import jax as explorers
from easee.explorers.jax import Tables
from easee.policy import ExplorationPolicy
from easee.policy_text import AnyPolicy, read_policy


class WorldPopulation(BasePopulation[AnySettings]):
    """Runs in a world, side by side; see `Population` for the arguments."""

    runs: Any  # the state of all runs, with `scores`

    def __init__(
        self,
        world: World,
        tables: Sequence[Tables | AnyPolicy],
        seeds: Sequence[int],
        settings: AnySettings,
        network: Any,
        bins: int,
        bonus: Bonus,
        tables_of: Callable[[ExplorationPolicy], Tables] = explorers.from_policy,
    ) -> None:
        check_static(world, "a world like those of easee.envs.jax", "restart")
        super().__init__(tables, seeds, settings, network, bins)
        if settings.total_steps * self.bins >= 2**31:
            raise ArgumentError(f"{bins} bins are too many for {settings.steps:,} steps")
        check_static(bonus, "a bonus like those of easee.agents.population.bonuses", "rewards")
        self.world, self.bonus = world, bonus
        self.tables = explorers.stack([_fit_tables(e, world, tables_of) for e in tables])
        digest = hashlib.sha256(b"".join(np.asarray(leaf).tobytes() for leaf in self.tables))
        self.description |= {"world": repr(world), "explorers": digest.hexdigest()[:32]}
        self.description |= {"bonus": repr(bonus)}
        self.keys = jax.vmap(jax.random.key)(jnp.asarray(self.seeds))

    def _init_runs(self, init: Callable[[Array], Any]) -> None:
        """Initialise the runs by a function of their keys, after checking that they fit."""
        self._check_memory(jax.eval_shape(init, self.keys), self.world.observation_shape)
        self.runs = init(self.keys)

    def curves(self) -> Curves:
        """Return the learning curves so far; waits until the device is done."""
        scores = self.runs.scores
        counts, successes = (np.asarray(a, np.int64) for a in (scores.counts, scores.successes))
        return Curves(np.asarray(scores.sums, float), counts, successes, self.settings.steps)

    def _arrays(self) -> Any:
        return self.runs

    def _restore(self, arrays: Any) -> None:
        del self.runs  # frees device memory for the loaded arrays
        self.runs = jax.tree.map(jnp.asarray, arrays)


def _fit_tables(
    explorer: Tables | AnyPolicy,
    world: World,
    tables_of: Callable[[ExplorationPolicy], Tables],
) -> Tables:
    """Return the tables of an explorer after checking its actions against the world's."""
    if isinstance(explorer, str | os.PathLike):
        explorer = read_policy(explorer)
    if isinstance(explorer, ExplorationPolicy):
        check_actions(explorer.graph.actions, world.n_actions, world.action_names)
        return tables_of(explorer)
    if not isinstance(explorer, Tables):
        expected = "explorers as Tables (see easee.explorers.jax), policies or strings"
        raise explorer_type_error(explorer, expected)
    check_actions(explorer.n_actions, world.n_actions, world.action_names)
    return explorer


def restart_ended(world: World, state: Any, done: Array, key: Array) -> Any:
    """Return the state, or that of a new episode if this one is done."""
    restarted = world.restart(state, key)
    return jax.tree.map(lambda new, old: jnp.where(done, new, old), restarted, state)
