import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import easee
from easee.agents.sb3 import DQN
from easee.agents.sb3.vec_env import VectorAdapter
from easee.envs import CardinalGrid

SAME_STEP = AutoresetMode.SAME_STEP


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_action_names_inside_a_vector_environment_are_compared(kind):
    mode = {"autoreset_mode": SAME_STEP}
    envs = VectorAdapter(gym.make_vec("easee/RotationGrid-v0", 2, kind, vector_kwargs=mode))
    assert envs.has_attr("action_names") and not envs.has_attr("no_such_thing")
    assert envs.get_attr("action_names", [0]) == [("forward", "left", "right")]
    omega = easee.Equivalences(["left", "right", "forward"], ["left right ~"])
    with pytest.raises(easee.ArgumentError, match="not in the environment's order"):
        DQN("MlpPolicy", envs, explorer=easee.compile(omega, 3))
    envs.close()


def test_gymnasium_vector_environments_must_be_wrapped():
    with pytest.raises(easee.ArgumentError, match="VectorAdapter"):
        DQN("MlpPolicy", gym.make_vec("CartPole-v1", 2))


class AlwaysRight(gym.Wrapper):
    """Always moves right, and reports it."""

    def step(self, action):
        *others, info = self.env.step(0)
        return *others, info | {"executed_action": 0}


def test_infos_and_attributes_of_the_inner_environments_are_passed_on():
    def make():
        limited = gym.wrappers.TimeLimit(AlwaysRight(CardinalGrid(30)), 6)
        return gym.wrappers.RecordEpisodeStatistics(limited)

    envs = VectorAdapter(SyncVectorEnv([make] * 2, autoreset_mode=SAME_STEP))
    policy = easee.compile(easee.priors.get("cardinal-grid"), 10)
    model = DQN("MlpPolicy", envs, explorer=policy, learning_starts=10**6, seed=0)
    model.learn(8)
    assert isinstance(model.explorer, easee.Explorer)
    assert [policy.graph.word(node) for node in model.explorer.nodes] == [("right",) * 4] * 2
    infos = [envs.step(np.zeros(2, int))[-1] for _ in range(2)][-1]
    assert [info["episode"]["l"] for info in infos] == [6, 6]
    envs.set_attr("size", (7, 7), [1])
    assert envs.get_attr("size") == [(30, 30), (7, 7)]


def test_reset_options_are_passed_on_once():
    class StoresOptions(CardinalGrid):
        def reset(self, *, seed=None, options=None):
            self.options = options
            return super().reset(seed=seed, options=options)

    envs = VectorAdapter(SyncVectorEnv([StoresOptions] * 2, autoreset_mode=SAME_STEP))
    envs.set_options({"k": 1})
    envs.reset()
    assert envs.get_attr("options") == [{"k": 1}] * 2
    envs.reset()
    assert envs.get_attr("options") == [None, None]
    envs.set_options([{"k": 1}, {"k": 2}])
    with pytest.raises(easee.ArgumentError, match="same options"):
        envs.reset()
