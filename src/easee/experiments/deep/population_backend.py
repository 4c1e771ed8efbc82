"""DQN experiments as one program: all runs of a task side by side, with checkpoints."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from easee.errors import ArgumentError
from easee.experiments.deep.tasks import TASKS, hyperparameters
from easee.experiments.harness.explorers import agent_seed
from easee.experiments.harness.figure import Done, Monitor, Options, Run
from easee.experiments.harness.learning_curves import METRIC
from easee.experiments.harness.rows import group

if TYPE_CHECKING:
    from easee.agents.population import Curves, Population
    from easee.agents.population.atari import AtariPopulation

INTERVAL = 2.0  # seconds between two progress reports
PAUSE = 60.0  # least number of seconds between two checkpoints
WORTH = 20.0  # least time between two checkpoints, in multiples of the time to write one


class PopulationBackend:
    """Trains all runs of a task as one program.

    A checkpoint is written every minute, together with the results so far. Interrupted runs resume
    from it if the same runs are requested again.
    """

    def check(self, runs: list[Run], options: Options) -> None:
        """Check that the required extras are installed."""
        if options != Options():
            raise ArgumentError("a population is one process: leave out --jobs and --address")
        for name in {run.settings["task"] for run in runs}:
            resolve_name(TASKS[name].population)  # its import names a missing extra

    def execute(self, runs: list[Run], options: Options, monitor: Monitor) -> Iterator[list[Done]]:
        """Train runs and yield those of a population when they are done."""
        for part in _populations(runs):
            population = make_population(part)
            file = monitor.checkpoint(part)
            if file.exists():
                population.load(file)
            for curves in _advancing(population, file):
                share = min(population.steps / part[0].settings["steps"], 1.0)
                for run in part:
                    monitor.report(run.key, share)
                if curves is not None:
                    monitor.show(_measured(part, curves))
            yield _measured(part, population.curves())
            file.unlink(missing_ok=True)


def _populations(runs: list[Run]) -> list[list[Run]]:
    """Group runs that can be trained side by side: same task, steps and environment."""
    shared = ("task", "steps", "env")
    parts = group(runs, lambda run: repr([run.settings.get(name) for name in shared]))
    return list(parts.values())


def _advancing(population: Population | AtariPopulation, file: Path) -> Iterator[Curves | None]:
    """Train to the end; yield regularly, with the curves whenever a checkpoint was written."""
    steps, wait, written = population.settings.train_freq, PAUSE, time.monotonic()
    while not population.finished:
        began = time.monotonic()
        curves = population.advance(steps)
        now = time.monotonic()
        steps = max(1, min(round(steps * INTERVAL / (now - began)), 4 * steps))
        due = now - written > wait and not population.finished
        if due:
            population.save(file)
            written = time.monotonic()
            wait = max(PAUSE, WORTH * (written - now))
        yield curves if due else None


def make_population(runs: list[Run]) -> Population | AtariPopulation:
    """Return the population of runs with the same task, steps and environment."""
    from easee.agents.population import Settings

    task, steps = TASKS[runs[0].settings["task"]], runs[0].settings["steps"]
    settings = Settings(steps, **hyperparameters(task, steps))
    population: Population | AtariPopulation
    population = task.make_population(runs, list(map(agent_seed, runs)), settings)
    return population


def _measured(runs: list[Run], curves: Curves) -> list[Done]:
    return [
        (run, [(step, METRIC, value) for step, value in curves.points(i)])
        for i, run in enumerate(runs)
    ]
