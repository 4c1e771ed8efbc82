from copy import deepcopy

import gymnasium as gym
import jax
import numpy as np
import pytest
import sbx
from stable_baselines3.common.vec_env import DummyVecEnv

from easee import ArgumentTypeError
from easee.agents.sb3 import ReferenceMixin
from easee.agents.sbx import DQN
from easee.envs import RotationGrid
from tests.agents.sb3.models import TURNING, Record, assert_followed, rotation, small

pytestmark = pytest.mark.slow


class Masked(RotationGrid):
    """A grid that does not allow `forward` in every second column."""

    def action_masks(self):
        return np.array([self.state[0] % 2 == 0, True, True])


def masked_grids():
    return DummyVecEnv([lambda: gym.wrappers.TimeLimit(Masked(7), 25)] * 3)


def model(explorer=None, kind=DQN):
    return small(masked_grids(), explorer, kind=kind, target_update_interval=60)


def assert_same_runs(first, second):
    """Assert equal networks, target networks and replay buffers."""
    for name in ("params", "target_params"):
        leaves = (jax.tree.leaves(getattr(run.policy.qf_state, name)) for run in (first, second))
        for a, b in zip(*leaves, strict=True):
            np.testing.assert_array_equal(a, b)
    for name in ("observations", "actions", "rewards", "dones"):
        arrays = (getattr(run.replay_buffer, name) for run in (first, second))
        np.testing.assert_array_equal(*arrays)


def test_without_explorer_it_is_identical_to_sbx():
    assert_same_runs(*(model(kind=kind).learn(300) for kind in (DQN, sbx.DQN)))


def test_a_saved_model_follows_nodes_and_resumes_exactly(tmp_path):
    record = Record()
    whole = model(TURNING).learn(300, callback=record)
    assert_followed(whole, record, TURNING.graph)
    explored = np.array(record.explored)
    assert explored[:16].all()  # the warm-up of 50 steps
    assert 0.05 < explored[20:].mean() < 0.9
    buffer = whole.replay_buffer
    columns, actions = buffer.observations[:100, :, 0], buffer.actions[:100, :, 0]
    assert not ((actions == 0) & (columns % 2 == 1) & explored).any()
    assert ((actions == 0) & explored).any()

    whole.save(tmp_path / "model")
    whole.save_replay_buffer(tmp_path / "buffer")
    env = deepcopy(whole.get_env())
    whole.learn(300, reset_num_timesteps=False)
    resumed = DQN.load(tmp_path / "model", env=env, force_reset=False)
    resumed.load_replay_buffer(tmp_path / "buffer")
    resumed.learn(300, reset_num_timesteps=False)
    assert_same_runs(resumed, whole)
    np.testing.assert_equal(resumed.explorer.state_dict(), whole.explorer.state_dict())


def test_a_reference_requires_a_policy_made_with_pytorch():
    class PPO(ReferenceMixin, sbx.PPO):
        pass

    with pytest.raises(ArgumentTypeError, match="ReferenceObservation"):
        PPO("MlpPolicy", rotation(), reference=TURNING, n_steps=64)
