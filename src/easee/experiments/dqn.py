"""DQN experiments with Stable-Baselines3: what Catcher and the Atari games have in common.

A task is data: its environment, prior and the paper's hyperparameters. A run may be shorter than
the paper's; then warm-up and annealing take the same fraction of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from easee import priors
from easee.experiments.arms import generator, make_explorer
from easee.experiments.curves import binned, plot_learning, summary
from easee.experiments.progress import report
from easee.experiments.runs import Figure, Measured, Row, Run

ARMS = {
    "uniform": "epsilon-greedy",
    "easee": "EASEE",
    "zeta": "temporally extended, µ = 2",
}


@dataclass(frozen=True)
class Task:
    """A learning task with the paper's hyperparameters.

    Attributes:
        name: of the figure.
        prior: the ready-made prior.
        depth: of EASEE's graph.
        paper_steps: how long the paper trains.
        paper_seeds: how many seeds it has.
        buffer_size: of the replay buffer.
        exploration_fraction: of training, over which epsilon goes from 1 to its end.
        exploration_final_eps: that end.
        learning_rate: of Adam.
        batch_size: of an update.
        train_freq: steps between two updates.
        target_update_interval: steps between two copies to the target network.
        paper_learning_starts: steps before the first update. The paper leaves it at
            Stable-Baselines3's default, which then was 50,000.
        bins: points of the curve.
        rewards: the smallest and the largest that an episode can have, if that is known.
    """

    name: str
    prior: str
    depth: int
    paper_steps: int
    paper_seeds: int
    buffer_size: int
    exploration_fraction: float
    exploration_final_eps: float
    learning_rate: float = 1e-4
    batch_size: int = 32
    train_freq: int = 4
    target_update_interval: int = 1000
    paper_learning_starts: int = 50_000
    bins: int = 50
    rewards: tuple[float, float] | None = None


CATCHER = Task(
    name="catcher",
    prior="catcher",
    depth=30,
    paper_steps=300_000,
    paper_seeds=20,
    buffer_size=10_000,
    exploration_fraction=0.2,
    exploration_final_eps=0.05,
    rewards=(-1.0, 1.0),
)
FREEWAY = Task(
    name="freeway",
    prior="freeway",
    depth=4,
    paper_steps=10_000_000,
    paper_seeds=20,
    buffer_size=100_000,
    exploration_fraction=0.1,
    exploration_final_eps=0.01,
)
BOXING = replace(FREEWAY, name="boxing", prior="boxing", paper_seeds=10)
CARNIVAL = replace(FREEWAY, name="carnival", prior="carnival", paper_seeds=10)
TASKS = {task.name: task for task in (CATCHER, FREEWAY, BOXING, CARNIVAL)}


def runs(task: Task, steps: int) -> Callable[[int], list[Run]]:
    """Return the function from a number of seeds to the runs of a task."""
    settings: dict[str, dict[str, Any]] = {
        name: {"task": task.name, "steps": steps, "explorer": name} for name in ARMS
    }
    settings["easee"] |= {"prior": task.prior, "depth": task.depth}

    def of_seeds(seeds: int) -> list[Run]:
        return [Run(arm, seed, settings[arm]) for seed in range(seeds) for arm in ARMS]

    return of_seeds


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
    options = hyperparameters(task, steps)
    model = DQN(env=make_env(task), explorer=explorer, seed=seed, device="cpu", **options)
    ends: list[tuple[int, float]] = []

    class Listen(BaseCallback):
        def _on_step(self) -> bool:
            for info in self.locals["infos"]:
                if "episode" in info:
                    ends.append((self.num_timesteps, info["episode"]["r"]))
            report(run.key, self.num_timesteps / steps)
            return True

    model.learn(steps, callback=Listen(), log_interval=10**9)
    when, rewards = np.array(ends or [(steps, 0.0)]).T
    return binned(when, rewards, total=steps, bins=task.bins)


def hyperparameters(task: Task, steps: int) -> dict[str, Any]:
    """Return the arguments of DQN for a run of so many steps."""
    from easee.agents.sb3_networks import CatcherCnn

    options: dict[str, Any] = {
        "policy": "CnnPolicy",
        "learning_rate": task.learning_rate,
        "buffer_size": min(task.buffer_size, steps),
        "learning_starts": task.paper_learning_starts * steps // task.paper_steps,
        "batch_size": task.batch_size,
        "train_freq": task.train_freq,
        "target_update_interval": task.target_update_interval,
        "exploration_fraction": task.exploration_fraction,
        "exploration_final_eps": task.exploration_final_eps,
    }
    if task is CATCHER:
        return options | {"policy_kwargs": {"features_extractor_class": CatcherCnn}}
    # Half the memory: one copy of every frame stack instead of two.
    no_timeouts = {"handle_timeout_termination": False}
    return options | {"optimize_memory_usage": True, "replay_buffer_kwargs": no_timeouts}


def make_env(task: Task) -> Any:
    """Return the environment of a task, for Stable-Baselines3."""
    if task is CATCHER:
        from easee.envs import Catcher

        return Catcher()
    from easee.agents.sb3_vector import VectorAdapter
    from easee.envs.atari import Atari

    return VectorAdapter(Atari(task.name, threads=1))


def make_figure(task: Task, title: str, *, steps: int, seeds: int, folder: str = "") -> Figure:
    """Return the figure of a task.

    Args:
        task: what is learned.
        title: one line.
        steps: how long a run trains.
        seeds: how many seeds.
        folder: of the results; by default the figure's name.
    """
    folder = folder or task.name
    reduced = _reduction(task, steps, seeds)

    def table(rows: list[Row]) -> list[list[str]]:
        # A short run may have no episode that ended in its last tenth: then the last one counts.
        after = min(round(0.9 * steps), max(row.step for row in rows) - 1)
        what = "mean reward, last tenth"
        return summary(rows, labels(task), baseline="uniform", after=after, what=what)

    def plot(rows: list[Row], place: Path) -> list[Path]:
        found = len({row.seed for row in rows})
        return [
            plot_learning(
                rows,
                place / f"{task.name}.png",
                arms=labels(task),
                baseline="uniform",
                title=f"DQN on {task.name.capitalize()}, {found} seeds, 95% intervals",
                caption=_reduction(task, steps, found),
                limits=task.rewards,
            )
        ]

    return Figure(
        name=task.name,
        title=title,
        runs=runs(task, steps),
        seeds=seeds,
        measure=measure,
        plot=plot,
        table=table,
        config=_config(task) | {"steps": steps, "agent": "stable-baselines3"},
        folder=folder,
        steps=steps,
        resized=lambda n: make_figure(task, title, steps=n, seeds=seeds, folder=f"{task.name}-{n}"),
        reduced=reduced,
    )


def _config(task: Task) -> dict[str, Any]:
    """Return what the results depend on; the limits of a picture are not."""
    return {key: value for key, value in asdict(task).items() if key != "rewards"}


def labels(task: Task) -> dict[str, str]:
    """Return what the arms are called in a picture."""
    return ARMS | {"easee": f"EASEE, depth {task.depth}"}


def _reduction(task: Task, steps: int, seeds: int) -> str:
    """Say what is less than in the paper."""
    less = []
    if steps < task.paper_steps:
        less.append(f"{steps:,} steps instead of {task.paper_steps:,}")
    if seeds < task.paper_seeds:
        less.append(f"{seeds} seeds instead of {task.paper_seeds}")
    return f"Reduced against the paper: {' and '.join(less)}." if less else ""
