"""`hard`: DQN where a reward must be found, with EASEE and with other ways to explore."""

from __future__ import annotations

from easee.experiments.hard.arms import EXPLORERS, explorers_of
from easee.experiments.hard.comparison import Comparison
from easee.experiments.hard.tasks import (
    BINS,
    LEARNER,
    MINIGRID_LEARNER,
    MINIGRID_RIVALS,
    RIVALS,
    TASKS,
)
from easee.experiments.hard.training import BACKEND

COMPARISON = Comparison(
    name="hard",
    title="DQN where a reward must be found",
    labels=EXPLORERS,
    baseline="uniform",
    steps={name: task.steps for name, task in TASKS.items()},
    methods={name: explorers_of(task) for name, task in TASKS.items()},
    backend=BACKEND,
    settings={name: task.rivals for name, task in TASKS.items()},
    config={
        "learner": dict(LEARNER),
        "learner on MiniGrid": dict(MINIGRID_LEARNER),
        "bins": BINS,
        "rivals": dict(RIVALS),
        "rivals on MiniGrid": dict(MINIGRID_RIVALS),
        "tasks": {name: task.knowledge for name, task in TASKS.items()},
    },
)
make_figure = COMPARISON.figure
FIGURE = make_figure()
