"""EASEE in SBX, Stable-Baselines in JAX.

from easee.agents.sbx import DQN
model = DQN("MlpPolicy", env, explorer=easee.compile(omega, depth=6))
"""

from easee._utils.extras import requires_extra

with requires_extra("sbx", "sbx-rl"):
    import sbx

from easee.agents.sb3.mixin import ExplorerMixin

__all__ = ["DQN"]


class DQN(ExplorerMixin, sbx.DQN):
    """SBX's DQN with one more argument, `explorer`, as in `easee.agents.sb3.DQN`.

    Without an explorer, results are identical to SBX's.

    >>> from easee.envs import Catcher
    >>> model = DQN("MlpPolicy", Catcher(), explorer="catcher:30", seed=0)
    >>> model.learn(40).explorer.lengths
    array([10])
    """

    target_update_interval: int

    def _setup_model(self) -> None:
        # SBX divides the interval by the number of environments here, also for a loaded model,
        # whose interval was divided before it was saved.
        interval = self.target_update_interval
        resumes = self._explorer is not None and self._explorer.n_envs == self.n_envs
        super()._setup_model()
        if resumes:
            self.target_update_interval = interval
