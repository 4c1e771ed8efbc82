"""Figure 4b: DQN on Catcher, with Stable-Baselines3 at a size for two cores."""

from __future__ import annotations

from easee.experiments.dqn import CATCHER, make_figure

FIGURE = make_figure(
    CATCHER, "Figure 4b: DQN on Catcher, reduced", steps=60_000, seeds=3, folder="catcher-sb3"
)
