"""EASEE in Stable-Baselines3: its DQN with an argument `explorer`, and a mixin for similar agents.

from easee.agents.sb3 import DQN
model = DQN("MlpPolicy", env, explorer=easee.compile(omega, depth=6))
"""

from easee.agents.sb3.dqn import DQN
from easee.agents.sb3.mixin import ExplorerMixin

__all__ = ["DQN", "ExplorerMixin"]
