"""`hard-ppo`: PPO where a reward must be found, with EASEE as its reference policy."""

from __future__ import annotations

from easee.experiments.hard.comparison import Comparison
from easee.experiments.hard.ppo_training import (
    BACKEND,
    LEARNER,
    MINIGRID_LEARNER,
    MINIGRID_RIVALS,
    REFERENCES,
    RIVALS,
    STEPS,
    rivals_of,
)
from easee.experiments.hard.tasks import BINS, TASKS

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
        "learner on MiniGrid": dict(MINIGRID_LEARNER),
        "bins": BINS,
        "rivals": dict(RIVALS),
        "rivals on MiniGrid": dict(MINIGRID_RIVALS),
        "tasks": {name: task.knowledge for name, task in TASKS.items()},
    },
    settings={name: rivals_of(task) for name, task in TASKS.items()},
)
make_figure = COMPARISON.figure
FIGURE = make_figure()
