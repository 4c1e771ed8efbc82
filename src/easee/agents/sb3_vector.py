"""Deprecated path of `easee.agents.sb3.vec_env`, kept for one release."""

from easee.agents.sb3.vec_env import *  # noqa: F403
