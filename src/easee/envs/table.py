"""Transition tables of deterministic environments, for agents that take millions of steps."""

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike, NDArray

from easee.envs.action_names import action_names
from easee.envs.copying import CHECKING_WRAPPERS, copied, wrappers
from easee.errors import ArgumentError, ArgumentTypeError

Outcome = tuple[int, float, bool]  # the next state, the reward, whether the episode ends

MAX_STATES = 1_000_000


@dataclass(frozen=True)
class Table:
    """The outcome of each action in each reachable state.

    Attributes:
        states: (n, ...), the environment's own states; the start is the first.
        successors: int (n, k), the number of the state that an action leads to.
        rewards: float (n, k).
        ends: bool (n, k), whether an action ends the episode.
        max_steps: number of steps after which an episode is truncated; 0 for no limit.
        action_names: names of the actions, or None if the environment has none.
    """

    states: NDArray[np.int64]
    successors: NDArray[np.int32]
    rewards: NDArray[np.float64]
    ends: NDArray[np.bool_]
    max_steps: int
    action_names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.states)

    def number(self, state: ArrayLike) -> int:
        """Return the number of one of the environment's states."""
        wanted = np.asarray(state)
        if wanted.shape != self.states.shape[1:]:
            raise ArgumentError(
                f"expected a state of shape {self.states.shape[1:]}, found {wanted.shape}"
            )
        matches = np.flatnonzero((self.states == wanted).reshape(len(self), -1).all(axis=1))
        if not len(matches):
            raise ArgumentError(f"the state {wanted.tolist()} cannot be reached")
        return int(matches[0])


def tabulate(env: gym.Env[Any, Any], *, seed: int | None = None) -> Table:
    """Tabulate every action in every state that is reachable from the start.

    Args:
        env: deterministic environment that can be copied, with a `state` that can be set and a
            fixed initial state. Its episodes should end or have a time limit.
        seed: seed of the reset that determines the initial state (and DoorKey's layout).

    >>> from easee.envs.grids import RotationGrid
    >>> len(tabulate(RotationGrid(5)))
    100
    """
    env.reset(seed=seed)
    discrete = isinstance(env.action_space, gym.spaces.Discrete)
    if not hasattr(env.unwrapped, "state") or not discrete:
        raise ArgumentTypeError(
            "expected an environment with discrete actions and a `state` that can be set, found "
            f"{env.unwrapped}"
        )
    states, rows = _explored(env)
    for i in range(len(states)):  # terminal states
        rows.setdefault(i, [(i, 0.0, True)] * len(rows[0]))
    columns = ([[x[i] for x in rows[state]] for state in range(len(states))] for i in range(3))
    successors, rewards, ends = map(np.array, columns)
    arrays = np.array(states), successors.astype(np.int32), rewards, ends
    return Table(*arrays, _limit(env), action_names(env))


def _explored(env: gym.Env[Any, Any]) -> tuple[list[NDArray[np.int64]], dict[int, list[Outcome]]]:
    """Return all states, and the outcome of each action in the states that are not terminal."""
    initial = copied(env)
    world: Any = env.unwrapped
    states = [np.array(world.state)]
    numbers = {states[0].tobytes(): 0}
    rows: dict[int, list[Outcome]] = {}
    queue = [0]
    for state in queue:  # grows during the loop
        if state in rows:
            continue
        rows[state] = []
        for action in range(int(env.action_space.n)):  # type: ignore[attr-defined]
            world.state = states[state].copy()
            _, reward, terminated, _, _ = world.step(action)
            next_state = np.array(world.state)
            number = numbers.setdefault(next_state.tobytes(), len(states))
            if number == len(states):
                states.append(next_state)
            rows[state].append((number, float(reward), bool(terminated)))
            if terminated:  # some environments cannot be stepped after that
                world = copied(initial).unwrapped
            else:
                queue.append(number)
        if len(states) > MAX_STATES:
            raise ArgumentError(
                f"expected an environment with at most {MAX_STATES:,} states, found more"
            )
    return states, rows


def _limit(env: gym.Env[Any, Any]) -> int:
    """Return the smallest time limit that the environment or a wrapper sets, or 0."""
    limits = [getattr(env.unwrapped, "max_steps", None)]
    for wrapper in wrappers(env):
        if isinstance(wrapper, gym.wrappers.TimeLimit):
            limits.append(wrapper._max_episode_steps)
        elif not isinstance(wrapper, CHECKING_WRAPPERS):
            raise ArgumentTypeError(
                f"expected an environment without wrappers that change it, found {wrapper}: the "
                "table would ignore its effect"
            )
    return min((limit for limit in limits if limit is not None), default=0)
