"""EASEE in Stable-Baselines3: its DQN with one more argument, and a mixin for its relatives.

from easee.agents.sb3 import DQN
model = DQN("MlpPolicy", env, explorer=easee.compile(omega, depth=6))
"""

from easee.agents.sb3.dqn import DQN, ExplorerMixin

__all__ = ["DQN", "ExplorerMixin"]
