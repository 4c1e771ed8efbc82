"""Banks of layouts, drawn by MiniGrid's own generators."""

import difflib
from functools import cache, lru_cache
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator
from numpy.typing import NDArray

import easee.envs.jax.minigrid.codes as codes
from easee._utils.checks import nearest
from easee._utils.extras import requires_extra
from easee.envs.jax.minigrid.rules import RULES, Task
from easee.errors import ArgumentError

MODULE = "minigrid.envs"  # of the classes in RULES


class Bank(NamedTuple):
    """The layouts of a task, one for each seed."""

    grids: NDArray[np.uint8]  # codes of the cells (layouts, width, height)
    places: NDArray[np.int32]  # first column and row of the agent (layouts, 2)
    headings: NDArray[np.int32]  # first heading of the agent (layouts,)
    targets: NDArray[np.int32]  # what the rule needs to know (layouts, any length)


class Frame(NamedTuple):
    """What all layouts of a task share."""

    task: Task
    size: tuple[int, int]  # width and height
    see_through_walls: bool


def supported() -> list[str]:
    """Return the ids of all registered tasks of MiniGrid that can be a world.

    >>> "MiniGrid-DoorKey-8x8-v0" in supported(), "MiniGrid-Dynamic-Obstacles-5x5-v0" in supported()
    (True, False)
    """
    _register()
    return [name for name, spec in gym.registry.items() if _class_name(spec) in RULES]


def check_id(name: Any) -> None:
    """Raise an error if a name is not the id of a supported task.

    Raises:
        ArgumentError: it is unknown, or its rules are not implemented.
        MissingExtraError: MiniGrid is not installed.
    """
    names = supported()
    if name in names:
        return
    spec = gym.registry.get(name) if isinstance(name, str) else None
    if spec is None:
        raise ArgumentError(f"expected the id of a task of MiniGrid, found {name!r}; {_hint(name)}")
    raise ArgumentError(f"{name} cannot be a world: {_reason(spec)}; {_others()}")


@cache
def frame_of(name: str) -> Frame:
    """Return what all layouts of a task share."""
    env = _make(name)
    task = Task(env.max_steps, RULES[_class_name(gym.spec(name))])
    return Frame(task, (env.width, env.height), env.see_through_walls)


@lru_cache(maxsize=32)
def bank_of(name: str, layouts: int, first_seed: int) -> Bank:
    """Return the layouts of a task for the seeds from `first_seed` on."""
    env = _make(name)
    rule = frame_of(name).task.rule
    rows = []
    for seed in range(first_seed, first_seed + layouts):
        env.reset(seed=seed)
        grid = [codes.encode(cell) for cell in env.grid.grid]
        rows.append((grid, env.agent_pos, env.agent_dir, rule.find_target(env)))
    grids, places, headings, targets = zip(*rows, strict=True)
    by_row = np.array(grids, np.uint8).reshape(layouts, env.height, env.width)
    return Bank(
        np.ascontiguousarray(by_row.transpose(0, 2, 1)),
        np.array(places, np.int32),
        np.array(headings, np.int32),
        np.array(targets, np.int32),
    )


def _register() -> None:
    with requires_extra("minigrid"):
        import minigrid  # noqa: F401  (registers its environments)


def _make(name: str) -> Any:
    """Return an environment that resets without computing an observation."""
    _register()
    spec = gym.spec(name)
    # Without gym.make, because its wrappers are not needed and it warns of old versions.
    env: Any = load_env_creator(str(spec.entry_point))(**spec.kwargs)
    env.gen_obs = lambda: None
    return env


def _class_name(spec: Any) -> str:
    """Return the name of a class of MiniGrid, or an empty string for other entry points."""
    module, _, name = str(spec.entry_point).partition(":")
    return name if module == MODULE else ""


def _reason(spec: Any) -> str:
    """Return why the task of a registered id cannot be a world."""
    entry_point = str(spec.entry_point)
    if entry_point == f"{MODULE}:DynamicObstaclesEnv":
        return "its obstacles move at random"
    if entry_point.startswith(f"{MODULE}.babyai"):
        return "the success of BabyAI's tasks depends on the text of a mission"
    if entry_point.startswith(f"{MODULE}.wfc"):
        return "its layouts need the packages of MiniGrid's extra wfc"
    return f"the rules of {entry_point} are not implemented"


def _hint(name: Any) -> str:
    """Return the nearest id, or examples."""
    names = supported()
    if difflib.get_close_matches(str(name), names, n=1):
        return nearest(str(name), names)
    return _others()


def _others() -> str:
    """Return where the supported ids are."""
    names = supported()
    return f"the {len(names)} supported ids are in easee.envs.jax.minigrid.supported()"
