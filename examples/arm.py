"""Find the best depth for a robot arm with three joints: `easee.tune`.

python examples/arm.py [STEPS]

The joints are independent: moves of different joints commute, and the two moves of a joint undo
each other, except where a joint is at its limit and does not move. How deep the graph should be
depends on how soon the walk meets the limits, which the prior does not say. Prints what
`easee.tune` measures. On the command line, with the prior in a file:

PYTHONPATH=examples easee tune examples/arm.txt --env arm:Arm-v0
"""

import sys
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

import easee

JOINTS = ("shoulder", "elbow", "wrist")
Angles = NDArray[np.int64]


class Arm(gym.Env[Angles, np.int64]):
    """Three joints with a few positions each; an action moves one joint by one position."""

    action_names = tuple(f"{joint}{sign}" for joint in JOINTS for sign in "+-")

    def __init__(self, positions: int = 21) -> None:
        self.positions = positions
        self.observation_space = spaces.MultiDiscrete([positions] * len(JOINTS))
        self.action_space = spaces.Discrete(len(self.action_names))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Angles, dict[str, Any]]:
        """Move all joints to the middle of their range."""
        super().reset(seed=seed)
        self.angles = [self.positions // 2] * len(JOINTS)
        return np.array(self.angles), {}

    def step(self, action: np.int64) -> tuple[Angles, float, bool, bool, dict[str, Any]]:
        """Move a joint, unless it is at its limit."""
        joint, down = divmod(int(action), 2)
        angle = self.angles[joint] + (-1 if down else 1)
        self.angles[joint] = min(max(angle, 0), self.positions - 1)
        return np.array(self.angles), 0.0, False, False, {}


gym.register("Arm-v0", entry_point="arm:Arm", max_episode_steps=60)

prior = easee.independent(*([f"{joint}+", f"{joint}-"] for joint in JOINTS))

if __name__ == "__main__":
    env = gym.wrappers.TimeLimit(Arm(), 60)
    print(easee.tune(env, prior, steps=int(sys.argv[1]) if len(sys.argv) > 1 else 300_000))
