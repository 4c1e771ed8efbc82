"""Small environments, priors and models that the tests of `easee.agents.sb3` share."""

from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import sb3_contrib
import torch
from gymnasium import spaces
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv

import easee
from easee.agents.sb3 import DQN, ExplorerMixin
from easee.envs import CardinalGrid, RotationGrid
from tests.agents.nodes import simulated_nodes

SMALL = {
    "learning_starts": 50,
    "batch_size": 16,
    "buffer_size": 4000,
    "target_update_interval": 100,
    "exploration_fraction": 0.5,
    "policy_kwargs": {"net_arch": [16]},
}
TURNING = easee.compile(easee.priors.get("rotation-grid"), 4)
STRAIGHT = easee.compile(easee.inverse("left", "right"), 4)
MOVING = easee.compile(easee.priors.get("cardinal-grid"), 2)
COMMUTING = easee.compile(easee.commute("left", "right"), 5)


class QRDQN(ExplorerMixin, sb3_contrib.QRDQN):
    """The example of the documentation."""


class Line(gym.Env):
    """Moves left and right on a line for a fixed number of steps; observes position and time."""

    action_space: spaces.Space[Any] = spaces.Discrete(2)
    observation_space = spaces.Box(-100.0, 100.0, (2,), np.float32)

    def __init__(self, length=8):
        self.length = length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position = self.time = 0
        return self._observation(), {}

    def step(self, action):
        self.position += 1 if action else -1
        self.time += 1
        return self._observation(), float(self.position), False, self.time >= self.length, {}

    def _observation(self):
        return np.array([self.position, self.time], np.float32)


class Reordered(CardinalGrid):
    """CardinalGrid with its action names in another order."""

    action_names = ("up", "down", "left", "right")


class Record(BaseCallback):
    """Records executed actions and the explorer's nodes before them; stops after `stop` steps."""

    def __init__(self, stop=None):
        super().__init__()
        self.stop = stop
        self.actions, self.dones, self.nodes, self.explored = [], [], [], []

    def _on_step(self):
        pairs = zip(self.locals["infos"], self.locals["actions"], strict=True)
        self.actions.append([info.get("executed_action", action) for info, action in pairs])
        self.dones.append(self.locals["dones"].copy())
        explorer = self.locals["self"].explorer
        self.nodes.append(explorer.nodes)
        self.explored.append(explorer.explored)
        return self.stop is None or len(self.actions) < self.stop


class Alternating:
    """An explorer that does not derive from easee's: left, right, left, and so on."""

    n_envs = 2

    def __init__(self, n_actions=2):
        self.n_actions = n_actions
        self.reset()

    def sample(self):
        return self.next.copy()

    def choose(self, greedy, epsilon):
        return np.where(epsilon > 0.5, self.next, greedy)

    def step(self, actions, dones):
        self.next = np.where(dones, 0, 1 - np.asarray(actions))

    def reset(self):
        self.next = np.zeros(2, int)


def lines(*lengths):
    return DummyVecEnv([partial(Line, length) for length in lengths])


def rotation(n_envs=1, length=25):
    return DummyVecEnv([lambda: gym.wrappers.TimeLimit(RotationGrid(7), length)] * n_envs)


def small(env, explorer=None, *, kind=DQN, seed=0, **options):
    """Return a model with a small network and few steps of warm-up."""
    if issubclass(kind, sb3_contrib.QRDQN):
        options["policy_kwargs"] = {"net_arch": [16], "n_quantiles": 10}
    if explorer is not None:
        options["explorer"] = explorer
    return kind("MlpPolicy", env, seed=seed, **(SMALL | options))


def always(epsilon):
    """Return options of an agent that never updates and has a constant epsilon."""
    return {
        "learning_starts": 0,
        "exploration_initial_eps": epsilon,
        "exploration_final_eps": epsilon,
        "gradient_steps": 0,
    }


def assert_same_runs(first, second):
    """Assert equal networks and replay buffers."""
    a, b = first.policy.state_dict(), second.policy.state_dict()
    assert a.keys() == b.keys()
    assert all(torch.equal(a[name], b[name]) for name in a)
    for name in ("observations", "next_observations", "actions", "rewards", "dones", "timeouts"):
        np.testing.assert_array_equal(
            getattr(first.replay_buffer, name), getattr(second.replay_buffer, name)
        )
    assert first.replay_buffer.size() == second.replay_buffer.size() > 0


def assert_followed(model, record, graph):
    """Assert that the explorer's nodes followed the recorded actions."""
    expected = simulated_nodes(graph, record.actions, record.dones)
    np.testing.assert_array_equal([*record.nodes, model.explorer.nodes], expected)
