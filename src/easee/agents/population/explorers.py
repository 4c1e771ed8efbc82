"""Deprecated path of `easee.explorers.jax`, kept for one release."""

from easee.explorers.jax import *  # noqa: F403
