"""MiniGrid's tasks as a world: its own layouts, and its rules as functions of JAX arrays."""

from easee.envs.jax.minigrid.layouts import supported
from easee.envs.jax.minigrid.moves import MiniGridState
from easee.envs.jax.minigrid.world import MiniGrid

__all__ = ["MiniGrid", "MiniGridState", "supported"]
