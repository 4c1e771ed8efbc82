"""DQN's update as a pure function, with the semantics of Stable-Baselines3's DQN.

Huber loss on one-step targets from a target network, gradient norm clipped as in PyTorch, Adam with
its usual constants. The target network is a copy that is updated at a fixed interval. Argument
names and defaults are those of Stable-Baselines3. Double DQN (van Hasselt et al., 2016) and n-step
returns are options.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from easee.agents.population.networks import Network, Params, clip_norm
from easee.agents.population.settings import BaseSettings
from easee.errors import ArgumentError


@dataclass(frozen=True)
class Settings(BaseSettings):
    """Hyperparameters of a run; see `stable_baselines3.DQN`.

    Attributes:
        n_steps: number of rewards that are summed before a target bootstraps.
        double: whether the online network selects the action that the target network evaluates.
    """

    may_be_zero = ("learning_starts",)
    shares = ("gamma", "exploration_initial_eps", "exploration_final_eps")

    steps: int
    learning_rate: float = 1e-4
    buffer_size: int = 1_000_000
    learning_starts: int = 100
    batch_size: int = 32
    gamma: float = 0.99
    train_freq: int = 4
    gradient_steps: int = 1
    target_update_interval: int = 10_000
    exploration_fraction: float = 0.1
    exploration_initial_eps: float = 1.0
    exploration_final_eps: float = 0.05
    max_grad_norm: float = 10.0
    n_steps: int = 1
    double: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_steps > self.buffer_size:
            raise ArgumentError(
                f"expected n_steps of at most buffer_size {self.buffer_size}, found {self.n_steps}"
            )

    @property
    def rollout_steps(self) -> int:
        """Number of steps between two updates."""
        return self.train_freq

    @property
    def warm_up(self) -> int:
        """Number of steps before the first rollout with greedy actions and an update."""
        return min(self.learning_starts // self.train_freq * self.train_freq, self.total_steps)

    def next_sync(self, step: int) -> int:
        """Return the start of the first rollout, from `step` on, that updates the target network.

        It is updated when the number of steps is a multiple of the interval. The weights do not
        change during a rollout, so this may be done at its start.
        """
        multiple = (step // self.target_update_interval + 1) * self.target_update_interval
        return (-(-multiple // self.train_freq) - 1) * self.train_freq

    def epsilon(self, step: Array | int, xp: Any = jnp) -> Any:
        """Return the probability of exploring after a number of steps, as an array of `xp`."""
        share = xp.minimum(step / (self.steps * self.exploration_fraction), 1.0)
        start, end = self.exploration_initial_eps, self.exploration_final_eps
        return xp.where(step < self.learning_starts, 1.0, start + share * (end - start))


class Batch(NamedTuple):
    """A batch of transitions over one or more steps.

    `rewards` are discounted sums over the steps. `discounts` weigh the value of the observation
    after them: gamma to the number of steps, 0 where the episode terminated (not truncated).
    """

    observations: Array
    actions: Array
    rewards: Array
    discounts: Array
    next_observations: Array


class Learner(NamedTuple):
    """The weights of the network and of the target network, and the state of Adam."""

    params: Params
    target: Params
    adam: Any


def init(network: Network, settings: Settings, key: Array, shape: Any, n_actions: int) -> Learner:
    """Return a learner with random weights for observations of a shape."""
    params = network.init(key, shape, n_actions)
    return Learner(params, params, optax.adam(settings.learning_rate).init(params))


def loss(
    network: Network, settings: Settings, params: Params, target: Params, batch: Batch
) -> Array:
    """Return the mean Huber loss of a batch."""
    next_values = network.apply(target, batch.next_observations)
    if settings.double:
        best = network.apply(params, batch.next_observations).argmax(axis=1)
        bootstrap = jnp.take_along_axis(next_values, best[:, None], axis=1)[:, 0]
    else:
        bootstrap = next_values.max(axis=1)
    targets = batch.rewards + batch.discounts * bootstrap
    values = network.apply(params, batch.observations)
    chosen = jnp.take_along_axis(values, batch.actions[:, None], axis=1)[:, 0]
    losses: Array = optax.losses.huber_loss(chosen, jax.lax.stop_gradient(targets), delta=1.0)
    return losses.mean()


def update(network: Network, settings: Settings, learner: Learner, batch: Batch) -> Learner:
    """Return the learner after one gradient step."""
    params, target, adam = learner
    gradient = jax.grad(lambda p: loss(network, settings, p, target, batch))(params)
    gradient = clip_norm(gradient, settings.max_grad_norm)
    changes, adam = optax.adam(settings.learning_rate).update(gradient, adam, params)
    return Learner(optax.apply_updates(params, changes), target, adam)


@jax.jit
def sync_target(learner: Learner) -> Learner:
    """Return the learner with a copy of its weights as target network.

    A copy, because a buffer that is donated must not be used twice.
    """
    return learner._replace(target=jax.tree.map(jnp.copy, learner.params))


def act(network: Network, params: Params, observation: Array) -> Array:
    """Return the greedy action for one observation."""
    values = network.apply(params, observation[None])
    return jnp.argmax(values[0]).astype(jnp.int32)
