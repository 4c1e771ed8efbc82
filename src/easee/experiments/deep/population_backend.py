"""The paper's DQN experiments as one program: all runs of a task side by side."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

from easee.experiments.deep.tasks import TASKS, hyperparameters
from easee.experiments.harness.explorers import agent_seed
from easee.experiments.harness.figure import Measured, Run
from easee.experiments.harness.learning_curves import METRIC
from easee.experiments.harness.population_backend import PopulationBackend

if TYPE_CHECKING:
    from easee.agents.population import Curves, Population
    from easee.agents.population.atari import AtariPopulation


def make_population(runs: list[Run]) -> Population | AtariPopulation:
    """Return the population of runs with the same task, steps and environment."""
    from easee.agents.population import Settings

    task, steps = TASKS[runs[0].settings["task"]], runs[0].settings["steps"]
    settings = Settings(steps, **hyperparameters(task, steps))
    population: Population | AtariPopulation
    population = task.make_population(runs, list(map(agent_seed, runs)), settings)
    return population


def _measured(run: Run, curves: Curves, index: int) -> Measured:
    return [(step, METRIC, value) for step, value in curves.points(index)]


def _together(run: Run) -> str:
    return repr([run.settings.get(name) for name in ("task", "steps", "env")])


def _check_extras(runs: list[Run]) -> None:
    for name in {run.settings["task"] for run in runs}:
        resolve_name(TASKS[name].population)  # its import names a missing extra


BACKEND = PopulationBackend(lambda runs: make_population(runs), _measured, _together, _check_extras)
