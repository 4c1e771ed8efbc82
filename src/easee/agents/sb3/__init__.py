"""EASEE in Stable-Baselines3: its DQN with an argument `explorer`, and a mixin for similar agents.

from easee.agents.sb3 import DQN
model = DQN("MlpPolicy", env, explorer=easee.compile(omega, depth=6))
"""

from easee.errors import MissingExtraError

try:  # here, because this module is imported before all others of the package
    import stable_baselines3  # noqa: F401
except ImportError:
    raise MissingExtraError("stable-baselines3", "sb3") from None

from easee.agents.sb3.dqn import DQN
from easee.agents.sb3.mixin import ExplorerMixin

__all__ = ["DQN", "ExplorerMixin"]
