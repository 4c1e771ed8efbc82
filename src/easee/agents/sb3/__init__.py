"""EASEE in Stable-Baselines3, with one more argument than its own agents.

::

    from easee.agents.sb3 import DQN, PPO

    model = DQN("MlpPolicy", env, explorer=easee.compile(omega, depth=6))
    model = PPO("MlpPolicy", env, reference=easee.compile(omega, depth=6), ent_coef=0.01)

`explorer` replaces random actions, `reference` the uniform policy of the entropy bonus. There are
mixins for other agents. `MaskablePPO` needs the extra `sb3-contrib`.
"""

from typing import Any

from easee.errors import MissingExtraError

try:  # here, because this module is imported before all others of the package
    import stable_baselines3  # noqa: F401
except ImportError:
    raise MissingExtraError("stable-baselines3", "sb3") from None

from easee.agents.sb3.dqn import DQN
from easee.agents.sb3.mixin import ExplorerMixin
from easee.agents.sb3.ppo import A2C, PPO
from easee.agents.sb3.reference import ReferenceMixin

__all__ = ["A2C", "DQN", "PPO", "ExplorerMixin", "ReferenceMixin"]


def __getattr__(name: str) -> Any:
    if name == "MaskablePPO":  # imported lazily: it needs another extra
        from easee.agents.sb3.maskable_ppo import MaskablePPO

        return MaskablePPO
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
