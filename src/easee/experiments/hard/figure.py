"""`hard`: DQN where a reward must be found, with EASEE and with what one would use instead."""

from __future__ import annotations

from easee.experiments.hard.arms import (
    COUNT_WEIGHT,
    EXPLORERS,
    MU,
    RND_WEIGHT,
    explorers_of,
)
from easee.experiments.hard.comparison import Comparison
from easee.experiments.hard.tasks import BINS, LEARNER, MINIGRID_LEARNER, TASKS
from easee.experiments.hard.training import BACKEND

COMPARISON = Comparison(
    name="hard",
    title="DQN where a reward must be found",
    labels=EXPLORERS,
    baseline="uniform",
    steps={name: task.steps for name, task in TASKS.items()},
    methods={name: explorers_of(task) for name, task in TASKS.items()},
    backend=BACKEND,
    config={
        "learner": dict(LEARNER),
        "learner on MiniGrid": dict(MINIGRID_LEARNER),
        "bins": BINS,
        "mu": MU,
        "count weight": COUNT_WEIGHT,
        "rnd weight": RND_WEIGHT,
    },
)
make_figure = COMPARISON.figure
FIGURE = make_figure()
