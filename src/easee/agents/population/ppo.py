"""PPO's update as a pure function, with the semantics of Stable-Baselines3's PPO.

Generalised advantage estimation, the clipped objective, Adam. Argument names and defaults are those
of Stable-Baselines3. The action distribution and the entropy bonus have a reference policy, see
`easee.agents.reference_policy`; with a uniform one this is plain PPO.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from easee.agents.population.networks import ActorCritic, Params, clip_norm
from easee.agents.population.settings import BaseSettings
from easee.agents.reference_policy import FLOOR, IMPOSSIBLE
from easee.errors import ArgumentError


@dataclass(frozen=True)
class PpoSettings(BaseSettings):
    """Hyperparameters of a run; see `stable_baselines3.PPO` and `easee.agents.sb3.PPO`.

    Attributes:
        n_envs: number of environments of a run.
        reference_floor: weight of the uniform policy mixed into references that are policies.
        reference_strength: exponent of the reference at the start of training.
        reference_final_strength: exponent at its end; it changes linearly.
    """

    may_be_zero = ("ent_coef", "vf_coef", "reference_strength", "reference_final_strength")
    shares = ("gamma", "gae_lambda", "reference_floor")

    steps: int
    n_envs: int = 1
    learning_rate: float = 3e-4
    n_steps: int = 2048
    batch_size: int = 64
    n_epochs: int = 10
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    normalize_advantage: bool = True
    ent_coef: float = 0.0
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    reference_floor: float = FLOOR
    reference_strength: float = 1.0
    reference_final_strength: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rollout_steps % self.batch_size:
            raise ArgumentError(
                f"expected a batch_size that divides n_envs * n_steps = {self.rollout_steps}, "
                f"found {self.batch_size}"
            )
        if self.normalize_advantage and self.batch_size == 1:
            raise ArgumentError("expected a batch_size of at least 2 to normalise advantages")

    @property
    def rollout_steps(self) -> int:
        """Number of steps of all environments between two updates."""
        return self.n_envs * self.n_steps

    def strength(self, step: Array | int) -> Any:
        """Return the exponent of the reference after a number of steps."""
        start, end = self.reference_strength, self.reference_final_strength
        return start + (end - start) * jnp.minimum(step / self.steps, 1.0)


class Learner(NamedTuple):
    """The weights of actor and critic, and the state of Adam."""

    params: tuple[Params, Params]
    adam: Any


class Rollout(NamedTuple):
    """Steps of several environments, arrays (n_steps, n_envs, ...), or a batch of them.

    Attributes:
        observations: packed states before each step.
        actions: int, actions taken.
        references: float (..., k), log-probabilities of the reference at the nodes.
        log_probs: float, log-probabilities of the actions when they were taken.
        advantages, returns: float, estimates after the rollout.
    """

    observations: Any
    actions: Array
    references: Array
    log_probs: Array
    advantages: Array
    returns: Array


def init(
    network: ActorCritic, settings: PpoSettings, key: Array, shape: Any, n_actions: int
) -> Learner:
    """Return a learner with random weights for observations of a shape."""
    params = network.init(key, shape, n_actions)
    return Learner(params, _adam(settings).init(params))


def _adam(settings: PpoSettings) -> Any:
    return optax.adam(settings.learning_rate, eps=1e-5)


def log_reference(probabilities: Array, strength: Array | float) -> Array:
    """Return the log-probabilities of a reference with an exponent, finite everywhere."""
    positive = probabilities > 0
    logs = jnp.where(positive, jnp.log(jnp.where(positive, probabilities, 1.0)), IMPOSSIBLE)
    return jnp.maximum(jax.nn.log_softmax(strength * logs), IMPOSSIBLE)


def estimate_advantages(
    settings: PpoSettings, rewards: Array, dones: Array, values: Array, last_values: Array
) -> tuple[Array, Array]:
    """Return advantages and returns, float (n_steps, n_envs).

    Args:
        settings: hyperparameters.
        rewards: float (n_steps, n_envs), with the value of the last state added where an episode
            was truncated.
        dones: bool (n_steps, n_envs), whether the step ended an episode.
        values: float (n_steps, n_envs), values of the states before each step.
        last_values: float (n_envs,), values of the states after the last step.
    """
    next_values = jnp.concatenate([values[1:], last_values[None]])
    goes_on = 1.0 - dones

    def back(advantage: Array, step: tuple[Array, ...]) -> tuple[Array, Array]:
        reward, goes_on, value, next_value = step
        error = reward + settings.gamma * next_value * goes_on - value
        advantage = error + settings.gamma * settings.gae_lambda * goes_on * advantage
        return advantage, advantage

    steps = (rewards, goes_on, values, next_values)
    _, advantages = jax.lax.scan(back, jnp.zeros_like(last_values), steps, reverse=True)
    return advantages, advantages + values


def loss(
    network: ActorCritic,
    settings: PpoSettings,
    params: tuple[Params, Params],
    observations: Array,
    batch: Rollout,
) -> Array:
    """Return PPO's loss of a batch."""
    logs = jax.nn.log_softmax(network.logits(params, observations) + batch.references)
    log_probs = jnp.take_along_axis(logs, batch.actions[:, None], axis=1)[:, 0]
    advantages = batch.advantages
    if settings.normalize_advantage:
        advantages = (advantages - advantages.mean()) / (advantages.std(ddof=1) + 1e-8)
    ratios = jnp.exp(log_probs - batch.log_probs)
    clipped = jnp.clip(ratios, 1.0 - settings.clip_range, 1.0 + settings.clip_range)
    policy_loss = -jnp.minimum(advantages * ratios, advantages * clipped).mean()
    value_loss = jnp.square(batch.returns - network.values(params, observations)).mean()
    divergence = (jnp.exp(logs) * (logs - batch.references)).sum(axis=1).mean()
    return policy_loss + settings.ent_coef * divergence + settings.vf_coef * value_loss


def update(
    network: ActorCritic,
    settings: PpoSettings,
    learner: Learner,
    observations: Array,
    batch: Rollout,
) -> Learner:
    """Return the learner after one gradient step."""
    gradient = jax.grad(lambda p: loss(network, settings, p, observations, batch))(learner.params)
    gradient = clip_norm(gradient, settings.max_grad_norm)
    changes, adam = _adam(settings).update(gradient, learner.adam)
    return Learner(optax.apply_updates(learner.params, changes), adam)
