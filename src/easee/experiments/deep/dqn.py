"""Figures about DQN: what Catcher and the Atari games have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from easee.experiments.deep.population_backend import do_together
from easee.experiments.deep.sb3_backend import measure
from easee.experiments.deep.tasks import Task
from easee.experiments.harness.figure import Figure, Row, Run
from easee.experiments.harness.learning_curves import plot_learning, summary

SB3, POPULATION = "stable-baselines3", "population"
FOLDERS = {SB3: "{name}-sb3", POPULATION: "{name}"}  # of the results
ARMS = {
    "uniform": "epsilon-greedy",
    "easee": "EASEE",
    "zeta": "temporally extended, µ = 2",
}


def runs(task: Task, steps: int) -> Callable[[int], list[Run]]:
    """Return the function from a number of seeds to the runs of a task."""
    settings: dict[str, dict[str, Any]] = {
        name: {"task": task.name, "steps": steps, "explorer": name} for name in ARMS
    }
    settings["easee"] |= {"prior": task.prior, "depth": task.depth}

    def of_seeds(seeds: int) -> list[Run]:
        return [Run(arm, seed, settings[arm]) for seed in range(seeds) for arm in ARMS]

    return of_seeds


def make_figure(
    task: Task,
    title: str,
    *,
    steps: int,
    seeds: int,
    folder: str = "",
    agent: str = SB3,
    population: Figure | None = None,
) -> Figure:
    """Return the figure of a task.

    Args:
        task: what is learned.
        title: one line.
        steps: how long a run trains.
        seeds: how many seeds.
        folder: of the results; by default the task's and the agent's names.
        agent: "stable-baselines3", or "population" for all runs as one program.
        population: the figure with the other agent.
    """
    return Figure(
        name=task.name,
        title=title,
        runs=runs(task, steps),
        seeds=seeds,
        measure=measure,
        plot=partial(_plot, task, steps),
        table=partial(_table, task, steps),
        config=config_of(task, steps, agent),
        folder=folder or FOLDERS[agent].format(name=task.name),
        steps=steps,
        resized=lambda n: make_figure(
            task,
            title,
            steps=n,
            seeds=seeds,
            agent=agent,
            folder=f"{FOLDERS[agent].format(name=task.name)}-{n}",
            population=population and population.with_steps(n),
        ),
        reduced=_reduction(task, steps, seeds),
        together=do_together if agent == POPULATION else None,
        population=population,
    )


def _table(task: Task, steps: int, rows: list[Row]) -> list[list[str]]:
    after = last_tenth(rows, steps)
    what = "mean reward, last tenth"
    return summary(rows, labels(task), baseline="uniform", after=after, what=what)


def _plot(task: Task, steps: int, rows: list[Row], folder: Path) -> list[Path]:
    seeds = len({row.seed for row in rows})
    remarks = (_reduction(task, steps, seeds), unfinished(rows, steps))
    return [
        plot_learning(
            rows,
            folder / f"{task.name}.png",
            arms=labels(task),
            baseline="uniform",
            title=f"DQN on {task.name.capitalize()}, {seeds} seeds, 95% intervals",
            caption=" ".join(filter(None, remarks)),
            limits=task.rewards,
        )
    ]


def last_tenth(rows: list[Row], steps: int) -> int:
    """Return after which step the last tenth of training begins.

    A short run may have no episode that ended there: then the last one counts.
    """
    return min(round(0.9 * steps), max(row.step for row in rows) - 1)


def config_of(task: Task, steps: int, agent: str) -> dict[str, Any]:
    """Return what the results depend on; the limits of a picture are not."""
    found = {key: value for key, value in asdict(task).items() if key != "rewards"}
    return found | {"steps": steps, "agent": agent}


def labels(task: Task) -> dict[str, str]:
    """Return what the arms are called in a picture."""
    return ARMS | {"easee": f"EASEE, depth {task.depth}"}


def unfinished(rows: list[Row], steps: int) -> str:
    """Say how far training is, if it has not come to its end; the last bin may have no episode."""
    reached = max(row.step for row in rows)
    return f"Not finished: shown up to step {reached:,}." if reached < 0.95 * steps else ""


def _reduction(task: Task, steps: int, seeds: int) -> str:
    """Say what is less than in the paper."""
    less = []
    if steps < task.paper_steps:
        less.append(f"{steps:,} steps instead of {task.paper_steps:,}")
    if seeds < task.paper_seeds:
        less.append(f"{seeds} seeds instead of {task.paper_seeds}")
    return f"Reduced against the paper: {' and '.join(less)}." if less else ""
