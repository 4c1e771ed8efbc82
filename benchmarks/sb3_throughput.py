"""Steps per second of our DQN and of Stable-Baselines3's, in turns in one process.

    python -m benchmarks.sb3_throughput

Both learn the same task with the same settings, a few hundred steps each in turn, so that noise of
the machine affects both. The explorer's policy has depth 30. Times are processor times.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import stable_baselines3
import torch
from gymnasium.wrappers import TimeLimit
from rich.console import Console
from rich.table import Table
from stable_baselines3.common.vec_env import DummyVecEnv

import easee
from easee.agents.sb3 import DQN
from easee.envs import Catcher, RotationGrid
from easee.experiments.harness.statistics import Estimate, ratio_interval

STEPS = 400  # per turn


def environments(task: str, count: int) -> DummyVecEnv:
    """Return a number of environments of a task."""
    if task == "Catcher":
        return DummyVecEnv([Catcher] * count)
    return DummyVecEnv([lambda: TimeLimit(RotationGrid(100), 100)] * count)


def models(task: str, count: int) -> dict[str, stable_baselines3.DQN]:
    """Return Stable-Baselines3's agent and ours, with the same settings."""
    # A constant epsilon: the mean of annealing from 1 to 0.05 over a tenth of training.
    options: dict[str, Any] = {"seed": 0, "learning_starts": 100, "buffer_size": 10_000}
    options |= {"exploration_initial_eps": 0.15, "exploration_final_eps": 0.15}
    name = "catcher" if task == "Catcher" else "rotation-grid-complete"
    policy = easee.compile(easee.priors.get(name), depth=30)
    return {
        "SB3": stable_baselines3.DQN("MlpPolicy", environments(task, count), **options),
        "EASEE": DQN("MlpPolicy", environments(task, count), explorer=policy, **options),
    }


def compare(task: str, count: int, turns: int) -> tuple[float, float, Estimate]:
    """Train both in turns; return their steps per second and the ratio with its interval."""
    agents = models(task, count)
    took: dict[str, list[float]] = {name: [] for name in agents}
    for turn in range(turns + 1):
        for name in sorted(agents, reverse=bool(turn % 2)):
            began = time.process_time()
            agents[name].learn(STEPS, reset_num_timesteps=False, log_interval=4)
            if turn:  # the first turn is warm-up
                took[name].append(time.process_time() - began)
    rates = {name: STEPS * turns / sum(values) for name, values in took.items()}
    return rates["SB3"], rates["EASEE"], ratio_interval(took["SB3"], took["EASEE"])


def main() -> None:
    """Run the measurements and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=30)
    turns = parser.parse_args().turns
    torch.set_num_threads(1)
    table = Table("task", "environments", "SB3, steps/s", "EASEE, steps/s", "ratio [95%]")
    for task in ("RotationGrid", "Catcher"):
        for count in (1, 4):
            sb3_rate, our_rate, ratio = compare(task, count, turns)
            interval = f"{ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"
            table.add_row(task, str(count), f"{sb3_rate:,.0f}", f"{our_rate:,.0f}", interval)
    Console().print(table)


if __name__ == "__main__":
    main()
