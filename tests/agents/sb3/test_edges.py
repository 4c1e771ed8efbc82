"""Environments with wrong reports of executed actions, with masks, or with continuous actions."""

from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv

import easee
from easee.agents.reference import ReferenceObservation, VectorReferenceObservation
from easee.agents.sb3 import DQN, PPO
from tests.agents.sb3.models import COMMUTING, Line, Record, always, assert_followed, small


class Reporting(gym.Wrapper):
    """Reports a fixed value as the executed action."""

    def __init__(self, env, value):
        super().__init__(env)
        self.value = value

    def step(self, action):
        *result, info = self.env.step(action)
        return *result, info | {"executed_action": self.value}


class Masked(gym.Wrapper):
    """Allows one of two actions, which alternate."""

    def __init__(self, env, mask=None):
        super().__init__(env)
        self.mask, self.time = mask, 0
        self.broken = 0

    def action_masks(self):
        if self.mask is not None:
            return self.mask
        return (np.arange(2) + self.time) % 2 == 0

    def step(self, action):
        self.broken += not self.action_masks()[action]
        self.time += 1
        return self.env.step(action)


NONSENSE = [None, "left", 1.7, float("nan"), -1, 99, True, [0, 1], np.array([0.5])]


@pytest.mark.parametrize("value", NONSENSE, ids=repr)
def test_executed_actions_that_are_none_are_rejected(value):
    env = DummyVecEnv([lambda: Line(7), lambda: Reporting(Line(7), value)])
    model = small(env, COMMUTING, learning_starts=100)
    with pytest.raises(easee.ArgumentError, match=r"executed_action.*environment 1: report the"):
        model.learn(10)
    assert not model.explorer.nodes.any()  # environment 0 has not moved either
    wrapped = ReferenceObservation(Reporting(Line(7), value), COMMUTING)
    wrapped.reset()
    with pytest.raises(easee.ArgumentError, match="executed_action"):
        wrapped.step(0)


def test_executed_actions_are_checked_in_ppo_and_in_vector_environments():
    env = DummyVecEnv([lambda: Reporting(Line(7), None)])
    with pytest.raises(easee.ArgumentError, match="executed_action"):
        PPO("MlpPolicy", env, reference=COMMUTING, n_steps=8, batch_size=8).learn(8)
    envs = gym.vector.SyncVectorEnv([lambda: Line(7), lambda: Reporting(Line(7), 1.7)])
    wrapped = VectorReferenceObservation(envs, COMMUTING)
    wrapped.reset()
    with pytest.raises(easee.ArgumentError, match=r"found .*1\.7.* in environment 1"):
        wrapped.step(np.array([0, 0]))


@pytest.mark.parametrize("value", [1, np.int64(1), np.array(1), np.uint8(1)])
def test_executed_actions_may_be_integers_of_numpy(value):
    model = small(DummyVecEnv([lambda: Reporting(Line(7), value)]), COMMUTING)
    record = Record()
    model.learn(20, callback=record)
    assert np.all(np.array(record.actions) == 1)
    assert_followed(model, record, COMMUTING.graph)


@pytest.mark.parametrize("named", [True, False])
def test_continuous_actions_are_rejected(named):
    env = "Pendulum-v1" if named else gym.make("Pendulum-v1")
    for make in (
        lambda: DQN("MlpPolicy", env, explorer=COMMUTING),
        lambda: PPO("MlpPolicy", env, reference=COMMUTING),
    ):
        with pytest.raises(easee.ArgumentError, match="Discrete actions.*discretise them first"):
            make()


@pytest.mark.parametrize("options", [{"learning_starts": 10**6}, always(1.0)])
def test_exploratory_actions_obey_action_masks(options):
    env = DummyVecEnv([lambda: Masked(Line(7)), lambda: Masked(Line(9))])
    model = small(env, COMMUTING, **options)
    record = Record()
    model.learn(100, callback=record)
    greedy = np.logical_not(record.explored).sum(axis=0)  # the first actions are
    assert greedy.max() <= 1 and np.all(env.get_attr("broken") <= greedy)
    assert_followed(model, record, COMMUTING.graph)


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        ([np.zeros(2, bool), np.ones(2, bool)], "environment 0 allows no action"),
        ([np.ones(3, bool), np.ones(4, bool)], "one shape in all environments"),
        ([np.ones(3, bool), np.ones(3, bool)], "expected a mask of shape"),
        (["left", "left"], "expected a mask of booleans"),
    ],
)
def test_invalid_action_masks_are_rejected(masks, message):
    env = DummyVecEnv([partial(Masked, Line(7), mask) for mask in masks])
    with pytest.raises(easee.ArgumentError, match=message):
        small(env, COMMUTING, learning_starts=100).learn(10)
