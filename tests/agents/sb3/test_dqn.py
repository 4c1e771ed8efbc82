import inspect

import gymnasium as gym
import pytest
import sb3_contrib
import stable_baselines3

from easee.agents.sb3 import DQN
from easee.envs import Catcher
from tests.agents.sb3.models import (
    QRDQN,
    TURNING,
    Record,
    assert_followed,
    assert_same_runs,
    rotation,
    small,
)


@pytest.mark.parametrize("make", [lambda: Catcher(9, 6), lambda: gym.make("CartPole-v1")])
def test_dqn_without_explorer_is_identical_to_stable_baselines3(make):
    ours = small(make(), kind=DQN).learn(400)
    theirs = small(make(), kind=stable_baselines3.DQN).learn(400)
    assert_same_runs(ours, theirs)
    assert ours.explorer is None


def test_qrdqn_without_explorer_is_identical_to_sb3_contrib():
    kinds = (QRDQN, sb3_contrib.QRDQN)
    ours, theirs = (small(rotation(), kind=kind).learn(200) for kind in kinds)
    assert_same_runs(ours, theirs)


def test_qrdqn_explores_with_the_mixin():
    model = small(rotation(3), TURNING, kind=QRDQN)
    record = Record()
    model.learn(300, callback=record)
    assert_followed(model, record, TURNING.graph)


def test_signature_is_the_algorithm_s_and_explorer():
    for ours, theirs in ((DQN, stable_baselines3.DQN), (QRDQN, sb3_contrib.QRDQN)):
        known = inspect.signature(theirs).parameters
        *others, explorer, names = inspect.signature(ours).parameters.values()
        assert others == list(known.values())
        assert explorer.name == "explorer" and explorer.default is None
        assert names.name == "names" and names.default is None


def test_signature_of_a_subclass_shows_its_own_arguments():
    class Curious(DQN):
        def __init__(self, *args, curiosity=1.0, **kwargs):
            super().__init__(*args, **kwargs)

    class Derived(Curious):
        pass

    for kind in (Curious, Derived):
        assert list(inspect.signature(kind).parameters) == ["args", "curiosity", "kwargs"]


def test_a_stable_baselines3_model_can_be_loaded_and_given_an_explorer(tmp_path):
    env = rotation()
    small(env, kind=stable_baselines3.DQN).learn(60).save(tmp_path / "theirs")
    assert DQN.load(tmp_path / "theirs", env).explorer is None
    model = DQN.load(tmp_path / "theirs", env, explorer=TURNING)
    record = Record()
    model.learn(60, callback=record)
    assert_followed(model, record, TURNING.graph)
