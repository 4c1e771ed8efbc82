from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import easee
from easee import ArgumentError, Explorer, PolicyFileError, PriorError, priors, read_policy
from easee.agents.population import Population, Settings
from easee.agents.q_learning import learn
from easee.agents.sb3 import DQN, PPO
from easee.envs import RotationGrid
from easee.envs.jax import GoalGrid
from easee.errors import ArgumentTypeError
from easee.explorers.jax import from_policy

PRIOR = "actions: forward left right\nleft right ~\nright left ~\n"


def assert_same(first, second):
    np.testing.assert_array_equal(first.probabilities, second.probabilities)
    assert first.graph.actions == second.graph.actions


def test_ready_made_priors():
    assert_same(read_policy("doorkey:4"), easee.compile(priors.get("doorkey"), 4))


def test_files(tmp_path):
    file = tmp_path / "own:prior.txt"  # the last colon separates the depth
    file.write_text(PRIOR)
    policy = easee.compile(easee.Equivalences.parse(PRIOR), 5)
    assert_same(read_policy(f"{file}:5"), policy)
    policy.save(tmp_path / "policy.npz")
    assert_same(read_policy(tmp_path / "policy.npz"), policy)
    file.write_text("actions: a b\n")  # files are read each time
    assert read_policy(f"{file}:5").graph.actions == ("a", "b")


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("doorkey", ArgumentError, "found 'doorkey': add a depth, e.g. 'doorkey:6'"),
        ("dorkey", ArgumentError, "did you mean 'doorkey'"),
        ("dorkey:6", PriorError, "did you mean 'doorkey'"),
        ("doorkey:six", ArgumentError, "whose depth is not a number"),
        ("doorkey:-1", ArgumentError, "whose depth is not a number"),
        ("doorkey:0", ArgumentError, "depth"),
        ("missing.txt:6", PriorError, "missing.txt"),
        ("missing.npz", PolicyFileError, "missing.npz"),
    ],
)
def test_other_texts_are_rejected(text, error, message):
    with pytest.raises(error, match=message):
        read_policy(text)


@pytest.mark.parametrize("policy", [5, None, b"doorkey:6", priors.get("doorkey")])
def test_other_types_are_rejected(policy):
    with pytest.raises(ArgumentTypeError, match=f"'doorkey:6', found .* {type(policy).__name__}"):
        read_policy(policy)


@pytest.mark.slow
def test_texts_stand_for_policies_in_agents():
    text, policy = "rotation-grid:6", read_policy("rotation-grid:6")
    explorers: list[Any] = [
        Explorer(text),
        DQN("MlpPolicy", RotationGrid(5), explorer=text).explorer,
        PPO("MlpPolicy", RotationGrid(5), reference=text, n_steps=8, batch_size=8).explorer,
    ]
    env = gym.wrappers.TimeLimit(RotationGrid(5), 10)
    lengths = [learn(env, explorer, episodes=3, seed=1).lengths for explorer in (text, policy)]
    np.testing.assert_array_equal(*lengths)
    for explorer in explorers:
        assert_same(explorer.policy, policy)
    expected = from_policy(policy).cumulative
    np.testing.assert_array_equal(from_policy(text).cumulative, expected)
    population = Population(GoalGrid(7), [text], [0], Settings(100))
    np.testing.assert_array_equal(population.tables.cumulative[0], expected)
    with pytest.raises(ArgumentError, match="actions do not fit"):
        DQN("MlpPolicy", RotationGrid(5), explorer="doorkey:4")
