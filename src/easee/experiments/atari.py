"""Figures 4c, 7a and 7b: DQN on Freeway, Boxing and Carnival, at the paper's size by default.

That is days for a processor: `--steps` and `--seeds` make it smaller.
"""

from __future__ import annotations

from easee.experiments.dqn import BOXING, CARNIVAL, FREEWAY, make_figure

FIGURES = [
    make_figure(task, title, steps=task.paper_steps, seeds=task.paper_seeds)
    for task, title in (
        (FREEWAY, "Figure 4c: DQN on Freeway"),
        (BOXING, "Figure 7a: DQN on Boxing"),
        (CARNIVAL, "Figure 7b: DQN on Carnival"),
    )
]
