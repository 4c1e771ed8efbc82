"""Small environments and agents that the tests of `easee.agents.torchrl` share."""

from functools import partial

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from tensordict.nn import TensorDictModule, TensorDictSequential
from torchrl.envs import ExplorationType, GymWrapper, TransformedEnv, set_exploration_type

import easee
from easee.agents.torchrl import EaseeModule, NodeTracker
from easee.envs import RotationGrid
from tests.agents.nodes import simulated_nodes

torch.set_num_threads(1)

POLICY = easee.compile(easee.priors.get("rotation-grid"), 4)
LENGTHS = 5, 7  # of the episodes of two environments


class Masked(gym.Env):
    """Forbids another action at every step."""

    action_names = ("forward", "left", "right")
    action_space = spaces.Discrete(3)
    observation_space = spaces.Dict(
        {"observation": spaces.Box(0, 9, (1,), np.float32), "action_mask": spaces.MultiBinary(3)}
    )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self._observation(), {}

    def step(self, action):
        assert action != self.time % 3, "this action is forbidden"
        self.time += 1
        return self._observation(), 0.0, False, self.time >= 9, {}

    def _observation(self):
        allowed = np.arange(3) != self.time % 3
        time = np.array([self.time], np.float32)
        return {"observation": time, "action_mask": allowed.astype(np.int8)}


def grid(length=5, *, tracked=False, one_hot=False):
    """Return a grid with episodes of a length, as one of TorchRL's environments."""
    env = gym.wrappers.TimeLimit(RotationGrid(7), length)
    env = GymWrapper(env, categorical_action_encoding=not one_hot)
    return TransformedEnv(env, NodeTracker(POLICY)) if tracked else env


def grids(**options):
    """Return functions that make grids with episodes of different lengths."""
    return [partial(grid, length, **options) for length in LENGTHS]


def first_action(observation):
    """Return the number of the first action, for every observation."""
    return torch.zeros(observation.shape[:-1], dtype=torch.long)


def agent(policy=POLICY, epsilon=0.5, **options):
    """Return an epsilon-greedy agent whose greedy action is always the first."""
    greedy = TensorDictModule(first_action, in_keys=["observation"], out_keys=["action"])
    spec = grid().action_spec
    return TensorDictSequential(greedy, EaseeModule(spec, policy, epsilon, epsilon, **options))


def rollout(env, policy, steps=40):
    """Return a rollout (n_envs, steps) that goes on after the ends of episodes."""
    with set_exploration_type(ExplorationType.RANDOM):
        data = env.rollout(steps, policy, break_when_any_done=False)
    env.close()
    return data if data.ndim == 2 else data[None]


def assert_followed(data, graph=POLICY.graph):
    """Assert that the nodes (n_envs, steps) followed the actions and the ends of episodes."""
    actions, dones = data["action"].T.tolist(), data["next", "done"].squeeze(-1).T
    assert dones.any()
    expected = np.array(simulated_nodes(graph, actions, dones.tolist())).T
    np.testing.assert_array_equal(data["easee_node"], expected[:, :-1])
    goes_on = ~dones.T  # at the end of an episode, the next node is the one that was reached
    np.testing.assert_array_equal(
        data["next", "easee_node"][goes_on], torch.tensor(expected[:, 1:])[goes_on]
    )
