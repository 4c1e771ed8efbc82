"""What DQN learns: Catcher and the Atari games, with the paper's hyperparameters.

A task is data. A run may be shorter than the paper's; then warm-up and annealing take the same
fraction of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


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


def hyperparameters(task: Task, steps: int) -> dict[str, Any]:
    """Return the arguments of DQN for a run of so many steps, by Stable-Baselines3's names."""
    return {
        "learning_rate": task.learning_rate,
        "buffer_size": min(task.buffer_size, steps),
        "learning_starts": task.paper_learning_starts * steps // task.paper_steps,
        "batch_size": task.batch_size,
        "train_freq": task.train_freq,
        "target_update_interval": task.target_update_interval,
        "exploration_fraction": task.exploration_fraction,
        "exploration_final_eps": task.exploration_final_eps,
    }


def field(settings: Mapping[str, Any]) -> tuple[int, int]:
    """Return width and height of Catcher's field in a run: it is twice as wide as it is high."""
    width = settings.get("width", 60)
    return width, width // 2
