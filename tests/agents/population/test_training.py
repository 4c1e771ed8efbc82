import logging
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import stable_baselines3
import torch
from stable_baselines3.common.type_aliases import ReplayBufferSamples
from stable_baselines3.common.utils import LinearSchedule

import easee
from easee import ArgumentError, ArgumentTypeError, PopulationTooLargeError, priors
from easee.agents.population import checkpoints, devices, learner, networks
from easee.agents.population.learner import Batch, Settings
from easee.agents.population.networks import Convolution, Network
from easee.agents.population.training import Population
from easee.agents.sb3.networks import CatcherCnn
from easee.agents.sb3.vec_env import VectorAdapter
from easee.envs import Catcher as CatcherEnv
from easee.envs.atari import Atari
from easee.envs.jax import Catcher, DoorKey
from easee.explorers import jax as explorers

torch.set_num_threads(1)

SMALL = Settings(
    400,
    buffer_size=100,
    learning_starts=50,
    batch_size=8,
    target_update_interval=40,
    exploration_fraction=0.5,
)


def small(count=3, settings=SMALL, world=Catcher(8, 4), network=networks.MLP, seeds=None):  # noqa: B008
    policy = easee.compile(priors.get("catcher"), depth=4)
    kinds = [explorers.uniform(2), explorers.from_policy(policy), explorers.zeta(2)]
    tables = [kinds[i % 3] for i in range(count)]
    return Population(world, tables, seeds or range(count), settings, network, bins=10)


def assert_same(one, two):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_array_equal(a, b)


# --- networks ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "network, shape",
    [
        (networks.CATCHER, (30, 60, 1)),
        (networks.CATCHER, (21, 40, 2)),
        (networks.NATURE, (84, 84, 4)),
        (networks.NATURE, (87, 90, 3)),
        (Network((Convolution(5, 4, 2, padding=1), Convolution(6, 2, 2))), (9, 12, 2)),
    ],
)
def test_patches_times_matrix_is_convolution(network, shape):
    params = network.init(jax.random.key(0), shape, 3)
    images = values = jax.random.uniform(jax.random.key(1), (4, *shape))
    for layer, p in zip(network.convolutions, params, strict=False):
        values = jax.lax.conv_general_dilated(
            values,
            p["w"],
            (layer.stride, layer.stride),
            [(layer.padding, layer.padding)] * 2,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
        values = jax.nn.relu(values + p["b"])
    values = values.reshape(4, -1)
    for p in params[len(network.convolutions) :]:
        values = values @ p["w"] + p["b"]
        if p is not params[-1]:
            values = jax.nn.relu(values)
    np.testing.assert_allclose(network.apply(params, images), values, atol=1e-5)


def test_catcher_s_network_sees_every_pixel():
    # Of 30 rows, windows of 3 at a stride of 2 leave out the last one: there the paddle is.
    params = networks.CATCHER.init(jax.random.key(0), (30, 60, 1), 2)
    image = jax.random.uniform(jax.random.key(1), (30, 60, 1))
    seen = jax.grad(lambda x: networks.CATCHER.apply(params, x[None]).sum())(image)
    assert (seen != 0).mean() > 0.9 and (seen[-1] != 0).any() and (seen[:, -1] != 0).any()
    theirs = CatcherCnn(CatcherEnvTransposed())
    pixels = torch.rand(1, 1, 30, 60, requires_grad=True)
    theirs(pixels).sum().backward()
    assert (pixels.grad[0, 0, -1] != 0).any()


def CatcherEnvTransposed():
    from gymnasium import spaces

    return spaces.Box(0, 255, (1, 30, 60), np.uint8)


def test_weights_begin_as_pytorch_s():
    params = networks.NATURE.init(jax.random.key(0), (84, 84, 4), 6)
    convolution = torch.nn.Conv2d(4, 32, 8, 4)
    ours, theirs = np.asarray(params[0]["w"]), convolution.weight.detach().numpy()
    assert np.abs(ours).max() <= 256**-0.5 and ours.std() == pytest.approx(theirs.std(), rel=0.05)
    assert np.abs(np.asarray(params[0]["b"])).max() <= 256**-0.5


def test_observations_can_be_too_small():
    with pytest.raises(ArgumentError, match="too small for the convolutions"):
        networks.NATURE.init(jax.random.key(0), (20, 20, 4), 2)


# --- the update is Stable-Baselines3's ----------------------------------------------------------


def weights_of(model, convolutions, seen=(4, 8)):
    """Return Stable-Baselines3's weights in our order; there channels come first."""
    layers = [m for m in model.q_net.modules() if isinstance(m, torch.nn.Conv2d | torch.nn.Linear)]
    found = []
    for i, layer in enumerate(layers):
        w = layer.weight.detach().numpy()
        if isinstance(layer, torch.nn.Conv2d):
            w = w.transpose(2, 3, 1, 0)
            channels = w.shape[-1]
        else:
            if i == convolutions and i:
                w = w.reshape(-1, channels, *seen).transpose(0, 2, 3, 1)
                w = w.reshape(len(w), -1)
            w = w.T
        found.append({"w": jnp.array(w), "b": jnp.array(layer.bias.detach().numpy())})
    return found


@pytest.mark.parametrize("policy", ["MlpPolicy", "CnnPolicy"])
def test_updates_are_those_of_stable_baselines(policy, monkeypatch):
    cnn = policy == "CnnPolicy"
    kwargs = {"features_extractor_class": CatcherCnn} if cnn else None
    model = stable_baselines3.DQN(
        policy,
        CatcherEnv() if cnn else "CartPole-v1",
        learning_rate=1e-3,
        max_grad_norm=0.5,  # so small that it matters
        policy_kwargs=kwargs,
        seed=0,
        device="cpu",
    )
    model._setup_learn(100)
    network = networks.CATCHER if cnn else networks.MLP
    settings = Settings(100, learning_rate=1e-3, max_grad_norm=0.5)
    params = weights_of(model, len(network.convolutions))
    shape = (30, 60, 1) if cnn else (4,)
    now = learner.init(network, settings, jax.random.key(0), shape, 2)
    now = now._replace(params=params, target=params)
    rng = np.random.default_rng(0)
    step = jax.jit(lambda now, batch: learner.update(network, settings, now, batch))
    for i in range(30):
        images = rng.integers(0, 256, (2, 16, 1, 30, 60)).astype(np.uint8)
        vectors = rng.normal(size=(2, 16, 4)).astype(np.float32)
        seen = images if cnn else vectors
        actions = rng.integers(2, size=16)
        rewards = rng.normal(size=16).astype(np.float32) * 3  # beyond Huber's corner, too
        dones = (rng.random(16) < 0.3).astype(np.float32)
        batch = ReplayBufferSamples(
            torch.tensor(seen[0]),
            torch.tensor(actions)[:, None],
            torch.tensor(seen[1]),
            torch.tensor(dones)[:, None],
            torch.tensor(rewards)[:, None],
        )
        monkeypatch.setattr(model.replay_buffer, "sample", lambda *a, b=batch, **k: b)
        model.train(1, 16)
        ours = jnp.asarray(seen.transpose(0, 1, 3, 4, 2) / 255 if cnn else seen, jnp.float32)
        now = step(now, Batch(ours[0], jnp.array(actions), rewards, dones, ours[1]))
        if i == 14:  # a new target
            model.q_net_target.load_state_dict(model.q_net.state_dict())
            now = learner.renewed(Settings(100, target_update_interval=10), now, 5, 15)
    expected = weights_of(model, len(network.convolutions))
    for ours, theirs, first in zip(
        *map(jax.tree.leaves, (now.params, expected, params)), strict=True
    ):
        assert np.abs(ours - first).max() > 2e-3
        # Where a gradient is next to nothing, Adam makes steps of its rounding errors.
        away, moved = (np.linalg.norm(x) for x in (ours - theirs, ours - first))
        assert away < (0.05 if cnn else 1e-4) * moved


def test_the_network_for_atari_is_that_of_stable_baselines():
    env = VectorAdapter(Atari("boxing", threads=1))
    model = stable_baselines3.DQN("CnnPolicy", env, buffer_size=10, seed=0, device="cpu")
    params = weights_of(model, 3, seen=(7, 7))
    shapes = [(8, 8, 4, 32), (4, 4, 32, 64), (3, 3, 64, 64), (3136, 512), (512, 18)]
    assert [p["w"].shape for p in params] == shapes
    images = np.random.default_rng(0).integers(0, 256, (3, 4, 84, 84)).astype(np.uint8)
    with torch.no_grad():
        theirs = model.q_net(torch.tensor(images)).numpy()
    ours = networks.NATURE.apply(params, images.transpose(0, 2, 3, 1) / np.float32(255))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_schedules_are_those_of_stable_baselines():
    settings = Settings(1000, learning_starts=10, exploration_fraction=0.3)
    theirs = LinearSchedule(1.0, 0.05, 0.3)
    for step in (10, 100, 299, 300, 301, 999):
        assert settings.epsilon_at(step) == pytest.approx(theirs(1 - step / 1000))
        assert float(settings.epsilon(step)) == pytest.approx(theirs(1 - step / 1000), abs=1e-6)
    assert settings.epsilon_at(9) == float(settings.epsilon(9)) == 1.0
    # 3 blocks of 4 steps: the first update is after step 12, the first beyond 10.
    assert settings.warm_up == 2 and settings.blocks == 250


@pytest.mark.parametrize("name", ["steps", "buffer_size", "batch_size", "train_freq"])
def test_settings_are_checked(name):
    with pytest.raises(ArgumentError, match=name):
        Settings(**({"steps": 10} | {name: 0}))
    with pytest.raises(ArgumentError, match="gamma"):
        Settings(10, gamma=1.5)


# --- populations ------------------------------------------------------------------------------


def test_pieces_make_the_same_whole():
    whole, pieces = small(), small()
    whole.advance()
    while not pieces.finished:
        pieces.advance(36)
    assert_same(whole.runs, pieces.runs)
    assert whole.steps == 400


def test_a_run_depends_on_nobody_else():
    many, few = small(6), small(2, seeds=[0, 1])
    ours, theirs = many.advance(), few.advance()
    np.testing.assert_array_equal(ours.sums[:2], theirs.sums)
    assert not np.array_equal(ours.sums[0], ours.sums[3])  # the same arm with another seed


def test_checkpoints_go_on_as_if_nothing_had_happened(tmp_path):
    whole = small()
    first = small()
    first.advance(130)
    first.save(tmp_path / "x.npz")
    second = small()
    second.load(tmp_path / "x.npz")
    assert second.steps == first.steps == 132
    assert_same(whole.advance(), second.advance())
    assert_same(whole.runs, second.runs)


def test_other_checkpoints_are_refused(tmp_path):
    path = tmp_path / "x.npz"
    small().save(path)
    with pytest.raises(ArgumentError, match="other runs: expected seeds"):
        small(2).load(path)
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(ArgumentError, match="not a whole one"):
        small().load(path)


def test_damaged_checkpoints_are_refused(tmp_path):
    path, ours = tmp_path / "x.npz", small()
    checkpoints.save(path, (ours.runs, np.asarray(-5)), ours.about)
    with pytest.raises(ArgumentError, match="damaged"):
        ours.load(path)
    checkpoints.save(path, (ours.runs, np.asarray(0)), [1])
    with pytest.raises(ArgumentError, match="not a whole one"):
        ours.load(path)
    ours.save(path)
    data = bytearray(path.read_bytes())
    data[8] ^= 0xFF  # how the first entry is packed
    at = data.find(b"PK\x01\x02")
    data[at + 10] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(ArgumentError, match="not a whole one"):
        ours.load(path)


def test_curves_count_every_episode():
    curves = small().advance()
    assert (curves.counts.sum(axis=1) == 100).all()  # of 4 steps each
    steps, means = zip(*curves.points(0), strict=True)
    assert steps == tuple(range(40, 401, 40)) and all(-1 <= mean <= 1 for mean in means)
    assert curves.sums[0].sum() == pytest.approx(10 * sum(means))


def test_it_learns():
    settings = Settings(
        6000,
        learning_rate=1e-3,
        buffer_size=2000,
        learning_starts=200,
        target_update_interval=100,
        exploration_fraction=0.3,
    )
    curves = small(3, settings, Catcher(8, 4)).advance()
    assert all(curves.points(i)[0][1] < 0.0 < 0.7 < curves.points(i)[-1][1] for i in range(3))


def test_time_limits_are_no_ends():
    population = small(2, Settings(40, buffer_size=40, learning_starts=40), Catcher(8, 4))
    population.advance()
    replay = population.runs.replay
    np.testing.assert_array_equal(np.asarray(replay.dones[0]).nonzero()[0], np.arange(3, 40, 4))
    world = DoorKey(max_steps=5)
    policy = easee.compile(priors.get("doorkey"), depth=3)
    cut = Population(
        world,
        [explorers.from_policy(policy)],
        [0],
        Settings(20, buffer_size=20, learning_starts=20),
    )
    cut.advance()
    assert not cut.runs.replay.dones.any()
    # The next episode begins where this one did, and its first state is no successor of the last.
    before, after = cut.runs.replay.before, cut.runs.replay.after
    assert (before.steps[0] == jnp.tile(jnp.arange(5), 4)).all()
    assert (after.steps[0] == jnp.tile(jnp.arange(1, 6), 4)).all()


def test_explorers_must_fit_the_actions():
    with pytest.raises(ArgumentError, match=r"has 3 \(0, 1, 2\), the environment 2 \(left, right"):
        Population(Catcher(), [explorers.uniform(3)], [0], SMALL)
    with pytest.raises(ArgumentError, match="found 1 explorers and 2 seeds"):
        Population(Catcher(), [explorers.uniform(2)], [0, 1], SMALL)


@pytest.mark.parametrize("seed", [-1, 2**31, 0.5, "a"])
def test_seeds_are_checked(seed):
    with pytest.raises(ArgumentError, match="seeds as whole numbers"):
        Population(Catcher(), [explorers.uniform(2)], [seed], SMALL)


def test_more_that_cannot_be():
    uniform = explorers.uniform(2)
    with pytest.raises(ArgumentError, match="as Tables"):
        Population(Catcher(), [easee.UniformExplorer(2)], [0], SMALL)
    with pytest.raises(ArgumentError, match="hashable"):
        Population(Catcher(), [uniform], [0], SMALL, Network(hidden=[8]))
    with pytest.raises(ArgumentError, match="bins are too many"):
        Population(Catcher(), [uniform], [0], SMALL, bins=10**7)
    with pytest.raises(ArgumentError, match="height, width, channels"):
        networks.CATCHER.init(jax.random.key(0), (4,), 2)
    with pytest.raises(ArgumentError, match="steps of at least 1"):
        small().advance(0)
    with pytest.raises(ArgumentError, match="exploration_fraction"):
        Settings(10, exploration_fraction=0)
    with pytest.raises(ArgumentError, match="learning_starts"):
        Settings(10, learning_starts=-1)


def test_a_policy_will_do_for_tables(tmp_path):
    policy = easee.compile(priors.get("catcher"), depth=4)
    ours = Population(Catcher(8, 4), [policy], [1], SMALL, bins=10)
    theirs = Population(Catcher(8, 4), [explorers.from_policy(policy)], [1], SMALL, bins=10)
    assert_same(ours.advance(), theirs.advance())
    ours.save(tmp_path / "x.npz")
    with pytest.raises(ArgumentError, match="other runs: expected explorers"):
        small(1, seeds=[1]).load(tmp_path / "x.npz")  # the same, but uniform


def test_too_many_seeds_say_how_many_fit(monkeypatch):
    monkeypatch.setattr(devices, "memory", lambda: 200 * 2**20)
    settings = Settings(100, buffer_size=100_000)
    with pytest.raises(PopulationTooLargeError, match=r"1000 runs need .* GiB.*: \d+ fit") as error:
        small(1000, settings, Catcher(), networks.CATCHER)
    fit = int(str(error.value).split(": ")[1].split()[0])
    assert 1 < fit < 100
    assert len(small(fit, settings, Catcher(), networks.CATCHER)) == fit


def test_the_lack_of_a_gpu_is_said_once(caplog):
    devices.announce.cache_clear()
    with caplog.at_level(logging.WARNING, "easee"):
        small()
        small()
    assert [r.message for r in caplog.records].count(caplog.records[0].message) == 1
    assert "no GPU" in caplog.records[0].message and len(caplog.records) == 1


class Drift(NamedTuple):
    place: Any
    key: Any


@dataclass(frozen=True)
class Windy:
    """A world that is random, so its state has a key; it never terminates."""

    n_actions: ClassVar[int] = 2
    action_names: ClassVar[tuple[str, ...]] = ("left", "right")
    observation_shape: ClassVar[tuple[int, ...]] = (1,)

    def reset(self, key):
        return Drift(jnp.zeros((), jnp.int32), key)

    def restart(self, state, key):
        return self.reset(key)

    def step(self, state, action):
        key, now = jax.random.split(state.key)
        place = state.place + jnp.where(jax.random.bernoulli(now), action, 1)
        return Drift(place, key), 1.0, False, place >= 5

    def observe(self, state):
        return state.place[None].astype(jnp.float32)


def test_a_world_may_be_random_and_goes_on_to_the_bit(tmp_path):
    make = lambda: Population(  # noqa: E731
        Windy(),
        [explorers.uniform(2)],
        [0],
        Settings(60, buffer_size=20, learning_starts=8),
        bins=2,
    )
    whole, cut, again = make(), make(), make()
    cut.advance(28)
    cut.save(tmp_path / "c.npz")
    again.load(tmp_path / "c.npz")
    np.testing.assert_array_equal(again.advance().sums, whole.advance().sums)


def test_checkpoints_that_do_not_fit_are_named_for_what_they_are(tmp_path):
    def make(*hidden):
        network = networks.Network(hidden=hidden)
        return Population(Windy(), [explorers.uniform(2)], [0], Settings(60), network, bins=2)

    make(8).save(tmp_path / "c.npz")
    with pytest.raises(ArgumentError, match="of other runs: expected network"):
        make(8, 8).load(tmp_path / "c.npz")
    with pytest.raises(ArgumentError, match="there is no checkpoint"):
        make(8).load(tmp_path / "none.npz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tables": explorers.uniform(2)}, "a list of explorers"),
        ({"seeds": 3}, "a list of seeds"),
        ({"seeds": [True]}, "seeds as whole numbers"),
        ({"settings": 300}, "expected Settings"),
        ({"network": "mlp"}, "expected a Network"),
        ({"world": Windy}, "expected a world"),
        ({"world": easee.envs.Catcher()}, "expected a world"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(change, message):
    given = {
        "world": Windy(),
        "tables": [explorers.uniform(2)],
        "seeds": jnp.arange(1),
        "settings": Settings(20),
        "network": networks.MLP,
    }
    Population(**given)
    with pytest.raises((ArgumentError, ArgumentTypeError), match=message):
        Population(**(given | change))


def test_a_truth_is_no_rate_and_a_whole_number_is():
    with pytest.raises(ArgumentError, match="learning_rate"):
        Settings(10, learning_rate=True)
    assert Settings(10, learning_rate=np.int64(1)).learning_rate == 1.0
