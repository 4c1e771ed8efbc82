"""Deprecated path of `easee.agents.sb3.networks`, kept for one release."""

from easee.agents.sb3.networks import *  # noqa: F403
