"""Deprecated path of `easee.envs.jax`, kept for one release."""

from easee.envs.jax import *  # noqa: F403
