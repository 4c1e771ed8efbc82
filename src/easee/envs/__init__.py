"""The paper's environments and a grid with a goal, registered with Gymnasium on import.

`easee/CardinalGrid-v0`, `easee/RotationGrid-v0`, `easee/GoalGrid-v0`, `easee/Catcher-v0` and, with
the extra `minigrid`, `easee/DoorKey-v0`. The Atari games, with the extra `atari`, are in
`easee.envs.atari`.
"""

from typing import Any

import gymnasium as gym

from easee.envs.catcher import Catcher
from easee.envs.flat_actions import FlatActions
from easee.envs.grids import CardinalGrid, GoalGrid, RotationGrid

__all__ = ["CardinalGrid", "Catcher", "FlatActions", "GoalGrid", "RotationGrid", "register"]

STEPS = 100  # per episode of the empty grids, as in the paper
ENTRIES = {
    "CardinalGrid": ("easee.envs.grids:CardinalGrid", STEPS),
    "RotationGrid": ("easee.envs.grids:RotationGrid", STEPS),
    # These end their episodes themselves.
    "GoalGrid": ("easee.envs.grids:GoalGrid", None),
    "Catcher": ("easee.envs.catcher:Catcher", None),
    "DoorKey": ("easee.envs.doorkey:DoorKey", None),
}


def __getattr__(name: str) -> Any:
    if name == "DoorKey":  # imported lazily: it needs an extra
        from easee.envs.doorkey import DoorKey

        return DoorKey
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def register() -> None:
    """Register the environments with Gymnasium, unless they are registered already."""
    for name, (entry, steps) in ENTRIES.items():
        if f"easee/{name}-v0" not in gym.registry:
            gym.register(f"easee/{name}-v0", entry_point=entry, max_episode_steps=steps)


register()
