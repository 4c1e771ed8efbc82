"""Many runs of PPO as one program: seeds and references side by side, in step.

A run does what Stable-Baselines3's PPO does: collect `n_steps` steps of `n_envs` environments, then
update for some epochs. In worlds that keep their layout, all environments of a run have the same
one. All its randomness comes from its own key and the step number, so that it
can be interrupted between two updates and resumed exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import easee.agents.population.ppo as ppo
from easee._utils.checks import checked_count
from easee.agents.population.bonuses import NO_BONUS, Bonus
from easee.agents.population.curves import Curves, Scores
from easee.agents.population.networks import ActorCritic
from easee.agents.population.ppo import Learner, PpoSettings, Rollout
from easee.agents.population.world_population import WorldPopulation, restart_ended
from easee.agents.reference_policy import mixed_floors
from easee.envs.jax import World
from easee.errors import ArgumentError
from easee.explorers import jax as explorers
from easee.explorers.jax import Tables
from easee.policy import ExplorationPolicy
from easee.policy_text import AnyPolicy


class PpoPopulation(WorldPopulation[PpoSettings]):
    """Runs of PPO in a world, side by side.

    Args:
        world: environment to learn in.
        references: reference policy of each run: a policy, to which `settings.reference_floor` is
            added, or tables (see `easee.explorers.jax`). `explorers.uniform(k)` is plain PPO.
        seeds: random seed of each run.
        settings: hyperparameters of all runs.
        network: networks of all runs.
        bins: number of points of the learning curves.
        bonus: reward that is added for novel states, see `easee.agents.population.bonuses`; the
            learning curves do not include it.

    Raises:
        ArgumentError: references do not fit the world's actions.
        PopulationTooLargeError: the runs do not fit in the device's memory.

    >>> from easee.envs.jax import Catcher
    >>> settings = PpoSettings(128, n_envs=2, n_steps=32, batch_size=32, n_epochs=1)
    >>> population = PpoPopulation(Catcher(8, 4), [explorers.uniform(2)], [0], settings, bins=2)
    >>> population.advance().counts  # episodes in each half
    array([[16, 16]])
    """

    settings_type = PpoSettings
    network_name = "an ActorCritic"
    network_method = "logits"
    memory_advice = "n_steps"

    def __init__(
        self,
        world: World,
        references: Sequence[Tables | AnyPolicy],
        seeds: Sequence[int],
        settings: PpoSettings,
        network: ActorCritic = ActorCritic(),  # noqa: B008
        bins: int = 50,
        bonus: Bonus = NO_BONUS,
    ) -> None:
        def tables_of(policy: ExplorationPolicy) -> Tables:
            return explorers.from_policy(policy, mixed_floors(policy, settings.reference_floor))

        super().__init__(world, references, seeds, settings, network, bins, bonus, tables_of)
        if self.tables.durations.shape[-1] > 1:
            raise ArgumentError(
                "expected references without repetitions, found temporally extended exploration"
            )
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

    def play(self, steps: int, *, reference: bool = True, greedy: bool = False) -> Curves:
        """Return the scores of the present policies in new episodes, without learning.

        Args:
            steps: number of steps of each run, in all its environments together.
            reference: whether to act with the reference, as in training, or by the network alone.
            greedy: whether to take the most probable actions instead of random ones.
        """
        count = -(-checked_count(steps, "steps") // self.settings.n_envs)
        strength = self.settings.strength(self.steps) if reference else jnp.zeros(())
        scores = _play(self._static, greedy, self.runs, self.tables, self.keys, strength, count)
        counts, successes = (np.asarray(a, np.int64) for a in (scores.counts, scores.successes))
        return Curves(np.asarray(scores.sums, float), counts, successes, steps)


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
    network: ActorCritic
    settings: PpoSettings
    bonus: Bonus


class Step(NamedTuple):
    """What a rollout stores of a step of all environments, arrays (n_envs, ...)."""

    before: Any  # packed states
    after: Any
    actions: Array
    references: Array
    log_probs: Array
    rewards: Array
    terminated: Array
    truncated: Array


@partial(jax.jit, static_argnums=(0, 1))
def _init_runs(static: StaticArgs, bins: int, keys: Array) -> Run:
    world, network, settings, bonus = static
    n_envs = (settings.n_envs,)

    def init_run(key: Array) -> Run:
        own_key = jax.random.fold_in(key, 2**31 - 1)
        reset_key, weights_key, bonus_key = jax.random.split(own_key, 3)
        return Run(
            ppo.init(network, settings, weights_key, world.observation_shape, world.n_actions),
            explorers.init(n_envs),
            _new_episodes(world, world.reset(reset_key), reset_key, settings.n_envs),
            Scores.empty(bins, n_envs),
            bonus.init(bonus_key, world),
        )

    runs: Run = jax.vmap(init_run)(keys)
    return runs


def _new_episodes(world: World, state: Any, key: Array, n_envs: int) -> Any:
    """Return the first states of new episodes with the layout of a state, (n_envs, ...)."""
    keys = jax.random.split(key, n_envs)
    return jax.vmap(world.restart, in_axes=(None, 0))(state, keys)


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
    strength = settings.strength(first)

    def step(run: Run, i: Array) -> tuple[Run, Step]:
        return _step(static, run, tables, jax.random.fold_in(rollout_key, i), strength, first, i)

    run, steps = jax.lax.scan(step, run, jnp.arange(settings.n_steps))
    rollout = _with_advantages(static, run, steps)
    return run._replace(learner=_update(static, run.learner, rollout, update_key))


def _step(
    static: StaticArgs,
    run: Run,
    tables: Tables,
    key: Array,
    strength: Array,
    first: Array,
    number: Array,
    greedy: bool = False,
) -> tuple[Run, Step]:
    """Take a step in all environments of a run."""
    world, network, settings, bonus = static
    action_key, restart_key = jax.random.split(key)
    before = jax.vmap(world.pack)(run.state)
    references = ppo.log_reference(tables.probabilities[run.explorer.nodes], strength)
    logits = network.logits(run.learner.params, jax.vmap(world.unpack)(before)) + references
    logs = jax.nn.log_softmax(logits)
    actions = logs.argmax(axis=1) if greedy else jax.random.categorical(action_key, logs)
    actions = actions.astype(jnp.int32)
    after, rewards, terminated, truncated = jax.vmap(world.step)(run.state, actions)
    dones = terminated | truncated
    packed = jax.vmap(world.pack)(after)
    visited = bonus.visit(run.bonus, packed)
    novelty, extra = bonus.rewards(visited, world, jax.tree.map(lambda a: a[None], packed))
    keys = jax.random.split(restart_key, len(actions))
    run = Run(
        run.learner,
        explorers.step(tables, run.explorer, actions, dones),
        jax.vmap(partial(restart_ended, world))(after, dones, keys),
        run.scores.add(first + (number + 1) * len(actions), settings.steps, rewards, dones),
        novelty,
    )
    log_probs = jnp.take_along_axis(logs, actions[:, None], axis=1)[:, 0]
    rewards = rewards + jnp.broadcast_to(extra, (1, len(actions)))[0]
    return run, Step(before, packed, actions, references, log_probs, rewards, terminated, truncated)


@partial(jax.jit, static_argnums=(0, 1))
def _play(
    static: StaticArgs, greedy: bool, runs: Run, tables: Tables, keys: Array, *arguments: Any
) -> Scores:
    """Return the scores of all runs in new episodes."""
    strength, count = arguments
    start = jnp.zeros((), jnp.int32)
    n_envs = static.settings.n_envs

    def play(run: Run, tables: Tables, key: Array) -> Scores:
        def step(i: Array, run: Run) -> Run:
            step_key = jax.random.fold_in(key, i)
            return _step(static, run, tables, step_key, strength, start, start, greedy)[0]

        first = jax.tree.map(lambda leaf: leaf[0], run.state)
        run = run._replace(
            explorer=explorers.init((n_envs,)),
            state=_new_episodes(static.world, first, jax.random.fold_in(key, 2**31 - 1), n_envs),
            scores=Scores.empty(1, (n_envs,)),
        )
        played: Run = jax.lax.fori_loop(0, count, step, run)
        return played.scores

    scores: Scores = jax.vmap(play)(runs, tables, keys)
    return scores


def _with_advantages(static: StaticArgs, run: Run, steps: Step) -> Rollout:
    """Return a rollout with the advantages and returns that the critic estimates."""
    world, network, settings, _ = static

    def values_of(packed: Any) -> Array:
        flat = _flatten(packed)
        values = network.values(run.learner.params, jax.vmap(world.unpack)(flat))
        return values.reshape(-1, settings.n_envs)

    last = jax.tree.map(lambda a: a[None], jax.vmap(world.pack)(run.state))
    cut = steps.truncated & ~steps.terminated
    rewards = steps.rewards + settings.gamma * jnp.where(cut, values_of(steps.after), 0.0)
    advantages, returns = ppo.estimate_advantages(
        settings, rewards, steps.terminated | steps.truncated, values_of(steps.before),
        values_of(last)[0],
    )  # fmt: skip
    return Rollout(
        steps.before, steps.actions, steps.references, steps.log_probs, advantages, returns
    )


def _update(static: StaticArgs, learner: Learner, rollout: Rollout, key: Array) -> Learner:
    """Return the learner after some epochs over a rollout, each in random minibatches."""
    world, network, settings, _ = static
    flat = _flatten(rollout)
    size = settings.rollout_steps
    keys = jax.random.split(key, settings.n_epochs)
    orders = jax.vmap(lambda k: jax.random.permutation(k, size))(keys)

    def update(learner: Learner, indices: Array) -> tuple[Learner, None]:
        batch: Rollout = jax.tree.map(lambda a: a[indices], flat)
        observations = jax.vmap(world.unpack)(batch.observations)
        return ppo.update(network, settings, learner, observations, batch), None

    learner, _ = jax.lax.scan(update, learner, orders.reshape(-1, settings.batch_size))
    return learner


def _flatten(tree: Any) -> Any:
    """Return arrays (n_steps, n_envs, ...) as (n_steps * n_envs, ...)."""
    return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), tree)
