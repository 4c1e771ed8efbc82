"""Figure 4b: DQN on Catcher, at the paper's size as one program.

With Stable-Baselines3 it is reduced to what two cores can do in minutes.
"""

from __future__ import annotations

from easee.experiments.deep.dqn import POPULATION, make_figure
from easee.experiments.deep.tasks import CATCHER

TITLE = "Figure 4b: DQN on Catcher"
FIGURE = make_figure(
    CATCHER,
    TITLE,
    steps=30_000,
    seeds=3,
    population=make_figure(CATCHER, TITLE, steps=300_000, seeds=20, agent=POPULATION),
)
