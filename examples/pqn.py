"""PQN in one file: Q-learning with neither a replay buffer nor a target network.

python examples/pqn.py [TASK] [--seeds 10] [--steps 60000]

Gallici et al., "Simplifying deep temporal difference learning" (2024): several environments side by
side, lambda-returns of short rollouts, layer norm, RAdam with a learning rate that decreases to 0.
Environments, network and exploration are
pure functions, so that all seeds are one program. Prints the success over training with uniform
exploration and with EASEE.
"""

import argparse
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from easee.agents.population.curves import Curves, Scores
from easee.agents.population.networks import Network, Params
from easee.agents.population.world_population import restart_ended
from easee.envs.jax import World
from easee.experiments.hard.arms import EXPLORERS, make_tables
from easee.experiments.hard.tasks import BINS, TASKS, HardTask
from easee.explorers import jax as explorers


@dataclass(frozen=True)
class Settings:
    """Hyperparameters; `steps` counts those of all environments together."""

    steps: int
    n_envs: int = 8
    rollout: int = 8
    epochs: int = 8
    minibatches: int = 2
    learning_rate: float = 1e-3
    gamma: float = 0.99
    trace_decay: float = 0.9  # the lambda of the returns
    max_grad_norm: float = 10.0
    final_epsilon: float = 0.1
    exploration_fraction: float = 0.5

    @property
    def rollouts(self) -> int:
        """Number of rollouts of a run."""
        return -(-self.steps // (self.n_envs * self.rollout))

    def epsilon(self, step: Array) -> Array:
        """Return the exploration probability after a number of steps."""
        share = jnp.minimum(step / (self.steps * self.exploration_fraction), 1.0)
        return 1.0 + share * (self.final_epsilon - 1.0)


class Run(NamedTuple):
    """The state of a run: weights, and the environments with the explorer's nodes."""

    params: Params
    adam: Any
    states: Any
    explorer: explorers.State
    scores: Scores


class Step(NamedTuple):
    """A step of all environments, arrays (n_envs, ...)."""

    observations: Array
    actions: Array
    rewards: Array
    next_observations: Array  # before a restart
    terminated: Array
    done: Array


class Pqn(NamedTuple):
    """The parts of a program that do not change: where to learn, with what, and how."""

    world: World
    network: Network
    settings: Settings

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """RAdam with clipped gradients."""
        s = self.settings
        rate = optax.linear_schedule(s.learning_rate, 0.0, s.rollouts * s.epochs * s.minibatches)
        return optax.chain(optax.clip_by_global_norm(s.max_grad_norm), optax.radam(rate))

    def init(self, key: Array) -> Run:
        """Start a run; all its environments have the same layout."""
        layout_key, restart_key, weights_key = jax.random.split(key, 3)
        n_envs, layout = self.settings.n_envs, self.world.reset(layout_key)
        keys = jax.random.split(restart_key, n_envs)
        params = self.network.init(weights_key, self.world.observation_shape, self.world.n_actions)
        return Run(
            params,
            self.optimiser.init(params),
            jax.vmap(self.world.restart, (None, 0))(layout, keys),
            explorers.init(n_envs),
            Scores.empty(BINS, (n_envs,)),
        )

    def step(
        self, tables: explorers.Tables, run: Run, now: tuple[Array, Array]
    ) -> tuple[Run, Step]:
        """Take an epsilon-greedy step in all environments; EASEE replaces the random actions."""
        count, key = now
        explore_key, restart_key = jax.random.split(key)
        observations = jax.vmap(self.world.observe)(run.states)
        greedy = self.network.apply(run.params, observations).argmax(axis=1)
        explorer, actions, _ = explorers.choose(
            tables, run.explorer, greedy, self.settings.epsilon(count), explore_key
        )
        after, rewards, terminated, truncated = jax.vmap(self.world.step)(run.states, actions)
        done = terminated | truncated
        next_observations = jax.vmap(self.world.observe)(after)
        keys = jax.random.split(restart_key, len(actions))
        states = jax.vmap(partial(restart_ended, self.world))(after, done, keys)
        scores = run.scores.add(count + len(actions), self.settings.steps, rewards, done)
        explorer = explorers.step(tables, explorer, actions, done)
        run = run._replace(states=states, explorer=explorer, scores=scores)
        return run, Step(observations, actions, rewards, next_observations, terminated, done)

    def returns(self, params: Params, steps: Step) -> Array:
        """Return the lambda-returns of a rollout, float (rollout, n_envs)."""
        s = self.settings
        flat = _flatten(steps.next_observations)
        values = self.network.apply(params, flat).max(axis=1).reshape(steps.rewards.shape)

        def back(later: Array, step: tuple[Array, ...]) -> tuple[Array, Array]:
            reward, value, terminated, done = step
            # A new episode is not part of the return, and a terminal state has no value.
            mixed = jnp.where(done, value, s.trace_decay * later + (1.0 - s.trace_decay) * value)
            now = reward + s.gamma * jnp.where(terminated, 0.0, mixed)
            return now, now

        parts = (steps.rewards, values, steps.terminated, steps.done)
        return jax.lax.scan(back, values[-1], parts, reverse=True)[1]

    def update(self, run: Run, steps: Step, key: Array) -> Run:
        """Fit the network to the returns, in random minibatches."""
        s = self.settings
        targets = self.returns(run.params, steps)
        flat = [_flatten(a) for a in (steps.observations, steps.actions, targets)]

        def loss(params: Params, observations: Array, actions: Array, targets: Array) -> Array:
            values = self.network.apply(params, observations)
            chosen = jnp.take_along_axis(values, actions[:, None], axis=1)[:, 0]
            return 0.5 * jnp.square(chosen - targets).mean()

        def descend(learner: tuple[Params, Any], indices: Array) -> tuple[tuple[Params, Any], None]:
            params, adam = learner
            gradient = jax.grad(loss)(params, *(a[indices] for a in flat))
            changes, adam = self.optimiser.update(gradient, adam, params)
            return (optax.apply_updates(params, changes), adam), None

        size = s.n_envs * s.rollout
        keys = jax.random.split(key, s.epochs)
        order = jax.vmap(lambda k: jax.random.permutation(k, size))(keys)
        order = order.reshape(s.epochs * s.minibatches, -1)
        (params, adam), _ = jax.lax.scan(descend, (run.params, run.adam), order)
        return run._replace(params=params, adam=adam)

    def train(self, tables: explorers.Tables, key: Array) -> Scores:
        """Return the scores of a whole run."""
        s = self.settings
        size = s.n_envs * s.rollout

        def iterate(run: Run, number: Array) -> tuple[Run, None]:
            rollout_key, update_key = jax.random.split(jax.random.fold_in(key, number))
            counts = number * size + s.n_envs * jnp.arange(s.rollout)
            keys = jax.random.split(rollout_key, s.rollout)
            run, steps = jax.lax.scan(partial(self.step, tables), run, (counts, keys))
            return self.update(run, steps, update_key), None

        run = self.init(jax.random.fold_in(key, 2**31 - 1))
        return jax.lax.scan(iterate, run, jnp.arange(s.rollouts))[0].scores


def _flatten(array: Array) -> Array:
    """Return an array (rollout, n_envs, ...) as (rollout * n_envs, ...)."""
    return array.reshape(-1, *array.shape[2:])


@partial(jax.jit, static_argnums=0)
def train(pqn: Pqn, tables: explorers.Tables, keys: Array) -> Scores:
    """Return the scores of one run for each key, side by side."""
    return jax.vmap(pqn.train, (None, 0))(tables, keys)


def learn(task: HardTask, explorer: str, settings: Settings, seeds: int) -> Curves:
    """Return the learning curves of some seeds on a task, with an explorer of `make_tables`."""
    pqn = Pqn(task.make_world(), task.make_network(), settings)
    tables = make_tables({"task": task.name, "explorer": explorer}, 0)
    scores = train(pqn, tables, jax.vmap(jax.random.key)(jnp.arange(seeds)))
    sums, counts, successes = map(np.asarray, (scores.sums, scores.counts, scores.successes))
    return Curves(sums, counts, successes, settings.steps)


def main() -> None:
    """Train with both explorers, and print the share of successful episodes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("task", nargs="?", default="goal-31", choices=TASKS)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int)
    arguments = parser.parse_args()
    task = TASKS[arguments.task]
    settings = Settings(arguments.steps or task.steps)
    print(
        f"{task.name}: success in each tenth of {settings.steps:,} steps, {arguments.seeds} seeds"
    )
    for explorer in ("uniform", "usual"):
        curves = learn(task, explorer, settings, arguments.seeds)
        successes, counts = (
            a.sum(axis=0).reshape(10, -1).sum(axis=1) for a in (curves.successes, curves.counts)
        )
        shares = successes / np.maximum(counts, 1)
        print(f"{EXPLORERS[explorer]:20}", *(f"{share:.2f}" for share in shares), flush=True)


if __name__ == "__main__":
    main()
