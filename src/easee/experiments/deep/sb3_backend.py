"""DQN experiments with Stable-Baselines3: one run at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from easee import priors
from easee.experiments.deep.tasks import CATCHER, TASKS, Task, field, hyperparameters
from easee.experiments.harness.explorers import generator, make_explorer
from easee.experiments.harness.figure import Measured, Run
from easee.experiments.harness.learning_curves import binned
from easee.experiments.harness.progress import report


def measure(run: Run) -> Measured:
    """Train once; return the mean reward of the episodes in each part of training.

    The arm "uniform" is Stable-Baselines3's own DQN. Rewards are unclipped.
    """
    from easee.agents.sb3 import DQN  # isort: skip  (first: it says what is missing, if it is)
    import torch
    from stable_baselines3.common.callbacks import BaseCallback

    torch.set_num_threads(1)  # runs are side by side, one a core
    task, steps = TASKS[run.settings["task"]], run.settings["steps"]
    explorer = None
    if run.settings["explorer"] != "uniform":
        explorer = make_explorer(run, len(priors.get(task.prior).actions))
    seed = int(generator(run).integers(2**31))
    env, options = make_env(task, run.settings), arguments(task, steps)
    model = DQN(env=env, explorer=explorer, seed=seed, device="cpu", **options)
    ends: list[tuple[int, float]] = []

    class Listen(BaseCallback):
        def _on_step(self) -> bool:
            for info in self.locals["infos"]:
                if "episode" in info:
                    ends.append((self.num_timesteps, info["episode"]["r"]))
            report(run.key, self.num_timesteps / steps)
            return True

    model.learn(steps, callback=Listen(), log_interval=10**9)
    when, rewards = np.array(ends).reshape(-1, 2).T
    return binned(when, rewards, total=steps, bins=task.bins)


def arguments(task: Task, steps: int) -> dict[str, Any]:
    """Return the arguments of Stable-Baselines3's DQN for a run of so many steps."""
    from easee.agents.sb3.networks import CatcherCnn

    options = {"policy": "CnnPolicy"} | hyperparameters(task, steps)
    if task is CATCHER:
        return options | {"policy_kwargs": {"features_extractor_class": CatcherCnn}}
    # Half the memory: one copy of every frame stack instead of two.
    no_timeouts = {"handle_timeout_termination": False}
    return options | {"optimize_memory_usage": True, "replay_buffer_kwargs": no_timeouts}


def make_env(task: Task, settings: Mapping[str, Any]) -> Any:
    """Return the environment of a run, for Stable-Baselines3."""
    if task is CATCHER:
        from easee.envs import Catcher

        return Catcher(*field(settings))
    from easee.agents.sb3.vec_env import VectorAdapter
    from easee.envs.atari import Atari

    return VectorAdapter(Atari(task.name, threads=1))
