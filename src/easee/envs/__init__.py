"""The paper's grids as Gymnasium environments: `easee/CardinalGrid-v0`, `easee/RotationGrid-v0`.

Importing this package registers them.
"""

import gymnasium as gym

from easee.envs.grids import CardinalGrid, RotationGrid

__all__ = ["CardinalGrid", "RotationGrid"]

STEPS = 100  # per episode, as in the paper


def register() -> None:
    """Register the environments with Gymnasium; doing so again changes nothing."""
    for name in ("CardinalGrid", "RotationGrid"):
        if f"easee/{name}-v0" not in gym.registry:
            entry = f"easee.envs.grids:{name}"
            gym.register(f"easee/{name}-v0", entry_point=entry, max_episode_steps=STEPS)


register()
