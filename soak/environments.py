"""Hostile environments for `verify` and `discover`.

The environments are random tables of states and actions, most of them with a fault: they raise
errors, share state between copies, count steps, return odd observations, or are random. Both
functions must return, or raise an error of the library. Where the table is honest, what they say
must be true of it.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

import easee
from easee import Equivalences
from easee.errors import EaseeError
from soak.attack import Attack, Case, Counts, Finding, expect

FAULTS = (
    "none",
    "none",
    "none",
    "raises in step",
    "raises in reset",
    "cannot be copied",
    "copies share state",
    "counts steps",
    "is random",
    "ignores the seed",
    "nan observations",
    "same array",
    "object observations",
    "nested observations",
    "text observations",
    "returns four values",
    "returns None",
    "continuous actions",
    "actions from 1",
    "no actions",
    "truncates at once",
    "terminates at once",
    "wrong action names",
    "numbers as action names",
    "many action names",
    "flags as arrays",
    "infinite reward",
    "recursive",
)
LONG = 500  # steps of a random walk


class HostileError(Exception):
    """What a hostile environment raises."""


class TableEnv(gym.Env[Any, Any]):
    """A deterministic table with a fault."""

    def __init__(self, table: list[list[int]], starts: list[int], fault: str) -> None:
        self.table, self.starts, self.fault = table, starts, fault
        self.at = self.time = 0
        self.shared: list[int] = [0]
        k = len(table[0])
        self.observation_space = gym.spaces.Discrete(len(table))
        self.action_space: Any = gym.spaces.Discrete(k)
        if fault == "continuous actions":
            self.action_space = gym.spaces.Box(-1.0, 1.0, (2,))
        if fault == "actions from 1":
            self.action_space = gym.spaces.Discrete(k, start=1)
        if fault == "no actions":
            self.action_space = None
        names: dict[str, Any] = {
            "wrong action names": ["a"] * k,
            "numbers as action names": list(range(k)),
            "many action names": [f"a{i}" for i in range(k + 1)],
        }
        if fault in names:
            self.action_names = names[fault]

    def __deepcopy__(self, memo: Any) -> TableEnv:
        if self.fault == "cannot be copied":
            raise HostileError("cannot be copied")
        new = TableEnv(self.table, self.starts, self.fault)
        new.at, new.time, new.shared = self.at, self.time, self.shared
        new.np_random = np.random.default_rng()
        new.np_random.bit_generator.state = self.np_random.bit_generator.state
        return new

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Start at one of the initial states."""
        if self.fault == "raises in reset":
            raise HostileError("reset")
        super().reset(seed=None if self.fault == "ignores the seed" else seed)
        self.at = self.starts[int(self.np_random.integers(len(self.starts)))]
        self.shared[0] = self.at
        self.time = 0
        return self._observation(), {}

    def step(self, action: Any) -> Any:
        """Follow the table."""
        self.time += 1
        if self.fault == "raises in step" and self.time > 3:
            raise HostileError("step")
        if self.fault == "recursive" and self.time > 3:
            return self.step(action)
        if self.fault == "copies share state":
            self.at = self.shared[0]
        self.at = self.shared[0] = self.table[self.at][int(action)]
        if self.fault == "is random" and self.np_random.random() < 0.3:
            self.at = int(self.np_random.integers(len(self.table)))
        if self.fault == "returns None":
            return None
        flags: Any = (self.fault == "terminates at once", self.fault == "truncates at once")
        if self.fault == "flags as arrays":
            flags = np.array([False, False]), np.array([False])
        reward = float("inf") if self.fault == "infinite reward" else 0.0
        result = (self._observation(), reward, *flags, {})
        return result[:4] if self.fault == "returns four values" else result

    def _observation(self) -> Any:
        if self.fault == "same array":
            self._array = getattr(self, "_array", np.zeros(2))
            self._array[0] = self.at
            return self._array
        observations: dict[str, Any] = {
            "counts steps": (self.at, self.time),
            "nan observations": np.array([self.at, np.nan]),
            "object observations": np.array([self.at, {"a": [1]}], object),
            "nested observations": {"a": (self.at, {"b": np.eye(2) * self.at}), 3: []},
            "text observations": f"state {self.at}",
        }
        return observations.get(self.fault, self.at)


def draw(rng: np.random.Generator) -> Case:
    """Draw a table, a fault and some relations."""
    n, k = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    words = [rng.integers(0, k, rng.integers(0, 4)).tolist() for _ in range(6)]
    return {
        "table": rng.integers(0, n, (n, k)).tolist(),
        "starts": rng.integers(0, n, int(rng.integers(1, 4))).tolist(),
        "fault": str(rng.choice(FAULTS)),
        "pairs": [words[i : i + 2] for i in (0, 2, 4)],
        "usually": float(rng.choice([0.0, 0.1])),
        "seed": int(rng.integers(2**31)),
    }


def check(case: Case) -> Counts:
    """Verify some relations, and discover others."""
    env = TableEnv(case["table"], case["starts"], case["fault"])
    honest = case["fault"] == "none"
    counts = {"verified": _verify(env, case, honest), "discovered": _discover(env, case, honest)}
    return counts if all(counts.values()) else {**counts, "rejected": 1}


def _verify(env: TableEnv, case: Case, honest: bool) -> int:
    names = [str(i) for i in range(len(case["table"][0]))]
    pairs = [tuple([str(a) for a in word] for word in pair) for pair in case["pairs"]]
    omega = Equivalences(names, pairs)
    try:
        found = easee.verify(env, omega, states=20, rollout=200, seed=case["seed"])
    except (EaseeError, HostileError) as error:
        _check_rejected(error, honest)
        return 0
    for relation in found.relations if honest else ():
        _check_relation(relation, case)
    return 1


def _check_relation(relation: Any, case: Case) -> None:
    """Check the violations of a relation against the table."""
    u, v = (tuple(map(int, word)) for word in (relation.left, relation.right))
    differing = [s for s in _reachable(case) if _end(case, s, u) != _end(case, s, v)]
    holds = "verify reports violations of a relation that holds in every state"
    expect(bool(differing) or not relation.violations, holds)
    everywhere = len(differing) == len(_reachable(case))
    fails = "verify misses violations of a relation that fails in every state"
    expect(not everywhere or relation.violations == relation.trials, fails)


def _discover(env: TableEnv, case: Case, honest: bool) -> int:
    try:
        found = easee.discover(
            env,
            max_length=3,
            states=60,
            rollout=LONG,
            usually=case["usually"],
            seed=case["seed"],
            budget=50_000,
        )
    except (EaseeError, HostileError) as error:
        _check_rejected(error, honest)
        return 0
    if honest:
        _check_discovered(found.equivalences.exact, case)
    return 1


def _check_discovered(omega: Equivalences, case: Case) -> None:
    """Check that discovered relations hold in states that the search cannot have missed."""
    common = _common(case)
    for pair in omega.pairs:
        u, v = (omega.indices(word) for word in pair)
        wrong = [s for s in common if _end(case, s, u) != _end(case, s, v)]
        expect(not wrong, "discover returns an exact relation that fails in a common state")


def _check_rejected(error: Exception, honest: bool) -> None:
    if honest and not isinstance(error, EaseeError):
        raise Finding(f"an honest environment was rejected with {type(error).__name__}")


def _end(case: Case, state: int, word: tuple[int, ...]) -> int:
    for action in word:
        state = case["table"][state][action]
    return state


def _reachable(case: Case) -> set[int]:
    seen = set(case["starts"])
    queue = list(seen)
    for state in queue:  # grows during the loop
        for head in case["table"][state]:
            if head not in seen:
                seen.add(head)
                queue.append(head)
    return seen


def _common(case: Case) -> list[int]:
    """Return the states where a random walk from any state is in at least a quarter of its steps.

    From any state: a search with few steps sees few episodes, and perhaps not every start.
    """
    n, k = len(case["table"]), len(case["table"][0])
    moves = np.zeros((n, n))
    for state, heads in enumerate(case["table"]):
        for head in heads:
            moves[state, head] += 1.0 / k
    at, shares = np.eye(n), np.zeros((n, n))  # by start and state
    for _ in range(LONG):
        at = at @ moves
        shares += at / LONG
    least = shares[sorted(_reachable(case))].min(axis=0)
    return [state for state in range(n) if least[state] >= 0.25]


ATTACK = Attack(
    "environments",
    "random and hostile environments for verify and discover, against their tables",
    draw,
    check,
    gigabytes=8.0,
)
