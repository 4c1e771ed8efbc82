"""A deterministic environment as a table: for agents that take millions of steps in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike, NDArray

from easee.envs.copying import copied
from easee.errors import ArgumentError, ArgumentTypeError

Outcome = tuple[int, float, bool]  # the next state, the reward, whether the episode ends

MOST_STATES = 1_000_000
HARMLESS = (gym.wrappers.OrderEnforcing, gym.wrappers.PassiveEnvChecker)


class Placeable(Protocol):
    """An environment whose state can be read and set."""

    state: NDArray[np.int64]

    def step(self, action: int) -> tuple[Any, Any, bool, bool, dict[str, Any]]: ...  # noqa: D102


@dataclass(frozen=True)
class Table:
    """What every action does in every state that can be reached.

    Attributes:
        states: (n, ...), the environment's own names of the states; the start is the first.
        successors: int (n, k), the number of the state that an action leads to.
        rewards: float (n, k).
        ends: bool (n, k), whether the episode ends there.
        max_steps: after how many steps an episode is cut off; 0 for never.
    """

    states: NDArray[np.int64]
    successors: NDArray[np.int32]
    rewards: NDArray[np.float64]
    ends: NDArray[np.bool_]
    max_steps: int

    def __len__(self) -> int:
        return len(self.states)

    def number(self, state: ArrayLike) -> int:
        """Return the number of one of the environment's states."""
        wanted = np.asarray(state)
        if wanted.shape != self.states.shape[1:]:
            raise ArgumentError(
                f"expected a state of shape {self.states.shape[1:]}, found {wanted.shape}"
            )
        found = np.flatnonzero((self.states == wanted).reshape(len(self), -1).all(axis=1))
        if not len(found):
            raise ArgumentError(f"{wanted.tolist()} cannot be reached")
        return int(found[0])


def tabulate(env: gym.Env[Any, Any], *, seed: int | None = None) -> Table:
    """Try every action in every state that can be reached from the start.

    Args:
        env: a deterministic environment that can be copied, with a `state` that can be set and a
            start that `reset` always returns to. Agents need a limit of steps or an end.
        seed: of the reset that fixes the start (in DoorKey, the layout).

    >>> from easee.envs.grids import RotationGrid
    >>> len(tabulate(RotationGrid(5)))
    100
    """
    env.reset(seed=seed)
    _placeable(env)
    states, rows = _explored(env)
    for i in range(len(states)):  # where an episode is over
        rows.setdefault(i, [(i, 0.0, True)] * len(rows[0]))
    columns = ([[x[i] for x in rows[state]] for state in range(len(states))] for i in range(3))
    successors, rewards, ends = map(np.array, columns)
    return Table(np.array(states), successors.astype(np.int32), rewards, ends, _limit(env))


def _explored(env: gym.Env[Any, Any]) -> tuple[list[NDArray[np.int64]], dict[int, list[Outcome]]]:
    """Return all states, and what every action does in those where an episode goes on."""
    begun, world = copied(env), _placeable(env)
    states = [np.array(world.state)]
    number = {states[0].tobytes(): 0}
    rows: dict[int, list[Outcome]] = {}
    todo = [0]
    for state in todo:  # grows while it is gone through
        if state in rows:
            continue
        rows[state] = []
        for action in range(int(env.action_space.n)):  # type: ignore[attr-defined]
            world.state = states[state].copy()
            _, reward, terminated, _, _ = world.step(action)
            there = np.array(world.state)
            found = number.setdefault(there.tobytes(), len(states))
            if found == len(states):
                states.append(there)
            rows[state].append((found, float(reward), bool(terminated)))
            if terminated:  # some environments remember that and refuse to go on
                world = _placeable(copied(begun))
            else:
                todo.append(found)
        if len(states) > MOST_STATES:
            raise ArgumentError(f"this environment has more than {MOST_STATES:,} states: too many")
    return states, rows


def _placeable(env: gym.Env[Any, Any]) -> Placeable:
    world: Any = env.unwrapped
    if not hasattr(world, "state") or not isinstance(env.action_space, gym.spaces.Discrete):
        raise ArgumentTypeError(
            "expected an environment with discrete actions and a `state` that can be set, found "
            f"{world}"
        )
    placeable: Placeable = world
    return placeable


def _limit(env: gym.Env[Any, Any]) -> int:
    """Return the smallest limit of steps that the environment or a wrapper sets."""
    limits = [getattr(env.unwrapped, "max_steps", None)]
    while isinstance(env, gym.Wrapper):
        if isinstance(env, gym.wrappers.TimeLimit):
            limits.append(env._max_episode_steps)
        elif not isinstance(env, HARMLESS):
            raise ArgumentTypeError(
                f"expected an environment without wrappers that change it, found {env}: a table is "
                "made of what is inside"
            )
        env = env.env
    return min((limit for limit in limits if limit is not None), default=0)
