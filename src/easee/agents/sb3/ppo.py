"""Stable-Baselines3's PPO and A2C with a reference policy."""

import stable_baselines3

from easee.agents.sb3.reference import ReferenceMixin


class PPO(ReferenceMixin, stable_baselines3.PPO):
    """Stable-Baselines3's PPO with a reference policy.

    Without a reference, results are identical to Stable-Baselines3's. `ent_coef` is the weight of
    -KL(pi || reference), and 0 by default as in Stable-Baselines3.

    >>> import easee
    >>> policy = easee.compile(easee.priors.get("rotation-grid"), depth=6)
    >>> env = easee.envs.GoalGrid(7)
    >>> model = PPO("MlpPolicy", env, reference=policy, ent_coef=0.01, n_steps=64, seed=0)
    >>> model.learn(64).reference is policy
    True
    """


class A2C(ReferenceMixin, stable_baselines3.A2C):
    """Stable-Baselines3's A2C with a reference policy; see `PPO`.

    >>> import easee
    >>> policy = easee.compile(easee.priors.get("rotation-grid"), depth=6)
    >>> model = A2C("MlpPolicy", easee.envs.GoalGrid(7), reference=policy, seed=0)
    >>> model.learn(10).num_timesteps
    10
    """
