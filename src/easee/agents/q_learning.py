"""Tabular Q-learning with any explorer: Algorithm 2 of the paper without a network.

::

    Q(s, a) <- Q(s, a) + learning_rate * (r + discount * max Q(s', .) - Q(s, a))

In states where nothing has been learned all actions have the same value. How ties are broken there
affects exploration more than epsilon does: with `ties="random"` the agent walks at random whichever
explorer it has. By default the explorer decides such ties.

A step takes about two microseconds on a `Table`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from easee._utils.checks import checked_count, checked_share
from easee._utils.digests import observation_key
from easee.agents.compat import EXECUTED, check_space, executed_action, fit_scalar_explorer
from easee.envs.action_names import action_names, checked_names
from easee.envs.table import Table
from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers.base import BaseExplorer
from easee.policy_text import AnyPolicy

Schedule = Callable[[float], float]
Key = bytes | int  # of a state
# The next state, the reward, whether the episode is terminated or truncated, and the action that
# was executed.
Step = tuple[Key, float, bool, bool, int]
BLOCK = 1024  # uniforms drawn at a time


@dataclass(frozen=True)
class Learned:
    """The result of learning.

    Attributes:
        rewards: float (episodes,), sum of rewards of each episode.
        lengths: int (episodes,), number of steps of each episode.
        values: action values of each visited state. The key of a state is its number in a `Table`,
            or the bytes of an array observation, or a digest of other observations.
    """

    rewards: NDArray[np.float64]
    lengths: NDArray[np.int64]
    values: dict[Key, list[float]]


def linear(start: float, end: float, fraction: float = 1.0) -> Schedule:
    """Return a schedule that is linear from start to end over a fraction of learning.

    >>> [linear(1.0, 0.5, 0.5)(x) for x in (0.0, 0.25, 0.5, 1.0)]
    [1.0, 0.75, 0.5, 0.5]
    """
    if not 0.0 < fraction <= 1.0:
        raise ArgumentError(f"expected a fraction above 0 and at most 1, found {fraction}")
    return lambda progress: start + (end - start) * min(progress / fraction, 1.0)


def learn(
    env: gym.Env[Any, Any] | Table,
    explorer: AnyPolicy | BaseExplorer,
    *,
    episodes: int,
    epsilon: float | Schedule = 0.1,
    learning_rate: float = 0.1,
    discount: float = 0.99,
    ties: str = "explore",
    seed: int = 0,
    names: Sequence[str] | None = None,
) -> Learned:
    """Learn action values with epsilon-greedy Q-learning.

    The explorer follows `info["executed_action"]` if a wrapper reports that it executed another
    action.

    Args:
        env: a `Table`, or an environment with discrete actions whose observations are its states.
        explorer: an explorer of one environment, or a policy or its string to make one from.
        episodes: number of episodes.
        epsilon: probability of exploring, or a function from the share of episodes done to it.
        learning_rate: step size of the update.
        discount: discount factor.
        ties: greedy action where several are best: "random" (one of them), "first", or "explore",
            which leaves the choice to the explorer where all actions are best and to chance
            otherwise.
        seed: random seed of ties, of the first reset, and of the explorer made from a policy.
        names: names of the environment's actions, instead of its own.

    >>> from easee.envs.grids import CardinalGrid
    >>> from easee.explorers.baselines import UniformExplorer
    >>> env = gym.wrappers.TimeLimit(CardinalGrid(5), 10)
    >>> learn(env, UniformExplorer(4, seed=0), episodes=3).lengths
    array([10, 10, 10])
    """
    seed = checked_count(seed, "seed", least=0)
    steps = _TableSteps(env, names) if isinstance(env, Table) else _GymSteps(env, seed, names)
    fitted = fit_scalar_explorer(explorer, steps.n_actions, steps.action_names, seed)
    if ties not in ("explore", "random", "first"):
        raise ArgumentError(f"expected ties as 'explore', 'random' or 'first', found {ties!r}")
    greedy = _first_best if ties == "first" else _RandomBest(seed, undecided=ties == "explore")
    rate = checked_share(learning_rate, "learning_rate")
    discount = checked_share(discount, "discount")
    if not callable(epsilon):
        epsilon = linear(checked_share(epsilon, "epsilon"), epsilon)
    total = checked_count(episodes, "episodes")
    rows: dict[Key, list[float]] = defaultdict(lambda: [0.0] * steps.n_actions)
    rewards, lengths = np.zeros(total), np.zeros(total, np.int64)
    for i in range(total):
        share = checked_share(epsilon(i / total), "epsilon")
        rewards[i], lengths[i] = _run_episode(steps, fitted, rows, greedy, share, rate, discount)
    return Learned(rewards, lengths, dict(rows))


def _run_episode(
    env: _TableSteps | _GymSteps,
    explorer: BaseExplorer,
    rows: dict[Key, list[float]],
    greedy: Callable[[list[float]], int],
    epsilon: float,
    rate: float,
    discount: float,
) -> tuple[float, int]:
    """Update the action values in one episode; return its reward and its length."""
    # Local names are faster, and this loop dominates the run time.
    step, choose, follow = env.step, explorer.choose_one, explorer.step_one
    row = rows[env.reset()]
    explorer.reset()
    total, length, done = 0.0, 0, False
    while not done:
        best = greedy(row)
        action = choose(best, epsilon) if best >= 0 else choose(0, 1.0)
        state, reward, terminated, truncated, executed = step(action)
        next_row = rows[state]
        target = reward if terminated else reward + discount * max(next_row)
        row[action] += rate * (target - row[action])
        done = terminated or truncated
        follow(executed, done)
        row = next_row
        total += reward
        length += 1
    return total, length


def _first_best(row: list[float]) -> int:
    return row.index(max(row))


class _RandomBest:
    """Returns a random one of the best actions; if `undecided`, -1 where all are equally good."""

    def __init__(self, seed: int, undecided: bool) -> None:
        self.rng = np.random.default_rng([seed, 1])
        self.undecided = undecided
        self.block: list[float] = []

    def __call__(self, row: list[float]) -> int:
        best = max(row)
        count = row.count(best)
        if count == 1:
            return row.index(best)
        if self.undecided and count == len(row):
            return -1
        if not self.block:
            self.block = self.rng.random(BLOCK).tolist()
        action = row.index(best)
        for _ in range(int(self.block.pop() * count)):
            action = row.index(best, action + 1)
        return action


class _TableSteps:
    """Steps in a table; its rows are lists, which are faster than arrays for single elements."""

    def __init__(self, table: Table, names: Sequence[str] | None) -> None:
        if not table.max_steps and not table.ends.any():
            raise ArgumentError(
                "expected a table whose episodes end, found one without ends and without a step "
                "limit: tabulate gymnasium.wrappers.TimeLimit(env, max_episode_steps)"
            )
        self.n_actions = table.successors.shape[1]
        space = spaces.Discrete(self.n_actions)
        self.action_names = table.action_names if names is None else checked_names(names, space)
        columns = (table.successors.tolist(), table.rewards.tolist(), table.ends.tolist())
        self.rows = [list(zip(*row, strict=True)) for row in zip(*columns, strict=True)]
        self.limit = table.max_steps or -1
        self.state = self.steps = 0

    def reset(self) -> Key:
        self.state = self.steps = 0
        return 0

    def step(self, action: int) -> Step:
        self.state, reward, end = self.rows[self.state][action]
        self.steps += 1
        return self.state, reward, end, self.steps == self.limit, action


class _GymSteps:
    """Steps in a Gymnasium environment, with observations as keys of the states."""

    def __init__(self, env: gym.Env[Any, Any], seed: int, names: Sequence[str] | None) -> None:
        if not isinstance(env, gym.Env):
            raise ArgumentTypeError(
                f"expected a Gymnasium environment or a Table, found {type(env).__name__}"
            )
        check_space(env.action_space)
        self.env = env
        self.n_actions = int(env.action_space.n)  # type: ignore[attr-defined]
        self.action_names = action_names(env, names)
        self.seed: int | None = seed

    def reset(self) -> Key:
        observation, _ = self.env.reset(seed=self.seed)
        self.seed = None
        return observation_key(observation)

    def step(self, action: int) -> Step:
        observation, reward, terminated, truncated, info = self.env.step(action)
        executed = executed_action(info[EXECUTED], self.n_actions) if EXECUTED in info else action
        return observation_key(observation), float(reward), terminated, truncated, executed
