"""Figure 4b: DQN on Catcher with Stable-Baselines3, reduced to what two cores can do in minutes."""

from __future__ import annotations

from easee.experiments.dqn import CATCHER, make_figure

FIGURE = make_figure(
    CATCHER, "Figure 4b: DQN on Catcher", steps=30_000, seeds=3, folder="catcher-sb3"
)
