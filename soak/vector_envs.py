"""Stable-Baselines3 with environments in other processes, against the same ones in this process.

The number of processes must not change what is learnt, and the nodes of the explorer must follow
the actions that were executed. Environments that report nonsense, or have other actions, must be
rejected with an error that says what to do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv

import easee
from easee.agents.sb3 import DQN
from easee.errors import EaseeError
from soak.attack import Attack, Case, Counts, Finding, expect
from tests.agents.sb3 import models, on_policy

EXECUTED: dict[str, Any] = {
    "executed None": None,
    "executed text": "left",
    "executed 1.7": 1.7,
    "executed array": np.array([0, 1]),
    "executed -1": -1,
    "executed 7": 7,
}
FAULTS = ("none", "none", "none", "masks", "masks", "continuous", *EXECUTED)


class Sticky(gym.Wrapper[Any, Any, Any, Any]):
    """Sometimes executes the last action again, and reports the executed one or nonsense."""

    def __init__(self, env: gym.Env[Any, Any], fault: str) -> None:
        super().__init__(env)
        self.fault, self.last = fault, 0

    def step(self, action: Any) -> Any:
        """Execute the action, or the last one in every third step."""
        executed = self.last if self.env.unwrapped.time % 3 == 2 else int(action)  # type: ignore[attr-defined]
        self.last = executed
        *result, info = self.env.step(executed)
        return (*result, info | {"executed_action": EXECUTED.get(self.fault, executed)})


class Continuous(models.Line):
    """A line with a continuous action."""

    action_space = gym.spaces.Box(-1.0, 1.0, (1,))


def draw(rng: np.random.Generator) -> Case:
    """Draw environments, an algorithm and a fault."""
    return {
        "lengths": rng.integers(1, 12, int(rng.integers(1, 4))).tolist(),
        "algorithm": str(rng.choice(["DQN", "DQN", "PPO"])),
        "fault": str(rng.choice(FAULTS)),
        "sticky": bool(rng.random() < 0.3),
        "epsilon": float(rng.choice([0.0, 0.3, 1.0])),
        "steps": int(rng.integers(20, 120)),
        "seed": int(rng.integers(2**31)),
    }


def _make_env(length: int, fault: str, sticky: bool) -> gym.Env[Any, Any]:
    if fault == "continuous":
        return Continuous(length)
    if fault == "masks":
        return on_policy.MaskedGrid(length)
    env = models.Line(length)
    return Sticky(env, fault) if sticky or fault in EXECUTED else env


def _makers(case: Case) -> list[Callable[[], gym.Env[Any, Any]]]:
    fault, sticky = case["fault"], case["sticky"]
    return [partial(_make_env, length, fault, sticky) for length in case["lengths"]]


def check(case: Case) -> Counts:
    """Train with environments in other processes and in this one."""
    if case["fault"] in EXECUTED or case["fault"] == "continuous":
        return _check_rejected(case)
    first = _train(case, SubprocVecEnv(_makers(case), start_method="fork"))
    second = _train(case, DummyVecEnv(_makers(case)))
    expect(on_policy.same_parameters(first, second), "subprocesses change what is learnt")
    if case["algorithm"] == "DQN":
        models.assert_same_runs(first, second)
    return {case["algorithm"]: 1}


def _train(case: Case, envs: VecEnv) -> Any:
    try:
        model = _model(case, envs)
        record = models.Record()
        dqn = isinstance(model, DQN)
        model.learn(case["steps"], callback=record if dqn else None)
        if dqn:
            models.assert_followed(model, record, _policy(case).graph)
        if dqn and case["fault"] == "masks" and case["epsilon"] == 1.0:
            broken = sum(envs.get_attr("violations"))
            expect(not broken, "exploration takes actions that action_masks forbids")
        return model
    finally:
        envs.close()


def _policy(case: Case) -> easee.ExplorationPolicy:
    return models.TURNING if case["fault"] == "masks" else models.COMMUTING


def _model(case: Case, envs: VecEnv) -> Any:
    seed = case["seed"]
    if case["algorithm"] == "PPO":
        return on_policy.gradient(envs, _policy(case), seed=seed)
    epsilon = {"exploration_initial_eps": case["epsilon"], "exploration_final_eps": case["epsilon"]}
    return models.small(envs, _policy(case), seed=seed, learning_starts=10, **epsilon)


def _check_rejected(case: Case) -> Counts:
    envs = SubprocVecEnv(_makers(case), start_method="fork")
    try:
        _model(case, envs).learn(case["steps"])
    except EaseeError:
        return {"rejected": 1}
    except Exception as error:
        kind = type(error).__name__
        place = f"{case['algorithm']}, {case['fault']}"
        raise Finding(f"{place}: {kind}, which is no error of the library") from error
    finally:
        envs.close()
    raise Finding(f"{case['algorithm']}, {case['fault']}: accepted")


ATTACK = Attack(
    "vector-envs",
    "DQN and PPO with environments in subprocesses against the same ones in one process",
    draw,
    check,
    share=1.5,
    seconds=120.0,
    gigabytes=64.0,
)
