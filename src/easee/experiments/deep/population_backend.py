"""DQN experiments as one program: all runs of a task side by side, with checkpoints on the way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from easee import priors
from easee.experiments.deep.tasks import CATCHER, TASKS, field, hyperparameters
from easee.experiments.harness.explorers import generator, make_explorer, policy_of
from easee.experiments.harness.figure import Measured, Row, Run
from easee.experiments.harness.learning_curves import METRIC
from easee.experiments.harness.progress import report_all
from easee.experiments.harness.store import Store

if TYPE_CHECKING:
    from easee.agents.population import Curves, Population
    from easee.agents.population.atari import AtariPopulation
    from easee.explorers.jax import Tables

PATIENCE = 2.0  # seconds between two looks at how far it is
PAUSE = 60.0  # seconds between two checkpoints, or
WORTH = 20.0  # so many times what one takes, if that is more


def check_population(runs: list[Run]) -> None:
    """Raise an error that says which extra is missing, if one is."""
    from easee.agents.population import Population  # noqa: F401

    if any(TASKS[run.settings["task"]] is not CATCHER for run in runs):
        from easee.agents.population.atari import AtariPopulation  # noqa: F401


def do_together(runs: list[Run], store: Store) -> Iterator[tuple[Run, Measured]]:
    """Do runs, all that can be in step at a time, and yield them when they are done.

    A checkpoint is written every minute, and what is known so far is shown beside it. Runs that
    were interrupted go on from there if the same ones are asked for.
    """
    parts: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        kind = tuple(run.settings.get(name) for name in ("task", "steps", "width"))
        parts.setdefault(kind, []).append(run)
    for part in parts.values():
        population = make_population(part)
        file = store.checkpoint(part)
        if file.exists():
            population.load(file)
        for curves in _advancing(population, file):
            shares = min(population.steps / part[0].settings["steps"], 1.0)
            report_all([run.key for run in part], shares)
            if curves is not None:
                store.show(_rows(store.figure.name, part, curves))
        curves = population.curves()
        done = [(run, _measured(curves, i)) for i, run in enumerate(part)]
        for run, measured in done:  # all, before anybody can stop between two of them
            store.add(run, store.figure.rows(run, measured))
        file.unlink(missing_ok=True)
        yield from done


def _advancing(population: Population | AtariPopulation, file: Path) -> Iterator[Curves | None]:
    """Train to the end, looking up now and then; with curves when a checkpoint was written."""
    steps, wait, written = population.settings.train_freq, PAUSE, time.monotonic()
    while not population.finished:
        began = time.monotonic()
        curves = population.advance(steps)
        now = time.monotonic()
        steps = max(1, min(round(steps * PATIENCE / (now - began)), 4 * steps))
        due = now - written > wait and not population.finished
        if due:
            population.save(file)
            written = time.monotonic()
            wait = max(PAUSE, WORTH * (written - now))
        yield curves if due else None


def make_population(runs: list[Run]) -> Population | AtariPopulation:
    """Return the population of runs of one task."""
    from easee.agents.population import Population, Settings
    from easee.agents.population.networks import CATCHER as CATCHER_NETWORK
    from easee.envs.jax import Catcher

    settings = runs[0].settings
    task = TASKS[settings["task"]]
    n_actions = len(priors.get(task.prior).actions)
    seeds = [int(generator(run).integers(2**31)) for run in runs]
    steps = settings["steps"]
    chosen = Settings(steps, **hyperparameters(task, steps))
    if task is CATCHER:
        world = Catcher(*field(settings))
        kinds = {run.arm: run for run in runs}
        made = {arm: _tables(run, n_actions) for arm, run in kinds.items()}
        tables = [made[run.arm] for run in runs]
        return Population(world, tables, seeds, chosen, CATCHER_NETWORK, task.bins)
    from easee.agents.population.atari import AtariPopulation

    explorers = [make_explorer(run, n_actions) for run in runs]
    return AtariPopulation(task.name, explorers, seeds, chosen, bins=task.bins)


def _tables(run: Run, n_actions: int) -> Tables:
    from easee.explorers import jax as explorers

    kind = run.settings["explorer"]
    if kind == "uniform":
        return explorers.uniform(n_actions)
    if kind == "zeta":
        return explorers.zeta(n_actions)
    return explorers.from_policy(policy_of(run.settings["prior"], run.settings["depth"]))


def _measured(curves: Curves, run: int) -> Measured:
    return [(step, METRIC, value) for step, value in curves.points(run)]


def _rows(figure: str, runs: list[Run], curves: Curves) -> list[Row]:
    return [
        Row(figure, run.arm, run.seed, *values)
        for i, run in enumerate(runs)
        for values in _measured(curves, i)
    ]
