"""Figures 4c, 7a and 7b: DQN on Freeway, Boxing and Carnival.

With Stable-Baselines3 they have the paper's size by default, which is days for a processor:
`--steps` and `--seeds` make them smaller. As one program they are what a GPU does in minutes.
"""

from __future__ import annotations

from easee.experiments.deep.dqn import POPULATION, make_figure
from easee.experiments.deep.tasks import BOXING, CARNIVAL, FREEWAY, Task
from easee.experiments.harness.figure import Figure


def _figure(task: Task, title: str, *, steps: int, seeds: int) -> Figure:
    return make_figure(
        task,
        title,
        steps=task.paper_steps,
        seeds=task.paper_seeds,
        population=make_figure(task, title, steps=steps, seeds=seeds, agent=POPULATION),
    )


FIGURES = [
    _figure(FREEWAY, "Figure 4c: DQN on Freeway", steps=500_000, seeds=5),
    _figure(BOXING, "Figure 7a: DQN on Boxing", steps=300_000, seeds=5),
    _figure(CARNIVAL, "Figure 7b: DQN on Carnival", steps=300_000, seeds=5),
]
