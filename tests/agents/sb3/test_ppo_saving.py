import numpy as np
import pytest
import stable_baselines3
import torch
from stable_baselines3.common.vec_env import DummyVecEnv

import easee
from easee.agents.sb3 import PPO
from easee.envs import CardinalGrid
from tests.agents.sb3.models import (
    COMMUTING,
    MOVING,
    STRAIGHT,
    TURNING,
    Record,
    Reordered,
    assert_followed,
    lines,
    rotation,
)
from tests.agents.sb3.on_policy import KINDS, gradient, masked, same_parameters


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_envs", [1, 3])
def test_a_loaded_model_resumes_exactly(tmp_path, kind, n_envs):
    whole = gradient(masked(*[11] * n_envs), TURNING, kind=kind).learn(64 * n_envs)
    whole.learn(64 * n_envs, reset_num_timesteps=False)
    first = gradient(masked(*[11] * n_envs), TURNING, kind=kind).learn(64 * n_envs)
    first.save(tmp_path / "model")
    torch.rand(3), np.random.rand(3)  # other code draws from the global generators meanwhile
    resumed = kind.load(tmp_path / "model", env=first.get_env(), force_reset=False)
    assert resumed.explorer.nodes.any()
    resumed.learn(64 * n_envs, reset_num_timesteps=False)
    assert same_parameters(resumed, whole)
    np.testing.assert_equal(resumed.explorer.state_dict(), whole.explorer.state_dict())


def save(tmp_path, env, reference=STRAIGHT, **options):
    gradient(env, reference, **options).learn(32).save(tmp_path / "model")
    return tmp_path / "model"


def test_a_model_loaded_into_reset_environments_starts_at_the_empty_word(tmp_path):
    path = save(tmp_path, lines(30, 31))
    model = PPO.load(path, env=lines(30, 31))
    record = Record()
    model.learn(32, callback=record, reset_num_timesteps=False)
    assert_followed(model, record, STRAIGHT.graph)


def test_settings_are_saved(tmp_path):
    model = gradient(rotation(2), TURNING, reference_floor=0.4, reference_strength=0.5).learn(32)
    model.predict_with_reference = True
    model.save(tmp_path / "model")
    loaded = PPO.load(tmp_path / "model", env=rotation(2))
    assert (loaded.reference_floor, loaded.reference_strength) == (0.4, 0.5)
    assert loaded.predict_with_reference
    np.testing.assert_array_equal(loaded.reference.probabilities, TURNING.probabilities)
    np.testing.assert_array_equal(loaded.explorer.probabilities(), model.explorer.probabilities())


def test_another_number_of_environments_requires_the_reference(tmp_path):
    path = save(tmp_path, lines(8, 9))
    with pytest.raises(easee.ArgumentError, match="for 2 environments, found 3: .*reference=POL"):
        PPO.load(path, env=lines(8, 8, 8))
    model = PPO.load(path, env=lines(8, 8, 8), reference=STRAIGHT)
    record = Record()
    model.learn(48, callback=record)
    assert_followed(model, record, STRAIGHT.graph)


def test_load_rejects_another_reference_or_floor(tmp_path):
    path = save(tmp_path, lines(8, 9))
    for reference in (COMMUTING, easee.compile(easee.inverse("left", "right"), 5)):
        with pytest.raises(easee.ArgumentError, match="another prior or depth .*model.reference"):
            PPO.load(path, env=lines(8, 9), reference=reference)
    with pytest.raises(easee.ArgumentError, match="its own reference_floor: set"):
        PPO.load(path, env=lines(8, 9), reference_floor=0.3)
    model = PPO.load(path, env=lines(8, 9))
    model.reference = COMMUTING
    assert model.learn(32).reference is COMMUTING


def test_load_and_set_env_check_the_order_of_action_names(tmp_path):
    path = save(tmp_path, DummyVecEnv([CardinalGrid]), MOVING)
    with pytest.raises(easee.ArgumentError, match="order"):
        PPO.load(path, env=DummyVecEnv([Reordered]))
    with pytest.raises(easee.ArgumentError, match="order"):
        PPO.load(path, env=DummyVecEnv([CardinalGrid])).set_env(Reordered())


def test_set_env_starts_at_the_empty_word():
    model = gradient(lines(30, 31), COMMUTING).learn(32)
    model.set_env(lines(30, 31))
    record = Record()
    model.learn(32, callback=record, reset_num_timesteps=False)
    assert_followed(model, record, COMMUTING.graph)


def test_a_model_loaded_without_environments_predicts_the_same(tmp_path):
    path = save(tmp_path, lines(8, 9))
    models = PPO.load(path, env=lines(8, 9)), PPO.load(path)
    observation = np.array([[position, 2] for position in range(-3, 4)], np.float32)
    for with_reference in (False, True):
        for model in models:
            model.predict_with_reference = with_reference
        first, second = (m.predict(observation, deterministic=True)[0] for m in models)
        np.testing.assert_array_equal(first, second)


def test_a_stable_baselines3_model_can_be_loaded_and_given_a_reference(tmp_path):
    gradient(rotation(2), kind=stable_baselines3.PPO).learn(32).save(tmp_path / "theirs")
    assert PPO.load(tmp_path / "theirs", rotation(2)).learn(32).reference is None
    model = PPO.load(tmp_path / "theirs", rotation(2), reference=TURNING)
    record = Record()
    model.learn(32, callback=record)
    assert_followed(model, record, TURNING.graph)
