"""Small on-policy models and environments with masks, shared by the tests of references."""

from functools import partial

import gymnasium as gym
import numpy as np
import sb3_contrib
import stable_baselines3
import torch
from stable_baselines3.common.vec_env import DummyVecEnv

from easee.agents.sb3 import A2C, PPO, MaskablePPO
from easee.envs import RotationGrid

THEIRS = {
    PPO: stable_baselines3.PPO,
    A2C: stable_baselines3.A2C,
    MaskablePPO: sb3_contrib.MaskablePPO,
}
KINDS = list(THEIRS)


class MaskedGrid(RotationGrid):
    """A rotation grid for a fixed number of steps; in every third one, only `allowed` may be taken.

    Rewards steps to the right, so that there is something to learn.
    """

    def __init__(self, length=12, allowed=(0, 2)):
        super().__init__(7)
        self.length, self.allowed, self.violations = length, list(allowed), 0

    def reset(self, *, seed=None, options=None):
        self.time = 0
        return super().reset(seed=seed, options=options)

    def step(self, action):
        self.violations += not self.action_masks()[action]
        before = self.state[0]
        state, *_ = super().step(action)
        self.time += 1
        return state, float(state[0] - before), False, self.time >= self.length, {}

    def action_masks(self):
        mask = np.ones(3, bool)
        if self.time % 3 == 2:
            mask[:] = np.isin(np.arange(3), self.allowed)
        return mask


def masked(*lengths, allowed=(0, 2)):
    return DummyVecEnv([partial(MaskedGrid, length, allowed) for length in lengths])


def gradient(env, reference=None, *, kind=PPO, policy="MlpPolicy", seed=0, **options):
    """Return an on-policy model with a small network and short rollouts."""
    settings = {"n_steps": 16, "ent_coef": 0.05, "seed": seed, "policy_kwargs": {"net_arch": [16]}}
    if not issubclass(kind, stable_baselines3.A2C):
        settings |= {"batch_size": 16, "n_epochs": 2}
    if reference is not None:
        settings["reference"] = reference
    return kind(policy, env, **(settings | options))


def parameters(model):
    return {name: value.clone() for name, value in model.policy.state_dict().items()}


def same_parameters(first, second):
    a, b = parameters(first), parameters(second)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def silence(model):
    """Set the last layer of the policy network to 0, so that its logits are all equal."""
    with torch.no_grad():
        model.policy.action_net.weight.zero_()
        model.policy.action_net.bias.zero_()
    return model


class Shaped(gym.Env):
    """Random observations from a space, for episodes of seven steps."""

    action_space = gym.spaces.Discrete(3)

    def __init__(self, space):
        self.observation_space = space

    def reset(self, *, seed=None, options=None):
        self.time = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        self.time += 1
        return self.observation_space.sample(), float(action), self.time >= 7, False, {}
