"""Stable-Baselines3's DQN with an explorer."""

import stable_baselines3

from easee.agents.sb3.mixin import ExplorerMixin


class DQN(ExplorerMixin, stable_baselines3.DQN):
    """Stable-Baselines3's DQN with one more argument, `explorer`.

    Without an explorer, results are identical to Stable-Baselines3's.

    >>> import easee
    >>> from easee.envs import Catcher
    >>> policy = easee.compile(easee.priors.catcher(), depth=30)
    >>> model = DQN("MlpPolicy", Catcher(), explorer=policy, seed=0)
    >>> model.learn(40).explorer.nodes
    array([62])
    """
