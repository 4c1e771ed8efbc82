"""Many runs of PQN as one program: seeds and explorers side by side, in step.

A run collects `n_steps` steps of `n_envs` environments, then updates for some epochs. In worlds
that keep their layout, all environments of a run have the same one. All its randomness comes from
its own key and the step number, so that it can be interrupted between two updates and resumed
exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

import easee.agents.population.pqn as pqn
from easee.agents.population.bonuses import NO_BONUS, Bonus
from easee.agents.population.curves import Scores
from easee.agents.population.networks import Network
from easee.agents.population.pqn import Learner, PqnSettings
from easee.agents.population.world_population import (
    WorldPopulation,
    flatten_rollout,
    new_episodes,
    restart_ended,
)
from easee.envs.jax import World
from easee.explorers import jax as explorers
from easee.explorers.jax import Tables
from easee.policy_text import AnyPolicy


class PqnPopulation(WorldPopulation[PqnSettings]):
    """Runs of PQN in a world, side by side.

    Args:
        world: environment to learn in.
        tables: explorer of each run, as tables (see `easee.explorers.jax`), a policy or its text.
        seeds: random seed of each run.
        settings: hyperparameters of all runs.
        network: Q-network of all runs; PQN needs layer norm.
        bins: number of points of the learning curves.
        bonus: reward that is added for novel states, see `easee.agents.population.bonuses`; the
            learning curves do not include it.

    Raises:
        ArgumentError: explorers do not fit the world's actions.
        PopulationTooLargeError: the runs do not fit in the device's memory.

    >>> from easee.envs.jax import Catcher
    >>> settings = PqnSettings(128, n_envs=2, n_steps=16)
    >>> population = PqnPopulation(Catcher(8, 4), [explorers.uniform(2)], [0], settings, bins=2)
    >>> population.advance().counts  # episodes in each half
    array([[16, 16]])
    """

    settings_type = PqnSettings
    memory_advice = "n_steps"

    def __init__(
        self,
        world: World,
        tables: Sequence[Tables | AnyPolicy],
        seeds: Sequence[int],
        settings: PqnSettings,
        network: Network = Network(layer_norm=True),  # noqa: B008
        bins: int = 50,
        bonus: Bonus = NO_BONUS,
    ) -> None:
        super().__init__(world, tables, seeds, settings, network, bins, bonus)
        self._init_runs(partial(_init_runs, self._static, self.bins))

    @property
    def _static(self) -> StaticArgs:
        return StaticArgs(self.world, self.network, self.settings, self.bonus)

    def _train_until(self, step: int) -> None:
        """Train until a step, rounded up to whole rollouts."""
        size = self.settings.rollout_steps
        rollouts = -(-(step - self.steps) // size)
        first = self.steps // size
        self.runs = _train(self._static, self.runs, self.tables, self.keys, first, rollouts)
        self.steps += rollouts * size


class Run(NamedTuple):
    """The state of a run."""

    learner: Learner
    explorer: explorers.State
    state: Any
    scores: Scores
    bonus: Any


class StaticArgs(NamedTuple):
    """Static arguments of the compiled program."""

    world: World
    network: Network
    settings: PqnSettings
    bonus: Bonus


class Step(NamedTuple):
    """What a rollout stores of a step of all environments, arrays (n_envs, ...)."""

    before: Any  # packed states
    after: Any
    actions: Array
    rewards: Array
    terminated: Array
    dones: Array


@partial(jax.jit, static_argnums=(0, 1))
def _init_runs(static: StaticArgs, bins: int, keys: Array) -> Run:
    world, network, settings, bonus = static
    n_envs = (settings.n_envs,)

    def init_run(key: Array) -> Run:
        own_key = jax.random.fold_in(key, 2**31 - 1)
        reset_key, weights_key, bonus_key = jax.random.split(own_key, 3)
        return Run(
            pqn.init(network, settings, weights_key, world.observation_shape, world.n_actions),
            explorers.init(n_envs),
            new_episodes(world, world.reset(reset_key), reset_key, settings.n_envs),
            Scores.empty(bins, n_envs),
            bonus.init(bonus_key, world),
        )

    runs: Run = jax.vmap(init_run)(keys)
    return runs


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def _train(
    static: StaticArgs, runs: Run, tables: Tables, keys: Array, first: int, rollouts: int
) -> Run:
    """Return the runs after a number of rollouts, each with its update, from number `first` on."""
    train = jax.vmap(partial(_collect_and_update, static), in_axes=(0, 0, 0, None))
    trained: Run = jax.lax.fori_loop(
        0, rollouts, lambda i, runs: train(runs, tables, keys, first + i), runs
    )
    return trained


def _collect_and_update(
    static: StaticArgs, run: Run, tables: Tables, key: Array, number: Array
) -> Run:
    """Return one run after a rollout and its update."""
    settings = static.settings
    rollout_key, update_key = jax.random.split(jax.random.fold_in(key, number))
    first = number * settings.rollout_steps

    def step(run: Run, i: Array) -> tuple[Run, Step]:
        step_key = jax.random.fold_in(rollout_key, i)
        return _step(static, run, tables, step_key, first + i * settings.n_envs)

    run, steps = jax.lax.scan(step, run, jnp.arange(settings.n_steps))
    return run._replace(learner=_update(static, run.learner, steps, update_key))


def _step(
    static: StaticArgs, run: Run, tables: Tables, key: Array, count: Array
) -> tuple[Run, Step]:
    """Take a step in all environments of a run, after a number of steps."""
    world, network, settings, bonus = static
    explore_key, restart_key = jax.random.split(key)
    before = jax.vmap(world.pack)(run.state)
    values = network.apply(run.learner.params, jax.vmap(world.unpack)(before))
    explorer, actions, _ = explorers.choose(
        tables, run.explorer, values.argmax(axis=1), settings.epsilon(count), explore_key
    )
    after, rewards, terminated, truncated = jax.vmap(world.step)(run.state, actions)
    dones = terminated | truncated
    packed = jax.vmap(world.pack)(after)
    visited = bonus.visit(run.bonus, packed)
    novelty, extra = bonus.rewards(visited, world, jax.tree.map(lambda a: a[None], packed))
    keys = jax.random.split(restart_key, len(actions))
    run = Run(
        run.learner,
        explorers.step(tables, explorer, actions, dones),
        jax.vmap(partial(restart_ended, world))(after, dones, keys),
        run.scores.add(count + len(actions), settings.steps, rewards, dones),
        novelty,
    )
    rewards = rewards + jnp.broadcast_to(extra, (1, len(actions)))[0]
    return run, Step(before, packed, actions, rewards, terminated, dones)


def _targets(static: StaticArgs, learner: Learner, steps: Step) -> Array:
    """Return the targets of a rollout, float (n_steps, n_envs)."""
    world, network, settings, _ = static
    after = jax.vmap(world.unpack)(flatten_rollout(steps.after))
    values = network.apply(learner.params, after).max(axis=1).reshape(steps.rewards.shape)
    return pqn.lambda_returns(settings, steps.rewards, values, steps.terminated, steps.dones)


def _update(static: StaticArgs, learner: Learner, steps: Step, key: Array) -> Learner:
    """Return the learner after some epochs over a rollout, each in random minibatches."""
    world, network, settings, _ = static
    targets = _targets(static, learner, steps)
    before, actions, targets = flatten_rollout((steps.before, steps.actions, targets))
    observations = jax.vmap(world.unpack)(before)
    keys = jax.random.split(key, settings.n_epochs)
    orders = jax.vmap(lambda k: jax.random.permutation(k, settings.rollout_steps))(keys)

    def update(learner: Learner, indices: Array) -> tuple[Learner, None]:
        batch = (observations[indices], actions[indices], targets[indices])
        return pqn.update(network, settings, learner, *batch), None

    learner, _ = jax.lax.scan(update, learner, orders.reshape(-1, settings.batch_size))
    return learner
