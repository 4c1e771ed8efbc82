"""Train the runs of hard tasks as populations, and measure their success."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from easee.experiments.hard.arms import discovered, make_bonus, make_tables
from easee.experiments.hard.tasks import BINS, LEARNER, TASKS
from easee.experiments.harness.explorers import agent_seed
from easee.experiments.harness.figure import Measured, Run
from easee.experiments.harness.population_backend import PopulationBackend

if TYPE_CHECKING:
    from easee.agents.population import Curves, Population

SUCCESS, COST = "success", "steps of discovery"


def make_population(runs: list[Run]) -> Population:
    """Return the population of runs with the same task, steps, learner and bonus."""
    from easee.agents.population import Population, Settings

    settings = runs[0].settings
    task = TASKS[settings["task"]]
    learner = {**LEARNER, **settings.get("learner", task.learner)}
    network = task.make_network(layer_norm=learner.pop("layer_norm", True))
    return Population(
        task.make_world(),
        [make_tables(run.settings, run.seed) for run in runs],
        list(map(agent_seed, runs)),
        Settings(settings["steps"], **learner),
        network,
        bins=BINS,
        bonus=make_bonus(settings),
    )


def measured(run: Run, curves: Curves, index: int) -> Measured:
    """Return the share of successful episodes in each part of training.

    A run in which no episode ended has had no success. The steps of discovery come first, without
    any success, and count as steps of training.
    """
    steps = run.settings["steps"]
    points = [(step, round(value, 4)) for step, value in curves.success(index)] or [(steps, 0.0)]
    if run.settings["explorer"] != "discovered":
        return [(step, SUCCESS, value) for step, value in points]
    cost = discovered(run.settings["task"], run.seed)[1]
    width = steps / BINS
    bins_lost = min(BINS, math.ceil(cost / width))
    rows = [(round(width * (i + 1)), SUCCESS, 0.0) for i in range(bins_lost)]
    later = [(round(step + bins_lost * width), SUCCESS, value) for step, value in points]
    return [(steps, COST, float(cost)), *rows, *(row for row in later if row[0] <= steps)]


def _together(run: Run) -> str:
    names = ("task", "steps", "learner", "weight")
    return repr([make_bonus(run.settings), *(run.settings.get(name) for name in names)])


def check_extras(runs: list[Run]) -> None:
    """Raise an error if an extra is missing that the runs need."""
    import easee.agents.population  # noqa: F401  (names a missing extra)

    for name in {run.settings["task"] for run in runs}:
        TASKS[name].make_world()


BACKEND = PopulationBackend(make_population, measured, _together, check_extras)
