import subprocess
import sys

import numpy as np
import pytest
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecNormalize

import easee
from easee.agents.sb3 import MaskablePPO
from tests.agents.sb3.models import TURNING, Record, assert_followed, rotation
from tests.agents.sb3.on_policy import MaskedGrid, gradient, masked, silence
from tests.agents.sb3.test_ppo import KeepRollouts


class KeepMasks(KeepRollouts):
    def _on_rollout_end(self):
        super()._on_rollout_end()
        self.rollouts[-1]["action_masks"] = self.locals["self"].rollout_buffer.action_masks.copy()


def test_the_reference_is_restricted_to_the_mask():
    env = masked(12, 9)
    model = gradient(env, TURNING, kind=MaskablePPO)
    keep, record = KeepMasks(), Record()
    model.learn(64, callback=[keep, record])
    assert_followed(model, record, TURNING.graph)
    assert env.get_attr("violations") == [0, 0]
    table = easee.Explorer(TURNING, floor=0.1).table.probabilities
    nodes = np.array(record.nodes).reshape(2, 16, 2)
    for rollout, row in zip(keep.rollouts, nodes, strict=True):
        mask = rollout["action_masks"] == 1
        expected = np.where(mask, table[row], 0)
        expected /= expected.sum(axis=2, keepdims=True)
        found = np.where(mask, np.exp(rollout["reference_rows"]), 0)
        np.testing.assert_allclose(found, expected, atol=1e-6)
        assert not mask.all()


def test_training_works_without_masks_and_in_normalised_environments():
    model = gradient(VecNormalize(masked(12, 9), norm_obs=False), TURNING, kind=MaskablePPO)
    record = Record()
    model.learn(64, callback=record)
    assert_followed(model, record, TURNING.graph)
    model = gradient(rotation(2), TURNING, kind=MaskablePPO)
    model.learn(32, use_masking=False)


def test_floor_0_is_an_error_only_where_the_mask_leaves_nothing_possible():
    gradient(masked(12, 9), TURNING, kind=MaskablePPO, reference_floor=0.0, seed=1)
    model = gradient(masked(12, 9, allowed=[2]), TURNING, kind=MaskablePPO, reference_floor=0.0)
    with pytest.raises(easee.ArgumentError, match=r"allows only \[2\].*positive reference_floor"):
        model.learn(1000)
    gradient(masked(12, 9, allowed=[2]), TURNING, kind=MaskablePPO).learn(64)


def test_evaluation_obeys_masks_and_carries_the_nodes():
    model = silence(gradient(masked(12, 9), TURNING, kind=MaskablePPO))
    model.predict_with_reference = True
    env = MaskedGrid()
    evaluate_policy(model, Monitor(env), 3, deterministic=False)
    assert env.time == 0 and env.violations == 0
    callback = MaskableEvalCallback(Monitor(MaskedGrid()), n_eval_episodes=1, eval_freq=10)
    model.learn(32, callback=callback)


@pytest.mark.slow
def test_a_missing_package_names_the_command_that_installs_it():
    code = "import sys; sys.modules['sb3_contrib'] = None; from easee.agents.sb3 import MaskablePPO"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install '.[sb3-contrib]'" in process.stderr
    assert "MissingExtraError" in process.stderr
