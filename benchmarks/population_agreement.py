"""Comparison of the population with Stable-Baselines3's DQN on a small task, over many seeds.

    python -m benchmarks.population_agreement [--seeds 40] [--jobs 2]

The task is a small Catcher that 6,000 steps learn about half, so that differences would show. The
mean rewards of the first and of the second half of training are compared over seeds: means with 95%
intervals, the interval of their difference (Welch), and the two-sample Kolmogorov-Smirnov test. The
explorers are uniform, which is Stable-Baselines3's own DQN, and EASEE.
"""

from __future__ import annotations

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.stats import ks_2samp, ttest_ind

import easee
from easee.experiments.harness.statistics import cell, mean_interval

WIDTH, HEIGHT = 10, 5
STEPS = 6000
OPTIONS: dict[str, Any] = {
    "learning_rate": 5e-4,
    "buffer_size": 2000,
    "learning_starts": 200,
    "batch_size": 32,
    "train_freq": 4,
    "target_update_interval": 200,
    "exploration_fraction": 0.5,
    "exploration_final_eps": 0.05,
}
Halves = NDArray[np.float64]  # (seeds, 2), mean rewards


def policy() -> easee.ExplorationPolicy:
    """Return EASEE's policy for the task."""
    return easee.compile(easee.priors.catcher(), depth=HEIGHT)


def sb3_run(arm: str, seed: int) -> list[float]:
    """Return the mean rewards of both halves of training with Stable-Baselines3."""
    import torch
    from stable_baselines3.common.monitor import Monitor

    from easee.agents.sb3 import DQN
    from easee.envs import Catcher

    torch.set_num_threads(1)
    env = Monitor(Catcher(WIDTH, HEIGHT))
    explorer = policy() if arm == "easee" else None
    model = DQN("MlpPolicy", env, explorer=explorer, seed=seed, device="cpu", **OPTIONS)
    model.learn(STEPS, log_interval=10**9)
    return [float(half.mean()) for half in np.split(np.array(env.get_episode_rewards()), 2)]


def sb3_rewards(arm: str, seeds: int, jobs: int) -> Halves:
    """Return the mean rewards of Stable-Baselines3 for a number of seeds."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        return np.array(list(pool.map(sb3_run, [arm] * seeds, range(seeds))))


def population_rewards(arm: str, seeds: int) -> Halves:
    """Return the mean rewards of the population for a number of seeds."""
    from easee.agents.population import Population, Settings
    from easee.envs.jax import Catcher
    from easee.explorers import jax as explorers

    tables = explorers.uniform(2) if arm == "uniform" else explorers.from_policy(policy())
    population = Population(
        Catcher(WIDTH, HEIGHT), [tables] * seeds, range(seeds), Settings(STEPS, **OPTIONS), bins=2
    )
    curves = population.advance()
    return np.asarray(curves.sums / curves.counts, float)


def main() -> None:
    """Run the measurements and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    table = Table("exploration", "half", "SB3", "population", "difference [95%]", "KS test, p")
    for arm in ("uniform", "easee"):
        theirs = sb3_rewards(arm, options.seeds, options.jobs)
        ours = population_rewards(arm, options.seeds)
        for half, first, second in zip(("first", "second"), theirs.T, ours.T, strict=True):
            low, high = ttest_ind(second, first, equal_var=False).confidence_interval()
            difference = f"{second.mean() - first.mean():+.3f} [{low:+.3f}, {high:+.3f}]"
            p = ks_2samp(first, second).pvalue
            means = [cell(mean_interval(values)) for values in (first, second)]
            table.add_row(arm, half, *means, difference, f"{p:.2f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
