import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecMonitor

import easee
from easee.envs import CardinalGrid, Catcher, FlatActions
from tests.agents.sb3.models import (
    MOVING,
    STRAIGHT,
    TURNING,
    Alternating,
    Line,
    Record,
    Reordered,
    assert_followed,
    lines,
    rotation,
    small,
)


class Steered(Line):
    """A line with two factors of actions."""

    action_space = spaces.MultiDiscrete([3, 2])

    def step(self, action):
        assert np.shape(action) == (2,)
        return super().step(action[0] > 0)


def cart_pole():
    return gym.make("CartPole-v1")


def test_the_number_of_actions_may_be_a_numpy_integer():
    explorer = Alternating(np.int64(2))
    assert small(lines(7, 8), explorer).learn(20).explorer is explorer


def test_environments_may_run_in_other_processes():
    policy = easee.compile(easee.priors.catcher(), 6)
    env = SubprocVecEnv([Catcher] * 2)
    try:
        model = small(env, policy, buffer_size=100)
        record = Record()
        model.learn(80, callback=record)
    finally:
        env.close()
    assert_followed(model, record, policy.graph)


def test_environments_in_other_processes_may_be_wrapped_and_without_action_names():
    env = VecMonitor(SubprocVecEnv([cart_pole] * 2))
    try:
        model = small(env, easee.UniformExplorer(2, 2, seed=0)).learn(80)
    finally:
        env.close()
    assert model.num_timesteps == 80


def test_another_number_of_actions_shows_both_lists():
    with pytest.raises(easee.ArgumentError) as error:
        small(CardinalGrid(), TURNING)
    assert "3 (forward, left, right)" in str(error.value)
    assert "4 (right, left, up, down)" in str(error.value)
    with pytest.raises(easee.ArgumentError, match=r"3 \(0, 1, 2\).*2 \(0, 1\)"):
        small(Line(), easee.UniformExplorer(3))


def test_the_same_names_in_another_order_show_both_lists():
    with pytest.raises(easee.ArgumentError) as error:
        small(Reordered(), MOVING)
    assert "right, left, up, down" in str(error.value)
    assert "Equivalences(['up', 'down', 'left', 'right'], ...)" in str(error.value)


def test_names_may_differ_in_case():
    policy = easee.compile(easee.Equivalences(["RIGHT", "LEFT", "up", "down"]), 2)
    assert small(CardinalGrid(), policy).explorer.policy is policy


@pytest.mark.parametrize("kind", [DummyVecEnv, SubprocVecEnv])
def test_other_names_are_refused_unless_they_are_given(kind):
    envs = kind([cart_pole])
    policy = easee.compile(easee.Equivalences(["west", "east"], ["west east ~"]), 2)
    with pytest.raises(easee.ArgumentError, match="has west, east, the environment left, right"):
        small(envs, policy)
    assert small(envs, policy, names=["west", "east"]).explorer.policy is policy
    envs.close()


def test_actions_without_names_are_taken_in_order(caplog):
    small(Line(), STRAIGHT)
    assert "the explorer's are taken in order: left=0, right=1" in caplog.text


def test_continuous_actions_are_rejected():
    class Continuous(Line):
        action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    with pytest.raises(TypeError, match="Discrete actions, found Box.*discretise"):
        small(Continuous(), STRAIGHT)


@pytest.mark.parametrize("wrap", [lambda env: env, lambda env: DummyVecEnv([lambda: env])])
def test_multi_discrete_actions_are_rejected_with_a_hint_at_flat_actions(wrap):
    with pytest.raises(TypeError, match=r"found MultiDiscrete.*easee.envs.FlatActions\(env\)"):
        small(wrap(Steered()), STRAIGHT)


def test_training_works_with_flat_actions():
    env = FlatActions(Steered(), [["left", "straight", "right"], ["coast", "gas"]])
    omega = easee.Equivalences(env.action_names, [easee.commute("left+gas", "right+gas")])
    model = small(env, easee.compile(omega, 3))
    record = Record()
    model.learn(200, callback=record)
    assert_followed(model, record, model.explorer.policy.graph)
    assert len(np.unique(record.actions)) == 6


def test_an_explorer_for_another_number_of_environments_is_rejected():
    with pytest.raises(easee.ArgumentError, match="for 2 environments, found 3: pass the policy"):
        small(rotation(3), easee.Explorer(TURNING, 2))
    model = small(rotation(3))
    with pytest.raises(easee.ArgumentError, match="for 1 environments, found 3"):
        model.explorer = easee.UniformExplorer(3)


def test_other_objects_are_rejected():
    with pytest.raises(TypeError, match="found int, which has no sample, choose"):
        small(rotation(), 3)


def test_a_prior_is_rejected_with_a_hint_at_compile():
    with pytest.raises(TypeError, match=r"found Equivalences: compile .*easee.compile\(omega, dep"):
        small(rotation(), easee.priors.get("rotation-grid"))
