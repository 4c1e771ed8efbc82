import jax
import jax.numpy as jnp
import numpy as np
import pytest
import stable_baselines3
import torch
from stable_baselines3.common.type_aliases import ReplayBufferSamples
from stable_baselines3.common.utils import LinearSchedule

from easee import ArgumentError
from easee.agents.population import dqn, networks
from easee.agents.population.dqn import Batch, Settings
from easee.agents.sb3.networks import CatcherCnn
from easee.envs import Catcher


def weights_of(model, convolutions, size=(4, 8)):
    """Return a Stable-Baselines3 model's weights in our layout, with channels last.

    `size` is the height and width of the output of the last convolution.
    """
    layers = [m for m in model.q_net.modules() if isinstance(m, torch.nn.Conv2d | torch.nn.Linear)]
    params = []
    for i, layer in enumerate(layers):
        w, b = (parameter.detach().numpy() for parameter in layer.parameters())
        if isinstance(layer, torch.nn.Conv2d):
            w = w.transpose(2, 3, 1, 0)
            channels = w.shape[-1]
        else:
            if i == convolutions and i:
                w = w.reshape(-1, channels, *size).transpose(0, 2, 3, 1)
                w = w.reshape(len(w), -1)
            w = w.T
        params.append({"w": jnp.array(w), "b": jnp.array(b)})
    return params


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["MlpPolicy", "CnnPolicy"])
def test_updates_are_those_of_stable_baselines3(policy, monkeypatch):
    cnn = policy == "CnnPolicy"
    kwargs = {"features_extractor_class": CatcherCnn} if cnn else None
    model = stable_baselines3.DQN(
        policy,
        Catcher() if cnn else "CartPole-v1",
        learning_rate=1e-3,
        max_grad_norm=0.5,  # small enough to clip
        policy_kwargs=kwargs,
        seed=0,
        device="cpu",
    )
    model._setup_learn(100)
    network = networks.CATCHER if cnn else networks.MLP
    settings = Settings(100, learning_rate=1e-3, max_grad_norm=0.5)
    params = weights_of(model, len(network.convolutions))
    shape = (30, 60, 1) if cnn else (4,)
    learner = dqn.init(network, settings, jax.random.key(0), shape, 2)
    learner = learner._replace(params=params, target=params)
    rng = np.random.default_rng(0)
    update = jax.jit(lambda learner, batch: dqn.update(network, settings, learner, batch))
    for i in range(30):
        images = rng.integers(0, 256, (2, 16, 1, 30, 60)).astype(np.uint8)
        vectors = rng.normal(size=(2, 16, 4)).astype(np.float32)
        theirs = images if cnn else vectors
        actions = rng.integers(2, size=16)
        rewards = rng.normal(size=16).astype(np.float32) * 3  # both branches of the Huber loss
        dones = (rng.random(16) < 0.3).astype(np.float32)
        batch = ReplayBufferSamples(
            torch.tensor(theirs[0]),
            torch.tensor(actions)[:, None],
            torch.tensor(theirs[1]),
            torch.tensor(dones)[:, None],
            torch.tensor(rewards)[:, None],
        )
        monkeypatch.setattr(model.replay_buffer, "sample", lambda *a, b=batch, **k: b)
        model.train(1, 16)
        ours = jnp.asarray(theirs.transpose(0, 1, 3, 4, 2) / 255 if cnn else theirs, jnp.float32)
        discounts = (1.0 - dones) * settings.gamma
        learner = update(learner, Batch(ours[0], jnp.array(actions), rewards, discounts, ours[1]))
        if i == 14:
            model.q_net_target.load_state_dict(model.q_net.state_dict())
            learner = dqn.sync_target(learner)
    expected = weights_of(model, len(network.convolutions))
    for ours, theirs, first in zip(
        *map(jax.tree.leaves, (learner.params, expected, params)), strict=True
    ):
        assert np.abs(ours - first).max() > 2e-3
        # Adam amplifies rounding errors where a gradient is close to zero.
        distance, moved = (np.linalg.norm(x) for x in (ours - theirs, ours - first))
        assert distance < (0.05 if cnn else 1e-4) * moved


@pytest.mark.parametrize(("freq", "interval"), [(4, 1000), (4, 6), (8, 10), (3, 2), (4, 4), (1, 5)])
def test_the_target_is_synchronised_when_stable_baselines3_does(freq, interval):
    # Stable-Baselines3 does so after each step whose number is a multiple of the interval, in the
    # rollout that contains this step.
    starts = range(0, 4000, freq)
    expected = [
        start
        for start in starts
        if any(step % interval == 0 for step in range(start + 1, start + freq + 1))
    ]
    settings = Settings(100, train_freq=freq, target_update_interval=interval)
    assert [start for start in starts if settings.next_sync(start) == start] == expected
    for start in range(0, expected[-1] + 1, freq):
        assert settings.next_sync(start) == min(sync for sync in expected if sync >= start)


def test_schedules_are_those_of_stable_baselines3():
    settings = Settings(1000, learning_starts=10, exploration_fraction=0.3)
    theirs = LinearSchedule(1.0, 0.05, 0.3)
    for step in (10, 100, 299, 300, 301, 999):
        assert settings.epsilon(step, np) == pytest.approx(theirs(1 - step / 1000))
        assert float(settings.epsilon(step)) == pytest.approx(theirs(1 - step / 1000), abs=1e-6)
    assert settings.epsilon(9, np) == float(settings.epsilon(9)) == 1.0
    # With 4 steps between updates, the first update after step 10 is after step 12.
    assert settings.warm_up == 8 and settings.total_steps == 1000
    assert Settings(1001).total_steps == 1004


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", 0),
        ("buffer_size", 0),
        ("batch_size", 0),
        ("train_freq", 0),
        ("learning_starts", -1),
        ("gamma", 1.5),
        ("exploration_fraction", 0),
        ("learning_rate", True),
    ],
)
def test_invalid_settings_are_rejected(name, value):
    with pytest.raises(ArgumentError, match=name):
        Settings(**({"steps": 10} | {name: value}))


def test_a_learning_rate_may_be_an_integer():
    assert Settings(10, learning_rate=np.int64(1)).learning_rate == 1.0


def values(network, params, observations):
    return np.asarray(network.apply(params, observations), np.float64)


def test_double_dqn_evaluates_the_online_network_s_action_with_the_target_network():
    network, settings = networks.MLP, Settings(10, double=True)
    keys = jax.random.split(jax.random.key(0), 3)
    params, target = (network.init(key, (4,), 3) for key in keys[:2])
    observations, after = 5.0 * jax.random.normal(keys[2], (2, 40, 4))
    batch = Batch(observations, jnp.arange(40) % 3, jnp.ones(40), jnp.full(40, 0.5), after)
    rows = np.arange(40)
    best = values(network, params, after).argmax(axis=1)
    targets = 1.0 + 0.5 * values(network, target, after)[rows, best]
    errors = np.abs(values(network, params, observations)[rows, rows % 3] - targets)
    huber = np.where(errors <= 1.0, 0.5 * errors**2, errors - 0.5)
    found = dqn.loss(network, settings, params, target, batch)
    assert float(found) == pytest.approx(huber.mean(), rel=1e-5)
    # The two networks prefer different actions in some states, and there plain DQN differs.
    assert (best != values(network, target, after).argmax(axis=1)).any()
    plain = dqn.loss(network, Settings(10), params, target, batch)
    assert float(plain) != pytest.approx(float(found), rel=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"double": 1}, "double as True or False, found 1"),
        ({"n_steps": 0}, "n_steps"),
        ({"n_steps": 9, "buffer_size": 8}, "n_steps of at most buffer_size 8, found 9"),
    ],
)
def test_invalid_options_are_rejected(change, message):
    with pytest.raises(ArgumentError, match=message):
        Settings(10, **change)
