"""`hard-ppo-search`: the choice of PPO's hyperparameters and of the rivals' parameters.

The coefficient of the bonus is chosen for plain PPO, on the smallest goal grid, by its mean success
over training; the other settings are varied around it. The weights of the rewards for novelty are
then chosen the same way, with the learner that is used in `hard-ppo`.
"""

from __future__ import annotations

from typing import Any

from easee.experiments.hard.ppo_training import BACKEND, LEARNER, RIVALS, STEPS
from easee.experiments.hard.search import GOAL_GRID, search_figure

TASK = GOAL_GRID
TOTAL = STEPS[TASK.name]
BASE = dict(LEARNER) | {"ent_coef": 0.01}
# Each learner differs from `BASE` in one or two settings.
LEARNERS: dict[str, dict[str, Any]] = {
    **{f"coefficient {c:g}": {"ent_coef": c} for c in (0.0, 0.001, 0.003, 0.01, 0.03, 0.1)},
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
OTHER_COEFFICIENT = {  # would the rivals be better with another coefficient than plain PPO's?
    f"{name}, weight {chosen['weight']:g}, coefficient {BASE['ent_coef']:g}": {"explorer": name}
    | chosen
    for name, chosen in RIVALS.items()
}


def _arms() -> dict[str, dict[str, Any]]:
    common = {"task": TASK.name, "steps": TOTAL, "explorer": "plain", "learner": BASE}
    learners = {f"plain/{name}": common | {"learner": BASE | v} for name, v in LEARNERS.items()}
    chosen = {
        name: settings | {"learner": dict(LEARNER)} for name, settings in SEARCHED_WEIGHTS.items()
    }
    rivals = chosen | OTHER_COEFFICIENT
    return learners | {f"rival/{name}": common | settings for name, settings in rivals.items()}


FIGURE = search_figure(
    "hard-ppo-search", "PPO", TASK, TOTAL, _arms(), backend=BACKEND, base=BASE, of_rivals=LEARNER
)
