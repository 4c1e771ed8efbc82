"""`hard-ppo`: PPO where a reward must be found, with EASEE as its reference policy."""

from __future__ import annotations

from functools import partial

from easee.experiments.hard.arms import PPO_COUNT_WEIGHT, PPO_RND_WEIGHT
from easee.experiments.hard.comparison import Comparison
from easee.experiments.hard.figure import SEEDS
from easee.experiments.hard.ppo_training import (
    BACKEND,
    LEARNER,
    REFERENCES,
    STEPS,
)
from easee.experiments.hard.tasks import BINS, TASKS
from easee.experiments.harness.figure import Figure, Run

WEIGHTS = {"count": PPO_COUNT_WEIGHT, "rnd": PPO_RND_WEIGHT}


def make_runs(steps: int | None, seeds: int) -> list[Run]:
    """Return the runs of all tasks and references, seeds first within an arm."""
    return [
        Run(
            f"{task}/{name}",
            seed,
            {
                "task": task,
                "explorer": name,
                "steps": steps or STEPS[task],
                **({"weight": WEIGHTS[name]} if name in WEIGHTS else {}),
            },
        )
        for task in TASKS
        for name in REFERENCES
        for seed in range(seeds)
    ]


def make_figure(steps: int | None = None) -> Figure:
    """Return the figure, with the tasks' own numbers of steps or another."""
    comparison = Comparison(REFERENCES, "plain", lambda task: steps or STEPS[task.name])
    return Figure(
        name="hard-ppo",
        title="PPO where a reward must be found",
        runs=partial(make_runs, steps),
        seeds=SEEDS,
        backends={"population": BACKEND},
        draw=partial(comparison.draw, "hard-ppo"),
        table=comparison.table,
        config={
            "learner": dict(LEARNER),
            "bins": BINS,
            "weights": WEIGHTS,
            "steps": steps,
        },
        folder="hard-ppo" if steps is None else f"hard-ppo-{steps}",
        steps=steps,
        variants={"population": make_figure},
    )


FIGURE = make_figure()
