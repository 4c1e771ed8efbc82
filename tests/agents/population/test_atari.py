import jax
import numpy as np
import pytest

import easee
from easee import ArgumentError, Explorer, UniformExplorer, ZetaExplorer, priors
from easee.agents.population import Settings
from easee.agents.population.atari import AtariPopulation
from easee.agents.population.networks import Convolution, Network

TINY = Network((Convolution(4, 8, 8), Convolution(8, 4, 3)), hidden=(16,))
SETTINGS = Settings(
    2200, buffer_size=60, learning_starts=20, target_update_interval=16, exploration_fraction=0.05
)


def freeway(groups=2):
    policy = easee.compile(priors.get("freeway"), depth=4)
    explorers = [policy, UniformExplorer(3, seed=1), ZetaExplorer(3, seed=2)]
    return AtariPopulation("freeway", explorers, [0, 1, 2], SETTINGS, TINY, bins=4, groups=groups)


@pytest.mark.slow
def test_training_learns_and_resumes_from_a_checkpoint(tmp_path):
    first = freeway()
    before = jax.tree.map(np.asarray, [group.learner.params for group in first.groups])
    first.advance(150)
    assert first.steps == 150
    after = [group.learner.params for group in first.groups]
    changes = jax.tree.map(lambda new, old: np.abs(new - old).max(), after, before)
    assert min(jax.tree.leaves(changes)) > 0
    first.save(tmp_path / "x.npz")
    second = freeway()
    second.load(tmp_path / "x.npz")
    assert second.steps == 150
    for resumed, saved in zip(second.groups, first.groups, strict=True):
        np.testing.assert_array_equal(resumed.frames, saved.frames)
        size = resumed.replay.size
        assert (resumed.replay.ages[:, 150 % size] == 0).all()
        assert (resumed.replay.dones[:, 149 % size] == 1).all()
    curves = second.advance()
    assert second.finished
    # An episode of Freeway has 2,048 steps, and a new one started after 150.
    assert (curves.counts.sum(axis=1) == 1).all() and (curves.sums >= 0).all()


@pytest.mark.slow
def test_resuming_reseeds_the_explorers(tmp_path):
    first, second = freeway(), freeway()
    first.advance(5)
    first.save(tmp_path / "x.npz")
    second.load(tmp_path / "x.npz")
    (policy_explorer, *_), *_ = (group.explorers for group in second.groups)
    expected = Explorer(policy_explorer.policy, seed=np.random.default_rng([0, 5, 1]))
    np.testing.assert_equal(policy_explorer.state_dict(), expected.state_dict())


def test_runs_must_not_share_an_explorer():
    explorer = UniformExplorer(3)
    with pytest.raises(ArgumentError, match="found one twice"):
        AtariPopulation("freeway", [explorer, explorer], [0, 1], SETTINGS, TINY)


def test_explorers_must_fit_the_game():
    policy = easee.compile(priors.get("catcher"), depth=3)
    with pytest.raises(ArgumentError, match=r"the environment 3 \(NOOP, UP, DOWN\)"):
        AtariPopulation("freeway", [policy], [0], SETTINGS, TINY)
    with pytest.raises(ArgumentError, match="for 2 environments"):
        freeway = easee.compile(priors.get("freeway"), depth=3)
        AtariPopulation("freeway", [Explorer(freeway, n_envs=2)], [0], SETTINGS, TINY)


@pytest.mark.parametrize(
    ("settings", "network", "message"),
    [
        (300, TINY, "expected Settings"),
        (SETTINGS, "cnn", "expected a Network"),
        (SETTINGS, Network(convolutions=[]), "a Network that is hashable"),
    ],
)
def test_invalid_arguments_are_rejected(settings, network, message):
    with pytest.raises(ArgumentError, match=message):
        AtariPopulation("freeway", [UniformExplorer(3)], [0], settings, network)


def test_n_step_returns_are_rejected():
    with pytest.raises(ArgumentError, match="n_steps=1 for Atari games, found 3"):
        AtariPopulation("freeway", [UniformExplorer(3)], [0], Settings(10, n_steps=3))
