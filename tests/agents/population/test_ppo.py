from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from stable_baselines3.common.buffers import RolloutBuffer

import easee
from easee import ArgumentError, priors
from easee.agents.population import PpoSettings, ppo
from easee.agents.population.networks import ActorCritic
from easee.agents.population.ppo import Rollout
from easee.agents.reference_policy import log_reference
from easee.agents.sb3 import PPO
from easee.envs import GoalGrid
from easee.envs import jax as worlds

SETTINGS = PpoSettings(
    100, n_envs=2, n_steps=16, batch_size=8, n_epochs=3, learning_rate=1e-3, ent_coef=0.03
)


def weights_of(model):
    """Return a Stable-Baselines3 model's weights in our layout: those of actor and critic."""
    policy = model.policy
    nets = policy.mlp_extractor
    layers = (
        [*nets.policy_net[::2], policy.action_net],
        [*nets.value_net[::2], policy.value_net],
    )
    return tuple(
        [{"w": jnp.array(m.weight.detach().numpy().T), "b": jnp.array(m.bias.detach().numpy())}
         for m in net]
        for net in layers
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("reference", [None, "rotation-grid-complete"])
def test_updates_are_those_of_stable_baselines3(reference, monkeypatch):
    policy = None if reference is None else easee.compile(priors.get(reference), depth=6)
    env = GoalGrid(5, start=(1, 1, 0))
    model = PPO(
        "MlpPolicy", env, reference=policy, learning_rate=1e-3, n_steps=32, batch_size=8,
        n_epochs=3, ent_coef=0.03, seed=0, device="cpu",
    )  # fmt: skip
    before = weights_of(model)
    orders, permutation = [], np.random.permutation

    def remembered(count):
        orders.append(permutation(count))
        return orders[-1]

    monkeypatch.setattr(np.random, "permutation", remembered)
    model.learn(32)
    buffer: Any = model.rollout_buffer  # flattened by the update, in the order of its steps
    rows = np.full((32, 3), -np.log(3.0))
    if policy is not None:
        rows = buffer.reference_rows.reshape(32, 3)
    flat = Rollout(
        buffer.observations,
        jnp.asarray(buffer.actions[:, 0], jnp.int32),
        jnp.asarray(rows, jnp.float32),
        *(jnp.asarray(getattr(buffer, name).reshape(-1))
          for name in ("log_probs", "advantages", "returns")),
    )  # fmt: skip
    network = ActorCritic()
    learner = ppo.init(network, SETTINGS, jax.random.key(0), (14,), 3)._replace(params=before)
    observations = jax.vmap(worlds.GoalGrid(5).unpack)(jnp.asarray(buffer.observations))
    update = jax.jit(lambda *args: ppo.update(network, SETTINGS, *args))
    assert len(orders) == 3
    for order in orders:
        for indices in order.reshape(-1, 8):
            batch = jax.tree.map(lambda a, i=indices: a[i], flat)
            learner = update(learner, observations[indices], batch)
    for ours, theirs in zip(
        jax.tree.leaves(learner.params), jax.tree.leaves(weights_of(model)), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=2e-5)


def test_advantages_are_those_of_stable_baselines3():
    rng = np.random.default_rng(0)
    env = GoalGrid(5)
    buffer = RolloutBuffer(
        16, env.observation_space, env.action_space, gamma=0.9, gae_lambda=0.8, n_envs=2
    )
    rewards, values = rng.normal(size=(2, 16, 2)).astype(np.float32)
    dones = rng.random((16, 2)) < 0.3
    starts = np.concatenate([np.ones((1, 2)), dones[:-1]])
    for i in range(16):
        buffer.add(
            np.zeros((2, 3)), np.zeros((2, 1)), rewards[i], starts[i], torch.tensor(values[i]),
            torch.zeros(2),
        )  # fmt: skip
    last = rng.normal(size=2).astype(np.float32)
    buffer.compute_returns_and_advantage(torch.tensor(last), dones[-1])
    settings = PpoSettings(100, n_envs=2, n_steps=16, batch_size=8, gamma=0.9, gae_lambda=0.8)
    advantages, returns = ppo.estimate_advantages(
        settings, *map(jnp.asarray, (rewards, dones, values, last))
    )
    np.testing.assert_allclose(advantages, buffer.advantages, atol=1e-5)
    np.testing.assert_allclose(returns, buffer.returns, atol=1e-5)


@pytest.mark.parametrize("strength", [0.0, 0.4, 1.0])
def test_references_are_those_of_the_other_agents(strength):
    rows = np.array([[0.2, 0.3, 0.5], [0.0, 0.25, 0.75]])
    expected = log_reference(rows, strength)
    found = np.asarray(ppo.log_reference(jnp.asarray(rows), strength))
    positive = expected > -1e7
    np.testing.assert_allclose(found[positive], expected[positive], atol=1e-6)
    assert (found[~positive] <= 0.9 * expected[~positive]).all()


def test_weights_start_like_those_of_stable_baselines3():
    (*hidden, last), critic = ActorCritic().init(jax.random.key(0), (20,), 3)
    for layer in hidden:
        gram = layer["w"].T @ layer["w"] if layer["w"].shape[0] >= 64 else layer["w"] @ layer["w"].T
        np.testing.assert_allclose(gram, 2.0 * np.eye(len(gram)), atol=1e-5)
    np.testing.assert_allclose(last["w"].T @ last["w"], 1e-4 * np.eye(3), atol=1e-8)
    np.testing.assert_allclose(critic[-1]["w"].T @ critic[-1]["w"], [[1.0]], atol=1e-5)
    assert not any(layer["b"].any() for layer in (*hidden, last, *critic))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch_size": 7}, "batch_size that divides n_envs \\* n_steps = 32, found 7"),
        ({"batch_size": 1}, "batch_size of at least 2"),
        ({"ent_coef": -0.1}, "expected ent_coef as a number of at least 0, found -0.1"),
        ({"learning_rate": 0.0}, "expected learning_rate as a positive number"),
        ({"reference_floor": 1.5}, "reference_floor"),
        ({"n_envs": 0}, "n_envs"),
    ],
)
def test_invalid_settings_are_rejected(change, message):
    options = {"n_envs": 2, "n_steps": 16, "batch_size": 8} | change
    with pytest.raises(ArgumentError, match=message):
        PpoSettings(100, **options)
