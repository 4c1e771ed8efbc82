"""A custom environment with a custom prior: a crane that carries a crate.

python examples/custom_env.py

The environment names its actions, and the prior uses the same names in the same order. Prints how
often tabular Q-learning delivers the crate with uniform exploration and with EASEE.
"""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

import easee
from easee.agents.q_learning import learn

State = NDArray[np.int64]


class Crane(gym.Env[State, np.int64]):
    """Carry a crate from the left end of a rail to the right end."""

    action_names = ("left", "right", "grab", "drop")

    def __init__(self, length: int = 8) -> None:
        self.length = length
        self.observation_space = spaces.MultiDiscrete([length, length, 2])
        self.action_space = spaces.Discrete(len(self.action_names))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[State, dict[str, Any]]:
        """Place the crane in the middle and the crate at the left end."""
        super().reset(seed=seed)
        self.crane, self.crate, self.holds = self.length // 2, 0, False
        return self._observation(), {}

    def step(self, action: np.int64) -> tuple[State, float, bool, bool, dict[str, Any]]:
        """Move the crane, grab the crate or drop it."""
        name = self.action_names[action]
        if name in ("left", "right"):
            self.crane += 1 if name == "right" else -1
            self.crane = min(max(self.crane, 0), self.length - 1)
        elif name == "grab":
            self.holds = self.holds or self.crane == self.crate
        else:
            self.holds = False
        if self.holds:
            self.crate = self.crane
        arrived = self.crate == self.length - 1 and not self.holds
        return self._observation(), float(arrived), arrived, False, {}

    def _observation(self) -> State:
        return np.array([self.crane, self.crate, self.holds])


prior = easee.Equivalences(
    Crane.action_names,
    ["left right ~", "right left ~", "grab grab ~ grab", "drop drop ~ drop", "grab drop ~ drop"],
)
policy = easee.compile(prior, depth=8)
print(policy)

env = gym.wrappers.TimeLimit(Crane(), 200)
for name, explorer in {
    "uniform": easee.UniformExplorer(4, seed=0),
    "EASEE": easee.Explorer(policy, seed=0),
}.items():
    result = learn(env, explorer, episodes=200, seed=0)
    print(f"{name}: the crate arrived in {result.rewards.mean():.0%} of 200 episodes")
