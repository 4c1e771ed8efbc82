"""PQN's update as a pure function: Q-learning with neither a replay buffer nor a target network.

Gallici et al., "Simplifying deep temporal difference learning" (2024): several environments,
lambda-returns of short rollouts, and a network with layer norm that is fitted to them. As in the
authors' program, the optimiser is RAdam with clipped gradients, and the learning rate decreases
linearly to 0. The names of settings that DQN or PPO have too are theirs.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from easee.agents.population.networks import Network, Params
from easee.agents.population.settings import BaseSettings
from easee.errors import ArgumentError


@dataclass(frozen=True)
class PqnSettings(BaseSettings):
    """Hyperparameters of a run. `steps` counts those of all its environments.

    Attributes:
        n_envs: number of environments of a run.
        n_steps: number of steps of each environment between two updates.
        n_epochs: how often an update uses each step.
        return_lambda: weight of longer returns; with 0, targets bootstrap after one step.
    """

    shares = ("gamma", "return_lambda", "exploration_initial_eps", "exploration_final_eps")

    steps: int
    n_envs: int = 8
    n_steps: int = 8
    batch_size: int = 32
    n_epochs: int = 8
    learning_rate: float = 1e-3
    gamma: float = 0.99
    return_lambda: float = 0.9
    max_grad_norm: float = 10.0
    exploration_fraction: float = 0.5
    exploration_initial_eps: float = 1.0
    exploration_final_eps: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rollout_steps % self.batch_size:
            raise ArgumentError(
                f"expected a batch_size that divides n_envs * n_steps = {self.rollout_steps}, "
                f"found {self.batch_size}"
            )

    @property
    def rollout_steps(self) -> int:
        """Number of steps of all environments between two updates."""
        return self.n_envs * self.n_steps

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """RAdam with clipped gradients and a decreasing learning rate."""
        updates = self.total_steps // self.batch_size * self.n_epochs
        rate = optax.linear_schedule(self.learning_rate, 0.0, updates)
        return optax.chain(optax.clip_by_global_norm(self.max_grad_norm), optax.radam(rate))

    def epsilon(self, step: Array | int) -> Array:
        """Return the probability of exploring after a number of steps."""
        share = jnp.minimum(step / (self.steps * self.exploration_fraction), 1.0)
        start, end = self.exploration_initial_eps, self.exploration_final_eps
        return start + share * (end - start)


class Learner(NamedTuple):
    """The weights of the network, and the state of the optimiser."""

    params: Params
    optimiser: Any


def init(
    network: Network, settings: PqnSettings, key: Array, shape: Any, n_actions: int
) -> Learner:
    """Return a learner with random weights for observations of a shape."""
    params = network.init(key, shape, n_actions)
    return Learner(params, settings.optimiser.init(params))


def lambda_returns(
    settings: PqnSettings, rewards: Array, next_values: Array, terminated: Array, dones: Array
) -> Array:
    """Return the targets of a rollout, float (n_steps, n_envs).

    Args:
        settings: hyperparameters.
        rewards: float (n_steps, n_envs).
        next_values: float (n_steps, n_envs), value of the best action after each step, in the last
            state of an episode and not in the first one of the next.
        terminated: bool (n_steps, n_envs), whether the step terminated an episode.
        dones: bool (n_steps, n_envs), whether the step ended an episode.
    """
    decay = settings.return_lambda

    def back(later: Array, step: tuple[Array, ...]) -> tuple[Array, Array]:
        reward, value, terminated, done = step
        mixed = jnp.where(done, value, decay * later + (1.0 - decay) * value)
        target = reward + settings.gamma * jnp.where(terminated, 0.0, mixed)
        return target, target

    steps = (rewards, next_values, terminated, dones)
    targets: Array = jax.lax.scan(back, next_values[-1], steps, reverse=True)[1]
    return targets


def loss(
    network: Network, params: Params, observations: Array, actions: Array, targets: Array
) -> Array:
    """Return half the mean squared error of a batch."""
    values = network.apply(params, observations)
    chosen = jnp.take_along_axis(values, actions[:, None], axis=1)[:, 0]
    return 0.5 * jnp.square(chosen - targets).mean()


def update(
    network: Network,
    settings: PqnSettings,
    learner: Learner,
    observations: Array,
    actions: Array,
    targets: Array,
) -> Learner:
    """Return the learner after one gradient step on a batch."""
    gradient = jax.grad(lambda p: loss(network, p, observations, actions, targets))(learner.params)
    changes, optimiser = settings.optimiser.update(gradient, learner.optimiser, learner.params)
    return Learner(optax.apply_updates(learner.params, changes), optimiser)
