from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import easee
from easee import ArgumentError, priors
from easee.agents.population import Population, Settings, networks
from easee.agents.population.networks import Network
from easee.envs.jax import Catcher, DoorKey, World
from easee.explorers import jax as explorers
from tests.agents.population.populations import SMALL, assert_same, small


class DriftState(NamedTuple):
    position: Any
    key: Any


@dataclass(frozen=True)
class Windy(World):
    """A random world, with a key in its state, whose episodes are truncated but never terminate."""

    n_actions: ClassVar[int] = 2
    action_names: ClassVar[tuple[str, ...]] = ("left", "right")
    observation_shape: ClassVar[tuple[int, ...]] = (1,)

    def reset(self, key):
        return DriftState(jnp.zeros((), jnp.int32), key)

    def restart(self, state, key):
        return self.reset(key)

    def step(self, state, action):
        key, wind = jax.random.split(state.key)
        position = state.position + jnp.where(jax.random.bernoulli(wind), action, 1)
        return DriftState(position, key), 1.0, False, position >= 5

    def observe(self, state):
        return state.position[None].astype(jnp.float32)


@pytest.mark.slow
def test_training_in_pieces_gives_the_same_runs():
    whole, pieces = small(), small()
    whole.advance()
    while not pieces.finished:
        pieces.advance(36)
    assert_same(whole.runs, pieces.runs)
    assert whole.steps == whole.total == 400


@pytest.mark.slow
def test_a_run_does_not_depend_on_the_others():
    six, two = small(6).advance(), small(2, seeds=[0, 1]).advance()
    np.testing.assert_array_equal(six.sums[:2], two.sums)
    assert not np.array_equal(six.sums[0], six.sums[3])  # the same explorer with another seed


@pytest.mark.slow
def test_a_random_world_resumes_exactly(tmp_path):
    settings = Settings(60, buffer_size=20, learning_starts=8)
    whole, interrupted, resumed = (
        Population(Windy(), [explorers.uniform(2)], [0], settings, bins=2) for _ in range(3)
    )
    interrupted.advance(28)
    interrupted.save(tmp_path / "c.npz")
    resumed.load(tmp_path / "c.npz")
    np.testing.assert_array_equal(resumed.advance().sums, whole.advance().sums)


def test_curves_count_every_episode():
    curves = small().advance()
    assert (curves.counts.sum(axis=1) == 100).all()  # of 4 steps each
    steps, means = zip(*curves.points(0), strict=True)
    assert steps == tuple(range(40, 401, 40)) and all(-1 <= mean <= 1 for mean in means)
    assert curves.sums[0].sum() == pytest.approx(10 * sum(means))


@pytest.mark.slow
def test_every_explorer_learns_catcher():
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


@pytest.mark.slow
def test_terminated_episodes_are_stored_as_done():
    population = small(2, Settings(40, buffer_size=40, learning_starts=40), Catcher(8, 4))
    population.advance()
    dones = np.asarray(population.runs.replay.dones[0])
    np.testing.assert_array_equal(dones.nonzero()[0], np.arange(3, 40, 4))


class UnpackedDoorKey(DoorKey):
    """DoorKey with whole states in the replay buffer."""

    def pack(self, state):
        return state

    def unpack(self, packed):
        return super().unpack(super().pack(packed))


@pytest.mark.slow
def test_truncated_episodes_are_not_stored_as_done():
    policy = easee.compile(priors.get("doorkey"), depth=3)
    settings = Settings(20, buffer_size=20, learning_starts=20)
    population = Population(UnpackedDoorKey(max_steps=5), [policy], [0], settings)
    population.advance()
    replay = population.runs.replay
    assert not replay.dones.any()
    # The first state of the next episode is not stored as a successor of the last.
    assert (replay.before.steps[0] == jnp.tile(jnp.arange(5), 4)).all()
    assert (replay.after.steps[0] == jnp.tile(jnp.arange(1, 6), 4)).all()


@pytest.mark.slow
def test_a_policy_gives_the_same_results_as_its_tables():
    policy = easee.compile(priors.get("catcher"), depth=4)
    curves = [
        Population(Catcher(8, 4), [explorer], [1], SMALL, bins=10).advance()
        for explorer in (policy, explorers.from_policy(policy))
    ]
    assert_same(*curves)


def test_a_policy_keeps_its_floors():
    policy = easee.compile(easee.Equivalences(["left", "right"], ["right ~ @ 0.1"]), depth=4)
    population = Population(Catcher(8, 4), [policy, explorers.uniform(2)], [1, 2], SMALL, bins=10)
    cumulative = np.asarray(population.tables.cumulative)
    np.testing.assert_allclose(cumulative[:, 0], [[0.85, 1.0], [0.5, 1.0]], rtol=1e-6)


# --- invalid arguments ---------------------------------------------------------------------------


def test_explorers_must_fit_the_actions():
    with pytest.raises(ArgumentError, match=r"has 3 \(0, 1, 2\), the environment 2 \(left, right"):
        Population(Catcher(), [explorers.uniform(3)], [0], SMALL)
    with pytest.raises(ArgumentError, match="found 1 explorers and 2 seeds"):
        Population(Catcher(), [explorers.uniform(2)], [0, 1], SMALL)
    policy = easee.compile(easee.inverse("right", "left"), depth=2)
    with pytest.raises(ArgumentError, match="not in the environment's order"):
        Population(Catcher(), [policy], [0], SMALL)


@pytest.mark.parametrize("seed", [-1, 2**31, 0.5, "a", True])
def test_invalid_seeds_are_rejected(seed):
    with pytest.raises(ArgumentError, match="seeds? "):
        Population(Catcher(), [explorers.uniform(2)], [seed], SMALL)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tables": explorers.uniform(2)}, "a list of explorers"),
        ({"tables": [easee.UniformExplorer(2)]}, "as Tables"),
        ({"tables": [easee.inverse("left", "right")]}, r"easee.compile\(omega, depth=6\)"),
        ({"seeds": 3}, "a list of seeds"),
        ({"settings": 300}, "expected Settings"),
        ({"network": "mlp"}, "expected a Network"),
        ({"network": Network(convolutions=[])}, "a Network that is hashable"),
        ({"world": Windy}, "expected a world"),
        ({"world": easee.envs.Catcher()}, "expected a world"),
        ({"bins": 10**8}, "bins are too many"),
    ],
)
def test_invalid_arguments_are_rejected(change, message):
    valid = {
        "world": Windy(),
        "tables": [explorers.uniform(2)],
        "seeds": np.arange(1),
        "settings": Settings(40),
        "network": networks.MLP,
    }
    with pytest.raises(ArgumentError, match=message):
        Population(**(valid | change))


def test_seeds_may_be_an_array():
    assert len(Population(Windy(), [explorers.uniform(2)], jnp.arange(1), Settings(20))) == 1


def test_advance_rejects_zero_steps():
    with pytest.raises(ArgumentError, match="steps of at least 1"):
        small().advance(0)
