"""Tabular Q-learning with any explorer: Algorithm 2 of the paper without a network.

    Q(s, a) <- Q(s, a) + learning_rate * (r + discount * max Q(s', .) - Q(s, a))

Where nothing was learned yet all actions are equally good, and what an agent does there decides
how it explores, more than epsilon: with `ties="random"` it walks at random, whatever the explorer.
A random choice is what the explorer is there to replace, so by default it decides there too.

A step costs about two microseconds on a `Table`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from easee._utils.checks import checked_count, checked_share
from easee._utils.digests import digest
from easee.agents.compat import check_space, fitted
from easee.envs.action_names import action_names
from easee.envs.table import Table
from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers.base import BaseExplorer
from easee.policy import ExplorationPolicy

Schedule = Callable[[float], float]
Step = tuple[int, float, bool, bool]
BLOCK = 1024


class World(Protocol):
    """What the agent steps in: states are numbers."""

    n_actions: int
    action_names: tuple[str, ...] | None

    def reset(self) -> int: ...  # noqa: D102

    def step(self, action: int) -> Step: ...  # noqa: D102

    def name(self, state: int) -> bytes | int: ...  # noqa: D102


@dataclass(frozen=True)
class Learned:
    """What came out of learning.

    Attributes:
        rewards: float (episodes,), the sum of rewards of each.
        lengths: int (episodes,), their steps.
        values: from a state to the values of its actions. A state is its number in a `Table`, or
            the observation as bytes (a digest of those that are no array).
    """

    rewards: NDArray[np.float64]
    lengths: NDArray[np.int64]
    values: dict[bytes | int, list[float]]


def linear(start: float, end: float, fraction: float = 1.0) -> Schedule:
    """Return a schedule that goes linearly from start to end over a fraction of learning.

    >>> [linear(1.0, 0.5, 0.5)(x) for x in (0.0, 0.25, 0.5, 1.0)]
    [1.0, 0.75, 0.5, 0.5]
    """
    if not 0.0 < fraction <= 1.0:
        raise ArgumentError(f"expected a fraction above 0 and at most 1, found {fraction}")
    return lambda progress: start + (end - start) * min(progress / fraction, 1.0)


def learn(
    env: gym.Env[Any, Any] | Table,
    explorer: ExplorationPolicy | BaseExplorer,
    *,
    episodes: int,
    epsilon: float | Schedule = 0.1,
    learning_rate: float = 0.1,
    discount: float = 0.99,
    ties: str = "explore",
    seed: int = 0,
) -> Learned:
    """Learn action values with epsilon-greedy Q-learning; the explorer says how to explore.

    Args:
        env: a `Table`, or an environment with discrete actions whose observations are its states.
        explorer: for one environment, or a policy, which gets one; every action moves it.
        episodes: how many.
        epsilon: the chance to explore, or a function from the share of episodes done to it.
        learning_rate: of the update.
        discount: of the future.
        ties: what is greedy where actions are equally good: "random" one of them, the "first", or
            "explore", which leaves it to the explorer where all are, and is random otherwise.
        seed: of the ties, of the environment's first reset, and of a policy's explorer.

    >>> from easee.envs.grids import CardinalGrid
    >>> from easee.explorers.baselines import UniformExplorer
    >>> env = gym.wrappers.TimeLimit(CardinalGrid(5), 10)
    >>> learn(env, UniformExplorer(4, seed=0), episodes=3).lengths
    array([10, 10, 10])
    """
    seed = checked_count(seed, "seed", least=0)
    world: World = _TableWorld(env) if isinstance(env, Table) else _EnvWorld(env, seed)
    ours = _fitted(explorer, world, seed)
    if ties not in ("explore", "random", "first"):
        raise ArgumentError(f"expected ties as 'explore', 'random' or 'first', found {ties!r}")
    rate = checked_share(learning_rate, "learning_rate")
    schedule = epsilon if callable(epsilon) else _constant(checked_share(epsilon, "epsilon"))
    greedy = _first if ties == "first" else _Random(seed, undecided=ties == "explore")
    learner = _Learner(world, ours, greedy, rate, checked_share(discount, "discount"))
    total = checked_count(episodes, "episodes")
    history = [learner.episode(checked_share(schedule(i / total), "epsilon")) for i in range(total)]
    values = {world.name(s): row for s, row in learner.rows.items()}
    rewards, lengths = zip(*history, strict=True)
    return Learned(np.array(rewards), np.array(lengths), values)


def _fitted(explorer: ExplorationPolicy | BaseExplorer, world: World, seed: int) -> BaseExplorer:
    ours = fitted(
        explorer, n_envs=1, n_actions=world.n_actions, names=world.action_names, seed=seed
    )
    if not isinstance(ours, BaseExplorer):
        raise ArgumentTypeError(
            f"expected an ExplorationPolicy or an explorer of easee, found {type(ours).__name__}"
        )
    return ours


def _constant(value: float) -> Schedule:
    return lambda progress: value


class _Learner:
    """The values so far, and an episode with them."""

    def __init__(
        self,
        world: World,
        explorer: BaseExplorer,
        greedy: Callable[[list[float]], int],
        rate: float,
        discount: float,
    ) -> None:
        self.world = world
        self.explorer = explorer
        self.greedy = greedy
        self.rate = rate
        self.discount = discount
        n_actions = world.n_actions
        self.rows: dict[int, list[float]] = defaultdict(lambda: [0.0] * n_actions)

    def episode(self, epsilon: float) -> tuple[float, int]:
        """Play and learn from one episode; return its reward and its length."""
        # Everything in local names: this loop is all that costs.
        rows, greedy, rate, discount = self.rows, self.greedy, self.rate, self.discount
        step, choose, report = self.world.step, self.explorer.choose_one, self.explorer.step_one
        row = rows[self.world.reset()]
        self.explorer.reset()
        total, length, done = 0.0, 0, False
        while not done:
            best = greedy(row)
            action = choose(best, epsilon) if best >= 0 else choose(0, 1.0)
            state, reward, terminated, truncated = step(action)
            following = rows[state]
            target = reward if terminated else reward + discount * max(following)
            row[action] += rate * (target - row[action])
            done = terminated or truncated
            report(action, done)
            row = following
            total += reward
            length += 1
        return total, length


def _first(row: list[float]) -> int:
    return row.index(max(row))


class _Random:
    """The best action, and a random one of them where there are several.

    Args:
        seed: of the choice.
        undecided: return -1 where all actions are equally good.
    """

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


class _TableWorld:
    """A table, with plain lists instead of arrays."""

    def __init__(self, table: Table) -> None:
        self.action_names: tuple[str, ...] | None = None
        self.n_actions = table.successors.shape[1]
        columns = (table.successors.tolist(), table.rewards.tolist(), table.ends.tolist())
        self.rows = [list(zip(*row, strict=True)) for row in zip(*columns, strict=True)]
        if not table.max_steps and not table.ends.any():
            raise ArgumentError(
                "expected a table whose episodes end, found one without an end and without a limit "
                "of steps: tabulate gymnasium.wrappers.TimeLimit(env, max_episode_steps)"
            )
        self.limit = table.max_steps or -1
        self.state = self.steps = 0

    def reset(self) -> int:
        self.state = self.steps = 0
        return 0

    def step(self, action: int) -> Step:
        self.state, reward, end = self.rows[self.state][action]
        self.steps += 1
        return self.state, reward, end, self.steps == self.limit

    def name(self, state: int) -> int:
        return state


class _EnvWorld:
    """An environment whose observations are numbered as they come."""

    def __init__(self, env: gym.Env[Any, Any], seed: int) -> None:
        if not isinstance(env, gym.Env):
            raise ArgumentTypeError(
                f"expected a Gymnasium environment or a Table, found {type(env).__name__}"
            )
        check_space(env.action_space)
        self.env = env
        self.n_actions = int(env.action_space.n)  # type: ignore[attr-defined]
        self.action_names = action_names(env)
        self.seed: int | None = seed
        self.numbers: dict[bytes, int] = {}
        self.names: list[bytes] = []

    def reset(self) -> int:
        observation, _ = self.env.reset(seed=self.seed)
        self.seed = None
        return self._number(observation)

    def step(self, action: int) -> Step:
        observation, reward, terminated, truncated, _ = self.env.step(action)
        return self._number(observation), float(reward), terminated, truncated

    def _number(self, observation: Any) -> int:
        key = _bytes(observation)
        number = self.numbers.setdefault(key, len(self.names))
        if number == len(self.names):
            self.names.append(key)
        return number

    def name(self, state: int) -> bytes:
        return self.names[state]


def _bytes(observation: Any) -> bytes:
    """Return what tells an observation from others; equal numbers are, whatever their kind."""
    if isinstance(observation, int | np.integer) and abs(int(observation)) < 2**63:
        return np.int64(observation).tobytes()
    if not isinstance(observation, np.ndarray | float | np.floating):
        return digest(observation)
    array = np.asarray(observation)
    return (array + 0 if array.dtype.kind == "f" else array).tobytes()  # 0.0 and -0.0 are equal
