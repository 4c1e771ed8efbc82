"""Figures 4b, 4c, 7a and 7b: DQN on Catcher, Freeway, Boxing and Carnival.

A population trains all runs of a figure as one program, which takes minutes on a GPU. With
Stable-Baselines3, Catcher is reduced to what two cores can do in minutes; the Atari games have the
paper's size by default, which takes days on a CPU, and `--steps` and `--seeds` reduce them.
"""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from easee.experiments.deep.population_backend import BACKEND
from easee.experiments.deep.sb3_backend import measure
from easee.experiments.deep.tasks import BOXING, CARNIVAL, CATCHER, FREEWAY, Task
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.figure import Backend, Figure, Row, Run
from easee.experiments.harness.learning_curves import draw_against, draw_runs, summary
from easee.experiments.harness.plots import panels, steps_axis
from easee.experiments.harness.rows import count_seeds, seeds_text
from easee.viz.style import METHODS, Look, names

SB3, POPULATION = "stable-baselines3", "population"
BACKENDS: dict[str, Mapping[str, Backend]] = {
    SB3: one_by_one(measure),
    POPULATION: {"population": BACKEND},
}
LAST_TENTH = "mean reward, last tenth"
LABELS = names("uniform", "easee", "zeta", uniform="epsilon-greedy")
FEW = 5  # largest number of seeds for which every run is drawn


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A comparison of explorers for DQN on a task: a figure for each agent and length of training.

    Attributes:
        name: name of the figure.
        title: one line; the picture's title is the part after a colon.
        task: what is learned.
        arms: by arm, the settings of its explorer and, as `env`, options of its environment.
        labels: by arm, its label in the table and the picture.
        sizes: by agent, the default numbers of steps and seeds; the first agent is the default.
        from_paper: whether the paper has this figure, so that reductions are reported.
        window: number of points over which the runs are averaged in the picture, if every run is
            drawn.
    """

    name: str
    title: str
    task: Task
    arms: Mapping[str, dict[str, Any]]
    labels: Mapping[str, str]
    sizes: Mapping[str, tuple[int, int]]
    from_paper: bool = False
    window: int = 1

    def figure(self, agent: str | None = None, steps: int | None = None) -> Figure:
        """Return the figure for an agent and a number of steps, by default its own."""
        default_agent = next(iter(self.sizes))
        agent = agent or default_agent
        default, seeds = self.sizes[agent]
        total = steps or default
        folder = f"{self.name}-sb3" if agent == SB3 else self.name
        return Figure(
            name=self.name,
            title=self.title,
            runs=partial(self._runs, total),
            seeds=seeds,
            backends=BACKENDS[agent],
            draw=partial(self.draw, total),
            table=partial(self.table, total),
            config=self.task.config | {"steps": total, "agent": agent},
            folder=folder if total == default else f"{folder}-{total}",
            steps=total,
            reduced=self._reduction(total, seeds),
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

    def _reduction(self, steps: int, seeds: int) -> str:
        """Return a sentence about what is less than in the paper, or an empty string."""
        less = []
        if self.from_paper and steps < self.task.paper_steps:
            less.append(f"{steps:,} steps instead of {self.task.paper_steps:,}")
        if self.from_paper and seeds < self.task.paper_seeds:
            less.append(f"{seeds_text(seeds)} instead of {self.task.paper_seeds}")
        return f"Reduced against the paper: {' and '.join(less)}." if less else ""

    def table(self, steps: int, rows: list[Row]) -> list[list[str]]:
        """Return a line for each arm."""
        after = last_tenth(rows, steps)
        return summary(rows, self.labels, baseline="uniform", after=after, what=LAST_TENTH)

    def draw(self, steps: int, rows: list[Row]) -> dict[str, Any]:
        """Draw the learning curves, one panel for each arm.

        With many seeds, every arm but the baseline has a panel that also shows the baseline. With
        few, every arm has one with all its runs.
        """
        arms = {arm: look for arm, look in self.looks().items() if any(r.arm == arm for r in rows)}
        seeds = count_seeds(rows)
        if seeds > FEW and len(arms) > 1:
            arms.pop("uniform", None)
        figure, axes, _ = panels(len(arms), height=3.3, sharex=True, sharey=True)
        for each, (arm, look) in zip(axes, arms.items(), strict=True):
            if seeds > FEW:
                draw_against(each, rows, arm, look)
            else:
                draw_runs(each, rows, arm, look, window=self.window)
            steps_axis(each)
        over = f", running mean of {self.window} points" if self.window > 1 else ""
        figure.supylabel(f"mean reward{over}")
        figure.suptitle(f"{self.title.rpartition(': ')[-1]}, {_caption(seeds)}")
        remarks = textwrap.wrap(self._remarks(steps, seeds, rows), 64)
        figure.supxlabel("\n".join(["agent steps", *remarks]))
        return {self.name: figure}

    def looks(self) -> dict[str, Look]:
        """Return how each arm is drawn."""
        return {
            arm: METHODS[arm.partition("/")[0]].called(label) for arm, label in self.labels.items()
        }

    def _remarks(self, steps: int, seeds: int, rows: list[Row]) -> str:
        """Return sentences about what the picture does not show."""
        remarks = self._reduction(steps, seeds)
        reached = max(row.step for row in rows)
        if reached < 0.95 * steps:  # the last bin may have no episode
            remarks += f" Not finished: shown up to step {reached:,}."
        return remarks


def _caption(seeds: int) -> str:
    """Return the part of the title that says what the lines are."""
    if seeds > FEW:
        return f"beside epsilon-greedy (grey)\n{seeds_text(seeds, intervals=True)}"
    return f"{seeds_text(seeds)}\nevery run thin, means thick, epsilon-greedy grey"


def last_tenth(rows: list[Row], steps: int) -> int:
    """Return the step after which the last tenth of training begins.

    In a short run no episode may have ended there: then the last one counts.
    """
    return min(round(0.9 * steps), max(row.step for row in rows) - 1)


def easee_arm(task: Task, depth: int) -> dict[str, Any]:
    """Return the settings of EASEE on a task."""
    return {"explorer": "easee", "prior": task.prior, "depth": depth}


def _paper_figure(
    task: Task, title: str, *, sb3: tuple[int, int], population: tuple[int, int], window: int = 1
) -> Figure:
    """Return the figure of a task, given the numbers of steps and seeds for both agents."""
    return Comparison(
        name=task.name,
        title=title,
        task=task,
        arms={kind: {"explorer": kind} for kind in LABELS} | {"easee": easee_arm(task, task.depth)},
        labels=LABELS | {"easee": f"EASEE, depth {task.depth}"},
        sizes={SB3: sb3, POPULATION: population},
        from_paper=True,
        window=window,
    ).figure()


CATCHER_FIGURE = _paper_figure(
    CATCHER, "Figure 4b: DQN on Catcher", sb3=(30_000, 3), population=(300_000, 20)
)
ATARI_FIGURES = [
    _paper_figure(
        task, title, sb3=(task.paper_steps, task.paper_seeds), population=(steps, 5), window=window
    )
    for task, title, steps, window in (
        (FREEWAY, "Figure 4c: DQN on Freeway", 500_000, 1),
        (BOXING, "Figure 7a: DQN on Boxing", 300_000, 5),
        (CARNIVAL, "Figure 7b: DQN on Carnival", 300_000, 5),
    )
]
