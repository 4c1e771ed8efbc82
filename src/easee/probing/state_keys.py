"""What is compared: observations, or a state that a function reads from the environment."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from easee._utils.digests import leaves

StateOf = Callable[[gym.Env[Any, Any]], Hashable]
OBSERVATION = "observations"
# Where Atari games keep the player's position: Freeway's height, Boxing's x and y, Carnival's x.
PLAYER = {"freeway": (14,), "boxing": (32, 34), "carnival": (2,)}


def numbers(observation: Any) -> dict[str, float]:
    """Return every number of an observation by where it is.

    >>> numbers({"time": 3, "place": np.array([1.0, 2.0])})
    {"['place'][0]": 1.0, "['place'][1]": 2.0, "['time']": 3.0}
    """
    found: dict[str, float] = {}
    for path, value in leaves(observation):
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            names = [path] if value.ndim == 0 else [f"{path}[{i}]" for i in range(value.size)]
            found |= dict(zip(names, value.ravel().astype(float).tolist(), strict=True))
        elif isinstance(value, int | float):
            found[path] = float(value)
    return found


def counters(walks: Sequence[Sequence[Any]]) -> list[str]:
    """Return the fields that count steps: the same whatever was done, and different at each step.

    Args:
        walks: observations of several walks from the same start, all of the same length, that
            took different actions.

    >>> counters([[{"t": 0, "x": 0}, {"t": 1, "x": 1}], [{"t": 0, "x": 0}, {"t": 1, "x": -1}]])
    ["['t']"]
    """
    tables = [[numbers(observation) for observation in walk] for walk in walks]
    fields = tables[0][0]
    return [field for field in fields if _counts([[o.get(field) for o in w] for w in tables])]


def _counts(columns: list[list[float | None]]) -> bool:
    same = all(column == columns[0] for column in columns)
    return same and None not in columns[0] and len(set(columns[0])) == len(columns[0])


def label_of(state: StateOf | None) -> str:
    """Say what is compared."""
    default = "states read by the function given"
    return OBSERVATION if state is None else getattr(state, "label", default)


def minigrid_state(env: gym.Env[Any, Any]) -> Hashable:
    """Return MiniGrid's whole state: grid, agent, and what it carries."""
    world: Any = env.unwrapped
    carried = world.carrying.encode() if world.carrying is not None else None
    place = tuple(int(x) for x in world.agent_pos)
    return world.grid.encode().tobytes(), place, int(world.agent_dir), carried


minigrid_state.label = "MiniGrid's whole states"  # type: ignore[attr-defined]


class ram_state:  # noqa: N801, it is used like a function
    """Reads some bytes of an Atari game's memory, or all of it.

    Args:
        places: which; all by default.

    >>> ram_state(14).label
    "byte 14 of the game's memory"
    """

    def __init__(self, *places: int) -> None:
        self.places = list(places)
        which = ", ".join(map(str, places))
        self.label = f"byte {which} of the game's memory" if places else "the game's memory"

    def __call__(self, env: gym.Env[Any, Any]) -> Hashable:
        """Return the bytes."""
        world: Any = env.unwrapped
        memory = world.ale.getRAM()
        return bytes(memory[self.places] if self.places else memory)
