import jax
import jax.numpy as jnp
import numpy as np
import pytest

from easee import ArgumentError
from easee.agents.population import PqnSettings, networks, pqn

SETTINGS = PqnSettings(100, n_envs=2, n_steps=6, batch_size=4, gamma=0.9, return_lambda=0.7)


def test_targets_are_means_of_n_step_returns_weighted_by_powers_of_lambda(rng):
    length, decay, gamma = SETTINGS.n_steps, SETTINGS.return_lambda, SETTINGS.gamma
    rewards, values = rng.random((2, length, 2))
    terminated, truncated = np.zeros((2, length, 2), bool)
    terminated[3, 0] = truncated[2, 1] = True
    dones = terminated | truncated
    expected = np.zeros((length, 2))
    for t, env in np.ndindex(length, 2):
        ends = np.flatnonzero(dones[t:, env])
        n = int(ends[0]) + 1 if len(ends) else length - t
        sums = np.cumsum(gamma ** np.arange(n) * rewards[t : t + n, env])
        goes_on = ~terminated[t : t + n, env]
        returns = sums + gamma ** np.arange(1, n + 1) * values[t : t + n, env] * goes_on
        weights = (1 - decay) * decay ** np.arange(n)
        weights[-1] = decay ** (n - 1)
        expected[t, env] = weights @ returns
    targets = pqn.lambda_returns(SETTINGS, *map(jnp.asarray, (rewards, values, terminated, dones)))
    np.testing.assert_allclose(targets, expected, rtol=1e-5)


def test_updates_reduce_the_error_of_the_actions_taken_until_the_rate_is_0(rng):
    network = networks.Network(hidden=(16,), layer_norm=True)
    settings = PqnSettings(96, n_envs=2, n_steps=6, batch_size=4, learning_rate=0.02)
    learner = pqn.init(network, settings, jax.random.key(0), (5,), 3)
    observations = jnp.asarray(rng.random((4, 5)), jnp.float32)
    actions, targets = jnp.array([0, 1, 2, 0]), jnp.array([1.0, -1.0, 0.5, 0.0])
    batch = observations, actions, targets
    update = jax.jit(lambda learner: pqn.update(network, settings, learner, *batch))
    first = pqn.loss(network, learner.params, *batch)
    # As many updates as a whole run has, and one more.
    for _ in range(settings.total_steps // settings.batch_size * settings.n_epochs + 1):
        before, learner = learner.params, update(learner)
    assert pqn.loss(network, learner.params, *batch) < 0.01 * first
    for old, new in zip(jax.tree.leaves(before), jax.tree.leaves(learner.params), strict=True):
        np.testing.assert_array_equal(old, new)


def test_epsilon_is_linear_and_then_constant():
    settings = PqnSettings(1000, exploration_fraction=0.5, exploration_final_eps=0.2)
    found = [float(settings.epsilon(step)) for step in (0, 250, 500, 1000)]
    assert found == pytest.approx([1.0, 0.6, 0.2, 0.2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch_size": 48}, "batch_size that divides n_envs \\* n_steps = 64"),
        ({"return_lambda": 1.5}, "return_lambda between 0 and 1"),
        ({"n_envs": 0}, "n_envs of at least 1"),
        ({"learning_rate": 0.0}, "learning_rate as a positive number"),
    ],
)
def test_invalid_settings_are_rejected(change, message):
    with pytest.raises(ArgumentError, match=message):
        PqnSettings(100, **change)
