"""The environments as pure functions of JAX arrays (Section 5).

`Catcher`, `CardinalGrid`, `RotationGrid`, `GoalGrid` and `DoorKey` behave like the environments of
the same names in `easee.envs`, and `MiniGrid` like the tasks of MiniGrid, one environment at a
time: use `jax.vmap` for several, `jax.jit` and `jax.lax.scan` to compile them. A world is a
hashable constant; its state is a tuple of arrays.
"""

from easee.envs.jax.world import World  # isort: skip  (first: its error names the missing extra)
from easee.envs.jax.catcher import Catcher, CatcherState
from easee.envs.jax.doorkey import DoorKey, DoorKeyState, Layout
from easee.envs.jax.grids import CardinalGrid, GoalGrid, GridState, RotationGrid
from easee.envs.jax.minigrid import MiniGrid, MiniGridState

__all__ = [
    "CardinalGrid",
    "Catcher",
    "CatcherState",
    "DoorKey",
    "DoorKeyState",
    "GoalGrid",
    "GridState",
    "Layout",
    "MiniGrid",
    "MiniGridState",
    "RotationGrid",
    "World",
]
