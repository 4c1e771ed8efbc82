"""DQN experiments with Stable-Baselines3: one run at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from easee.experiments.deep.tasks import TASKS, Task, hyperparameters
from easee.experiments.harness.explorers import agent_seed, make_explorer
from easee.experiments.harness.figure import Measured, Run
from easee.experiments.harness.learning_curves import binned
from easee.experiments.harness.progress import report

REPORTED = 100  # steps between two reports of the progress


def measure(run: Run) -> Measured:
    """Train once; return the mean reward of the episodes in each part of training.

    The arm "uniform" is Stable-Baselines3's own DQN. Rewards are unclipped.
    """
    from easee.agents.sb3 import DQN  # isort: skip  (first: its error names the missing extra)
    from stable_baselines3.common.callbacks import BaseCallback

    task, steps = TASKS[run.settings["task"]], run.settings["steps"]
    uniform = run.settings["explorer"] == "uniform"
    explorer = None if uniform else make_explorer(run, task.n_actions)
    ends: list[tuple[int, float]] = []

    class Listen(BaseCallback):
        def _on_step(self) -> bool:
            for info in self.locals["infos"]:
                if "episode" in info:
                    ends.append((self.num_timesteps, info["episode"]["r"]))
            if self.num_timesteps % REPORTED == 0:
                report(run.key, self.num_timesteps / steps)
            return True

    with _one_thread():
        model = DQN(
            env=task.make_env(run.settings.get("env", {})),
            explorer=explorer,
            seed=agent_seed(run),
            device="cpu",
            **arguments(task, steps),
        )
        model.learn(steps, callback=Listen(), log_interval=10**9)
    when, rewards = np.array(ends).reshape(-1, 2).T
    return binned(when, rewards, total=steps, bins=task.bins)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Limit PyTorch to one thread, since other runs use the other cores."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def arguments(task: Task, steps: int) -> dict[str, Any]:
    """Return the arguments of Stable-Baselines3's DQN for a number of training steps."""
    return task.sb3_arguments() | hyperparameters(task, steps)
