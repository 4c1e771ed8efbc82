"""`hard`: DQN where a reward must be found, with EASEE and with what one would use instead."""

from __future__ import annotations

from functools import partial

from easee.experiments.hard.arms import (
    COUNT_WEIGHT,
    EXPLORERS,
    MU,
    RND_WEIGHT,
    explorers_of,
)
from easee.experiments.hard.comparison import Comparison
from easee.experiments.hard.tasks import BINS, LEARNER, TASKS
from easee.experiments.hard.training import BACKEND
from easee.experiments.harness.figure import Figure, Run

SEEDS = 30


def make_runs(steps: int | None, seeds: int) -> list[Run]:
    """Return the runs of all tasks and explorers, seeds first within an arm."""
    return [
        Run(
            f"{task.name}/{name}",
            seed,
            {"task": task.name, "explorer": name, "steps": steps or task.steps},
        )
        for task in TASKS.values()
        for name in explorers_of(task)
        for seed in range(seeds)
    ]


def make_figure(steps: int | None = None) -> Figure:
    """Return the figure, with the tasks' own numbers of steps or another."""
    comparison = Comparison(EXPLORERS, "uniform", lambda task: steps or task.steps)
    return Figure(
        name="hard",
        title="DQN where a reward must be found",
        runs=partial(make_runs, steps),
        seeds=SEEDS,
        backends={"population": BACKEND},
        draw=partial(comparison.draw, "hard"),
        table=comparison.table,
        config={
            "learner": dict(LEARNER),
            "bins": BINS,
            "mu": MU,
            "count weight": COUNT_WEIGHT,
            "rnd weight": RND_WEIGHT,
            "steps": steps,
        },
        folder="hard" if steps is None else f"hard-{steps}",
        steps=steps,
        variants={"population": make_figure},
    )


FIGURE = make_figure()
