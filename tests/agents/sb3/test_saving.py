import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env import DummyVecEnv

import easee
from easee.agents.sb3 import DQN
from easee.envs import CardinalGrid
from tests.agents.sb3.models import (
    COMMUTING,
    MOVING,
    QRDQN,
    STRAIGHT,
    TURNING,
    Alternating,
    Line,
    Record,
    Reordered,
    assert_followed,
    assert_same_runs,
    lines,
    rotation,
    small,
)


def save(tmp_path, env, explorer, steps=40):
    small(env, explorer).learn(steps).save(tmp_path / "model")
    return tmp_path / "model"


def interrupted(tmp_path, kind, n_envs):
    model = small(rotation(n_envs), TURNING, kind=kind).learn(n_envs * 300)
    model.save(tmp_path / "model")
    model.save_replay_buffer(tmp_path / "buffer")
    torch.rand(3), np.random.rand(3)  # other code draws from the global generators meanwhile
    model = kind.load(tmp_path / "model", env=model.get_env(), force_reset=False)
    model.load_replay_buffer(tmp_path / "buffer")
    return model.learn(n_envs * 300, reset_num_timesteps=False)


def uninterrupted(kind, n_envs):
    model = small(rotation(n_envs), TURNING, kind=kind).learn(n_envs * 300)
    return model.learn(n_envs * 300, reset_num_timesteps=False)


@pytest.mark.parametrize(
    ("kind", "n_envs"),
    [
        (DQN, 1),
        pytest.param(DQN, 3, marks=pytest.mark.slow),
        pytest.param(DQN, 20, marks=pytest.mark.slow),
        (QRDQN, 1),
    ],
)
def test_a_loaded_model_resumes_exactly(tmp_path, kind, n_envs):
    resumed, whole = interrupted(tmp_path, kind, n_envs), uninterrupted(kind, n_envs)
    assert_same_runs(resumed, whole)
    np.testing.assert_equal(resumed.explorer.state_dict(), whole.explorer.state_dict())


def test_a_model_loaded_into_reset_environments_starts_at_the_empty_word(tmp_path):
    model = small(lines(8, 9), STRAIGHT).learn(2 * 13)
    assert model.explorer.nodes.any()
    model.save(tmp_path / "model")
    model = DQN.load(tmp_path / "model", env=lines(8, 9))
    record = Record()
    model.learn(40, callback=record, reset_num_timesteps=False)
    assert_followed(model, record, STRAIGHT.graph)


def test_an_explorer_passed_to_load_resumes_from_the_saved_state(tmp_path):
    path = save(tmp_path, lines(8, 9), STRAIGHT)
    saved = DQN.load(path, env=lines(8, 9)).explorer
    passed = DQN.load(path, env=lines(8, 9), explorer=STRAIGHT).explorer
    assert passed.policy is STRAIGHT
    np.testing.assert_equal(passed.state_dict(), saved.state_dict())


def test_another_number_of_environments_requires_a_policy(tmp_path):
    path = save(tmp_path, lines(8, 9), STRAIGHT)
    with pytest.raises(easee.ArgumentError, match="for 2 environments, found 3: .*explorer=POLICY"):
        DQN.load(path, env=lines(8, 8, 8))
    model = DQN.load(path, env=lines(8, 8, 8), explorer=STRAIGHT)
    record = Record()
    model.learn(60, callback=record)
    assert_followed(model, record, STRAIGHT.graph)
    with pytest.raises(easee.ArgumentError, match="for 3 environments, found 1: "):
        model.set_env(Line())


def test_load_rejects_an_explorer_of_another_prior_or_depth(tmp_path):
    path = save(tmp_path, lines(8), STRAIGHT)
    for explorer in (COMMUTING, easee.compile(easee.inverse("left", "right"), 5)):
        with pytest.raises(easee.ArgumentError, match="another prior or depth .*model.explorer"):
            DQN.load(path, env=lines(8), explorer=explorer)
    model = DQN.load(path, env=lines(8))
    model.explorer = COMMUTING
    assert model.learn(20).explorer.policy is COMMUTING


def test_load_and_set_env_check_the_order_of_action_names(tmp_path):
    path = save(tmp_path, DummyVecEnv([CardinalGrid]), MOVING)
    with pytest.raises(easee.ArgumentError, match="order"):
        DQN.load(path, env=DummyVecEnv([Reordered]))
    with pytest.raises(easee.ArgumentError, match="order"):
        DQN.load(path, env=DummyVecEnv([CardinalGrid])).set_env(Reordered())


def test_a_model_loaded_without_environments_predicts_the_same(tmp_path):
    path = save(tmp_path, lines(8), STRAIGHT, steps=120)
    with_env, without_env = DQN.load(path, env=lines(8)), DQN.load(path)
    for position in range(-3, 4):
        observation = np.array([position, 2], np.float32)
        actions = [m.predict(observation, deterministic=True)[0] for m in (with_env, without_env)]
        assert actions[0] == actions[1]


def test_a_model_with_another_class_of_explorer_can_be_saved_and_loaded(tmp_path):
    path = save(tmp_path, lines(7, 8), Alternating())
    assert isinstance(DQN.load(path, env=lines(7, 8)).learn(20).explorer, Alternating)


def test_an_explorer_without_a_state_dict_can_be_replaced_when_loading(tmp_path):
    path = save(tmp_path, lines(7, 8), Alternating())
    explorer = Alternating()
    assert DQN.load(path, env=lines(7, 8), explorer=explorer).explorer is explorer
