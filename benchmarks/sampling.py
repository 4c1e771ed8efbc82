"""The time of `Explorer.choose` and `step` per step, against plain epsilon-greedy."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

import easee
from easee.envs.grids import CardinalGrid
from easee.experiments.coverage.simulation import unique_states, walk


def per_call(work: Callable[[], Any], calls: int, rounds: int = 7) -> float:
    """Return the shortest mean time of a call over several rounds, in seconds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            work()
        best = min(best, (time.perf_counter() - start) / calls)
    return best


def measure() -> dict[str, float]:
    """Return nanoseconds per environment and step."""
    policy = easee.compile(easee.priors.get("cardinal-grid"), 6)
    return {
        "easee, 1024 environments": _many(policy, 1024),
        "easee, 64 environments": _many(policy, 64),
        "easee, 1 environment": _one(policy),
        "coverage simulation, 1000 walkers": _walkers(policy, 1000),
        "Discrete.sample and a coin, 1 environment": _discrete(),
    }


def _many(policy: easee.ExplorationPolicy, n: int) -> float:
    explorer = easee.Explorer(policy, n, seed=0)
    greedy = np.random.default_rng(0).integers(4, size=n)
    dones = np.zeros(n, bool)

    def step() -> None:
        explorer.step(explorer.choose(greedy, 0.5), dones)

    return 1e9 * per_call(step, 300) / n


def _walkers(policy: easee.ExplorationPolicy, n: int) -> float:
    """Return the time of a walker's step in the coverage studies: exploring, moving, counting."""
    explorer = easee.Explorer(policy, n, seed=0)

    def episode() -> None:
        unique_states(walk(CardinalGrid, explorer, 100))

    return 1e9 * per_call(episode, 3) / (100 * n)


def _one(policy: easee.ExplorationPolicy) -> float:
    explorer = easee.Explorer(policy, 1, seed=0)
    greedy, dones = np.array([1]), np.array([False])

    def step() -> None:
        explorer.step(explorer.choose(greedy, 0.5), dones)

    return 1e9 * per_call(step, 3000)


def _discrete() -> float:
    """Return the time of epsilon-greedy without EASEE: draw a coin, sample the space."""
    space = gym.spaces.Discrete(4, seed=0)
    rng = np.random.default_rng(0)

    def step() -> Any:
        return rng.random() < 0.5, space.sample()

    return 1e9 * per_call(step, 3000)
