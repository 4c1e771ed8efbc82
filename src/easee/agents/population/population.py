"""Many runs of DQN as one program: seeds and explorers side by side, in step.

A run does what Stable-Baselines3's DQN does with one environment: collect `train_freq` steps, then
update. All its randomness comes from its own key and the step number, so that it can be interrupted
between two updates and resumed exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

import easee.agents.population.dqn as dqn
from easee.agents.population.bonuses import NO_BONUS, Bonus
from easee.agents.population.curves import Scores
from easee.agents.population.dqn import Batch, Learner, Settings
from easee.agents.population.networks import MLP, Network
from easee.agents.population.replay import Segments, StateReplay
from easee.agents.population.world_population import WorldPopulation, restart_ended
from easee.envs.jax import World
from easee.explorers import jax as explorers
from easee.explorers.jax import Tables
from easee.policy_text import AnyPolicy

MAX_UNROLLED = 8  # up to this many steps between updates are unrolled on a GPU


class Population(WorldPopulation[Settings]):
    """Runs of DQN in a world, side by side.

    Args:
        world: environment to learn in.
        tables: explorer of each run, as tables (see `easee.explorers.jax`), a policy or its string.
        seeds: random seed of each run.
        settings: hyperparameters of all runs.
        network: Q-network of all runs.
        bins: number of points of the learning curves.
        bonus: reward that is added for novel states, see `easee.agents.population.bonuses`; the
            learning curves do not include it.

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

    settings_type = Settings
    memory_advice = "buffer_size"

    def __init__(
        self,
        world: World,
        tables: Sequence[Tables | AnyPolicy],
        seeds: Sequence[int],
        settings: Settings,
        network: Network = MLP,
        bins: int = 50,
        bonus: Bonus = NO_BONUS,
    ) -> None:
        super().__init__(world, tables, seeds, settings, network, bins, bonus)
        self._init_runs(partial(_init_runs, self._static(learns=False), self.bins))

    def _train_until(self, step: int) -> None:
        """Train until a step, rounded up to a multiple of `train_freq`."""
        settings, freq = self.settings, self.settings.train_freq
        for learns, end in ((False, min(step, settings.warm_up)), (True, step)):
            while self.steps < end:
                first, sync = self.steps, settings.next_sync(self.steps)
                if sync == first:
                    learner = dqn.sync_target(self.runs.learner)
                    self.runs = self.runs._replace(learner=learner)
                    sync = settings.next_sync(first + freq)
                count = -(-(min(sync, end) - first) // freq)
                static = self._static(learns)
                self.runs = _train(static, self.runs, self.tables, self.keys, first // freq, count)
                self.steps += count * freq

    def _static(self, learns: bool) -> StaticArgs:
        return StaticArgs(self.world, self.network, self.settings, self.bonus, learns)


class Run(NamedTuple):
    """The state of a run."""

    learner: Learner
    explorer: explorers.State
    state: Any
    replay: StateReplay
    scores: Scores
    bonus: Any


class StaticArgs(NamedTuple):
    """Static arguments of the compiled program; `learns` is false during the warm-up."""

    world: World
    network: Network
    settings: Settings
    bonus: Bonus
    learns: bool


@partial(jax.jit, static_argnums=(0, 1))
def _init_runs(static: StaticArgs, bins: int, keys: Array) -> Run:
    world, network, settings, bonus, _ = static

    def init_run(key: Array) -> Run:
        own_key = jax.random.fold_in(key, 2**31 - 1)
        reset_key, weights_key = jax.random.split(own_key)
        state = world.reset(reset_key)
        packed = world.pack(state)
        return Run(
            dqn.init(network, settings, weights_key, world.observation_shape, world.n_actions),
            explorers.init(),
            state,
            StateReplay.empty(settings.buffer_size, packed),
            Scores.empty(bins),
            bonus.init(jax.random.fold_in(own_key, 2), world),
        )

    runs: Run = jax.vmap(init_run)(keys)
    return runs


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
    world, network, settings, bonus, learns = static
    freq = settings.train_freq

    def step(i: Array, run: Run) -> Run:
        return _step(static, run, tables, key, first + i)

    run = jax.lax.fori_loop(0, freq, step, run, unroll=_unrolls(freq))
    last = first + freq
    learner, novelty = run.learner, run.bonus
    if learns:
        # 2, because the step after this one splits the same key into its children 0 and 1.
        update_key = jax.random.fold_in(jax.random.fold_in(key, last), 2)
        for i in range(settings.gradient_steps):
            segments = run.replay.sample(
                jax.random.fold_in(update_key, i),
                last,
                settings.batch_size,
                settings.n_steps,
                settings.gamma,
            )
            novelty, extra = bonus.rewards(novelty, world, segments.after)
            batch = _make_batch(world, segments, extra)
            learner = dqn.update(network, settings, learner, batch)
    return run._replace(learner=learner, bonus=novelty)


def _unrolls(steps: int) -> bool:
    """Return whether the steps between two updates are unrolled.

    That saves kernel launches on a GPU. On a CPU, XLA would fuse the last write to the replay
    buffer with the reads of the update, and copy the whole buffer because of that.
    """
    return steps <= MAX_UNROLLED and jax.default_backend() != "cpu"


def _make_batch(world: World, segments: Segments, extra: Array) -> Batch:
    """Return the batch of some segments, with additional rewards (count, n)."""
    unpack = jax.vmap(world.unpack)
    rewards = ((segments.rewards + extra) * segments.weights).sum(axis=1)
    observations, next_observations = unpack(segments.before), unpack(segments.final())
    return Batch(observations, segments.actions, rewards, segments.discounts, next_observations)


def _step(static: StaticArgs, run: Run, tables: Tables, key: Array, step: Array) -> Run:
    world, network, settings, bonus, learns = static
    explore_key, restart_key = jax.random.split(jax.random.fold_in(key, step))
    greedy = jnp.zeros((), jnp.int32)
    if learns:
        greedy = dqn.act(network, run.learner.params, world.observe(run.state))
    epsilon = settings.epsilon(step)
    explorer, action, _ = explorers.choose(tables, run.explorer, greedy, epsilon, explore_key)
    after, reward, terminated, truncated = world.step(run.state, action)
    done = terminated | truncated
    packed = world.pack(after)
    transition = StateReplay(
        world.pack(run.state), packed, action, reward, jnp.asarray(terminated, jnp.float32), done
    )
    return Run(
        run.learner,
        explorers.step(tables, explorer, action, done),
        restart_ended(world, after, done, restart_key),
        run.replay.add(step, transition),
        run.scores.add(step + 1, settings.steps, reward, done),
        bonus.visit(run.bonus, jax.tree.map(lambda leaf: leaf[None], packed)),
    )
