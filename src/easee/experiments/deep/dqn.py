"""Figures 4b, 4c, 7a and 7b: DQN on Catcher, Freeway, Boxing and Carnival.

A population trains all runs of a figure as one program, which takes minutes on a GPU. With
Stable-Baselines3, Catcher is reduced to what two cores can do in minutes; the Atari games have the
paper's size by default, which takes days on a CPU, and `--steps` and `--seeds` reduce them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from easee.experiments.deep.population_backend import PopulationBackend
from easee.experiments.deep.sb3_backend import measure
from easee.experiments.deep.tasks import BOXING, CARNIVAL, CATCHER, FREEWAY, Task
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.figure import Backend, Figure, Row, Run
from easee.experiments.harness.learning_curves import plot_learning, summary
from easee.experiments.harness.rows import count_seeds

SB3, POPULATION = "stable-baselines3", "population"
BACKENDS: dict[str, Mapping[str, Backend]] = {
    SB3: one_by_one(measure),
    POPULATION: {"population": PopulationBackend()},
}
FOLDERS = {SB3: "{name}-sb3", POPULATION: "{name}"}
LAST_TENTH = "mean reward, last tenth"
LABELS = {
    "uniform": "epsilon-greedy",
    "easee": "EASEE",
    "zeta": "temporally extended, µ = 2",
}


@dataclass(frozen=True)
class Comparison:
    """A comparison of explorers for DQN on a task: a figure for each agent and length of training.

    Attributes:
        name: name of the figure.
        title: one line.
        task: what is learned.
        arms: by arm, the settings of its explorer and, as `env`, options of its environment.
        sizes: by agent, the default numbers of steps and seeds; the first agent is the default.
        plot: from rows, a folder and the number of steps to pictures.
        table: from rows and the number of steps to the lines of a table.
        from_paper: whether the paper has this figure, so that reductions are reported.
    """

    name: str
    title: str
    task: Task
    arms: Mapping[str, dict[str, Any]]
    sizes: Mapping[str, tuple[int, int]]
    plot: Callable[[list[Row], Path, int], list[Path]]
    table: Callable[[list[Row], int], list[list[str]]]
    from_paper: bool = False

    def figure(self, agent: str | None = None, steps: int | None = None) -> Figure:
        """Return the figure for an agent and a number of steps, by default its own."""
        default_agent = next(iter(self.sizes))
        agent = agent or default_agent
        default, seeds = self.sizes[agent]
        total = steps or default
        folder = FOLDERS[agent].format(name=self.name)
        return Figure(
            name=self.name,
            title=self.title,
            runs=partial(self._runs, total),
            seeds=seeds,
            backends=BACKENDS[agent],
            plot=lambda rows, folder: self.plot(rows, folder, total),
            table=lambda rows: self.table(rows, total),
            config=self.task.config | {"steps": total, "agent": agent},
            folder=folder if total == default else f"{folder}-{total}",
            steps=total,
            reduced=_reduction(self.task, total, seeds) if self.from_paper else "",
            variants={
                backend: partial(self._variant, other, steps)
                for other in (self.sizes if agent == default_agent else [agent])
                for backend in BACKENDS[other]
            },
        )

    def _variant(self, agent: str, chosen: int | None, steps: int | None) -> Figure:
        return self.figure(agent, steps or chosen)

    def _runs(self, steps: int, seeds: int) -> list[Run]:
        common: dict[str, Any] = {"task": self.task.name, "steps": steps}
        return [
            Run(arm, seed, common | settings)
            for seed in range(seeds)
            for arm, settings in self.arms.items()
        ]


def last_tenth(rows: list[Row], steps: int) -> int:
    """Return the step after which the last tenth of training begins.

    In a short run no episode may have ended there: then the last one counts.
    """
    return min(round(0.9 * steps), max(row.step for row in rows) - 1)


def unfinished(rows: list[Row], steps: int) -> str:
    """Return a remark if training has not ended yet; the last bin may have no episode."""
    reached = max(row.step for row in rows)
    return f"Not finished: shown up to step {reached:,}." if reached < 0.95 * steps else ""


def _reduction(task: Task, steps: int, seeds: int) -> str:
    """Return a sentence about what is less than in the paper, or an empty string."""
    less = []
    if steps < task.paper_steps:
        less.append(f"{steps:,} steps instead of {task.paper_steps:,}")
    if seeds < task.paper_seeds:
        less.append(f"{seeds} seeds instead of {task.paper_seeds}")
    return f"Reduced against the paper: {' and '.join(less)}." if less else ""


# --- the paper's figures ----------------------------------------------------------------------


def _paper_figure(
    task: Task, title: str, *, sb3: tuple[int, int], population: tuple[int, int]
) -> Figure:
    """Return the figure of a task, given the numbers of steps and seeds for both agents."""
    easee = {"explorer": "easee", "prior": task.prior, "depth": task.depth}
    return Comparison(
        name=task.name,
        title=title,
        task=task,
        arms={"uniform": {"explorer": "uniform"}, "easee": easee, "zeta": {"explorer": "zeta"}},
        sizes={SB3: sb3, POPULATION: population},
        plot=partial(_plot, task),
        table=partial(_table, task),
        from_paper=True,
    ).figure()


def _labels(task: Task) -> dict[str, str]:
    return LABELS | {"easee": f"EASEE, depth {task.depth}"}


def _table(task: Task, rows: list[Row], steps: int) -> list[list[str]]:
    after = last_tenth(rows, steps)
    return summary(rows, _labels(task), baseline="uniform", after=after, what=LAST_TENTH)


def _plot(task: Task, rows: list[Row], folder: Path, steps: int) -> list[Path]:
    seeds = count_seeds(rows)
    remarks = (_reduction(task, steps, seeds), unfinished(rows, steps))
    return [
        plot_learning(
            rows,
            folder / f"{task.name}.png",
            arms=_labels(task),
            title=f"DQN on {task.name.capitalize()}, {seeds} seeds, 95% intervals",
            caption=" ".join(filter(None, remarks)),
            limits=task.rewards,
        )
    ]


CATCHER_FIGURE = _paper_figure(
    CATCHER, "Figure 4b: DQN on Catcher", sb3=(30_000, 3), population=(300_000, 20)
)
ATARI_FIGURES = [
    _paper_figure(
        task, title, sb3=(task.paper_steps, task.paper_seeds), population=(population_steps, 5)
    )
    for task, title, population_steps in (
        (FREEWAY, "Figure 4c: DQN on Freeway", 500_000),
        (BOXING, "Figure 7a: DQN on Boxing", 300_000),
        (CARNIVAL, "Figure 7b: DQN on Carnival", 300_000),
    )
]
