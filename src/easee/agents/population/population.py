"""Many runs of DQN as one program: seeds and explorers side by side, in step.

A run does what Stable-Baselines3's DQN does with one environment: collect `train_freq` steps, then
update. All its randomness comes from its own key and the step number, so that it can be interrupted
between two updates and resumed exactly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from easee._utils.checks import checked_count
from easee.agents.population import dqn
from easee.agents.population.base import BasePopulation
from easee.agents.population.checks import check_static, checked_seeds, fit_tables
from easee.agents.population.curves import Curves, Scores
from easee.agents.population.devices import check_memory, warn_if_cpu
from easee.agents.population.dqn import Learner, Settings, check_settings
from easee.agents.population.networks import MLP, Network
from easee.agents.population.replay import StateReplay
from easee.envs.jax import World
from easee.errors import ArgumentError
from easee.explorers import jax as explorers
from easee.explorers.jax import Tables
from easee.policy import ExplorationPolicy

MAX_UNROLLED = 8  # up to this many steps between updates are unrolled instead of compiled as a loop


class Run(NamedTuple):
    """The state of a run."""

    learner: Learner
    explorer: explorers.State
    state: Any
    replay: StateReplay
    scores: Scores


class Population(BasePopulation):
    """Runs of DQN in a world, side by side.

    Args:
        world: environment to learn in.
        tables: explorer of each run, as tables (see `easee.explorers.jax`) or a policy.
        seeds: random seed of each run.
        settings: hyperparameters of all runs.
        network: Q-network of all runs.
        bins: number of points of the learning curves.

    Raises:
        ArgumentError: explorers do not fit the world's actions.
        PopulationTooLargeError: the runs do not fit in the device's memory.

    >>> from easee.envs.jax import Catcher
    >>> population = Population(
    ...     Catcher(8, 4), [explorers.uniform(2), explorers.zeta(2)], [0, 1], Settings(80), bins=2
    ... )
    >>> population.advance().counts  # episodes of each run in each half
    array([[10, 10],
           [10, 10]])
    """

    def __init__(
        self,
        world: World,
        tables: Sequence[Tables | ExplorationPolicy],
        seeds: Sequence[int],
        settings: Settings,
        network: Network = MLP,
        bins: int = 50,
    ) -> None:
        check_static(world, "a world like those of easee.envs.jax", "restart")
        check_settings(settings)
        check_static(network, "a Network", "init")
        seeds = checked_seeds(seeds, tables)
        fitted = [fit_tables(explorer, world) for explorer in tables]
        bins = checked_count(bins, "bins")
        if settings.total_steps * bins >= 2**31:
            raise ArgumentError(f"{bins} bins are too many for {settings.steps:,} steps")
        warn_if_cpu()
        run = jax.eval_shape(partial(_init_run, world, network, settings, bins), jax.random.key(0))
        check_memory(run, len(seeds), network, world.observation_shape, settings.batch_size)
        self.world, self.settings, self.network = world, settings, network
        self.tables = explorers.stack(fitted)
        digest = hashlib.sha256(b"".join(np.asarray(leaf).tobytes() for leaf in self.tables))
        description = {
            "world": repr(world),
            "settings": asdict(settings),
            "network": repr(network),
            "seeds": seeds,
            "bins": bins,
            "explorers": digest.hexdigest()[:32],
        }
        super().__init__(settings.total_steps, description)
        self.keys = jax.vmap(jax.random.key)(jnp.asarray(seeds))
        self.runs: Run = _init_runs(world, network, settings, bins, self.keys)

    def _train_until(self, step: int) -> None:
        """Train until a step, rounded up to a multiple of `train_freq`."""
        freq = self.settings.train_freq
        for learns, end in ((False, min(step, self.settings.warm_up)), (True, step)):
            rollouts = -(-(end - self.steps) // freq)
            if rollouts > 0:
                static = StaticArgs(self.world, self.network, self.settings, learns)
                self.runs = _train(
                    static, self.runs, self.tables, self.keys, self.steps // freq, rollouts
                )
                self.steps += rollouts * freq

    def curves(self) -> Curves:
        """Return the learning curves so far; waits until the device is done."""
        scores = self.runs.scores
        sums, counts = np.asarray(scores.sums, float), np.asarray(scores.counts, np.int64)
        return Curves(sums, counts, self.settings.steps)

    def _arrays(self) -> Run:
        return self.runs

    def _restore(self, arrays: Run) -> None:
        del self.runs  # frees device memory for the loaded arrays
        self.runs = jax.tree.map(jnp.asarray, arrays)


def _init_run(world: World, network: Network, settings: Settings, bins: int, key: Array) -> Run:
    reset_key, weights_key = jax.random.split(jax.random.fold_in(key, 2**31 - 1))
    state = world.reset(reset_key)
    return Run(
        dqn.init(network, settings, weights_key, world.observation_shape, world.n_actions),
        explorers.init(),
        state,
        StateReplay.empty(settings.buffer_size, state),
        Scores.empty(bins),
    )


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _init_runs(world: World, network: Network, settings: Settings, bins: int, keys: Array) -> Run:
    runs: Run = jax.vmap(partial(_init_run, world, network, settings, bins))(keys)
    return runs


class StaticArgs(NamedTuple):
    """Static arguments of the compiled program; `learns` is false during the warm-up."""

    world: World
    network: Network
    settings: Settings
    learns: bool


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def _train(
    static: StaticArgs, runs: Run, tables: Tables, keys: Array, first: int, rollouts: int
) -> Run:
    """Return the runs after a number of rollouts, each with an update, from number `first` on."""
    train = jax.vmap(partial(_collect_and_update, static), in_axes=(0, 0, 0, None))
    freq = static.settings.train_freq
    trained: Run = jax.lax.fori_loop(
        0, rollouts, lambda i, runs: train(runs, tables, keys, (first + i) * freq), runs
    )
    return trained


def _collect_and_update(
    static: StaticArgs, run: Run, tables: Tables, key: Array, first: Array
) -> Run:
    """Return one run after `train_freq` steps, from step `first` on, and an update."""
    world, network, settings, learns = static
    run = jax.lax.fori_loop(
        0,
        settings.train_freq,
        lambda i, run: _step(static, run, tables, key, first + i),
        run,
        unroll=settings.train_freq <= MAX_UNROLLED,
    )
    last = first + settings.train_freq
    # The weights have not changed since `first`, so the target may be copied at any step between.
    learner = dqn.sync_target(settings, run.learner, first, last)
    if learns:
        # 2, because the step after this one splits the same key into its children 0 and 1.
        update_key = jax.random.fold_in(jax.random.fold_in(key, last), 2)
        for i in range(settings.gradient_steps):
            sample_key = jax.random.fold_in(update_key, i)
            batch = run.replay.sample(sample_key, last, settings.batch_size, world)
            learner = dqn.update(network, settings, learner, batch)
    return run._replace(learner=learner)


def _step(static: StaticArgs, run: Run, tables: Tables, key: Array, step: Array) -> Run:
    world, network, settings, learns = static
    explore_key, restart_key = jax.random.split(jax.random.fold_in(key, step))
    greedy = jnp.zeros((), jnp.int32)
    if learns:
        greedy = dqn.act(network, run.learner.params, world.observe(run.state))
    explorer, action, _ = explorers.choose(
        tables, run.explorer, greedy, settings.epsilon(step), explore_key
    )
    after, reward, terminated, truncated = world.step(run.state, action)
    done = terminated | truncated
    transition = StateReplay(run.state, after, action, reward, jnp.asarray(terminated, jnp.float32))
    restarted = world.restart(after, restart_key)
    return Run(
        run.learner,
        explorers.step(tables, explorer, action, done),
        jax.tree.map(lambda new, old: jnp.where(done, new, old), restarted, after),
        run.replay.add(step, transition),
        run.scores.add(step + 1, settings.steps, reward, done),
    )
