"""`hard-ppo-search`, `hard-ppo-search-minigrid`: PPO's coefficient and the rivals' weights.

The coefficient of the bonus is chosen for plain PPO by its mean success over training: on the
smallest goal grid, where the other settings are varied around it, and on a stock MiniGrid, which
has images. The weights of the rewards for novelty are then chosen the same way, with the learner
that is used in `hard-ppo`.
"""

from __future__ import annotations

from typing import Any

from easee.experiments.hard.ppo_training import (
    BACKEND,
    LEARNER,
    STEPS,
    learner_of,
    rivals_of,
)
from easee.experiments.hard.search import GOAL_GRID, MINIGRID, search_figure
from easee.experiments.hard.tasks import HardTask

BASE = dict(LEARNER) | {"ent_coef": 0.01}
# Each learner differs from `BASE` in one or two settings.
COEFFICIENTS: dict[str, dict[str, Any]] = {
    f"coefficient {c:g}": {"ent_coef": c} for c in (0.0, 0.001, 0.003, 0.01, 0.03, 0.1)
}
OTHERS: dict[str, dict[str, Any]] = {
    "learning rate 2.5e-4": {"learning_rate": 2.5e-4},
    "learning rate 1e-3": {"learning_rate": 1e-3},
    "10 epochs": {"n_epochs": 10},
    "batches of 128": {"batch_size": 128},
    "rollouts of 32 steps": {"n_steps": 32},
    "rollouts of 512 steps": {"n_steps": 512},
    "lambda 0.99": {"gae_lambda": 0.99},
    "Stable-Baselines3's defaults": {
        "learning_rate": 3e-4, "n_steps": 128, "batch_size": 64, "n_epochs": 10, "ent_coef": 0.0,
    },
}  # fmt: skip
WEIGHTS = (0.0003, 0.001, 0.003, 0.01, 0.03)
SEARCHED_WEIGHTS: dict[str, dict[str, Any]] = {
    f"{name}, weight {w:g}": {"explorer": name, "weight": w}
    for name in ("count", "rnd")
    for w in WEIGHTS
}


def _arms(task: HardTask) -> dict[str, dict[str, Any]]:
    common = {
        "task": task.name,
        "steps": STEPS[task.name],
        "explorer": "plain",
        "learner": BASE,
    }
    changes = COEFFICIENTS if task is MINIGRID else COEFFICIENTS | OTHERS
    learners = {f"plain/{name}": common | {"learner": BASE | v} for name, v in changes.items()}
    rivals = {
        name: settings | {"learner": dict(learner_of(task))}
        for name, settings in SEARCHED_WEIGHTS.items()
    }
    if task is GOAL_GRID:  # would the rivals be better with another coefficient than plain PPO's?
        rivals |= {
            f"{name}, weight {chosen['weight']:g}, coefficient {BASE['ent_coef']:g}": {
                "explorer": name
            }
            | dict(chosen)
            for name, chosen in rivals_of(task).items()
        }
    return learners | {f"rival/{name}": common | settings for name, settings in rivals.items()}


FIGURES = [
    search_figure(
        name,
        "PPO",
        task,
        STEPS[task.name],
        _arms(task),
        backend=BACKEND,
        base=BASE,
        of_rivals=learner_of(task),
    )
    for name, task in (("hard-ppo-search", GOAL_GRID), ("hard-ppo-search-minigrid", MINIGRID))
]
