"""`hard-ppo`: PPO where a reward must be found, with EASEE as its reference policy."""

from __future__ import annotations

from easee.experiments.hard.arms import PPO_COUNT_WEIGHT, PPO_RND_WEIGHT
from easee.experiments.hard.comparison import Comparison
from easee.experiments.hard.ppo_training import (
    BACKEND,
    LEARNER,
    REFERENCES,
    STEPS,
)
from easee.experiments.hard.tasks import BINS, TASKS

WEIGHTS = {"count": PPO_COUNT_WEIGHT, "rnd": PPO_RND_WEIGHT}

COMPARISON = Comparison(
    name="hard-ppo",
    title="PPO where a reward must be found",
    labels=REFERENCES,
    baseline="plain",
    steps=STEPS,
    methods={task: list(REFERENCES) for task in TASKS},
    backend=BACKEND,
    config={
        "learner": dict(LEARNER),
        "bins": BINS,
        "weights": WEIGHTS,
        "tasks": {name: task.knowledge for name, task in TASKS.items()},
    },
    settings={name: {"weight": weight} for name, weight in WEIGHTS.items()},
)
make_figure = COMPARISON.figure
FIGURE = make_figure()
