"""All figures by name."""

from easee._utils.checks import nearest
from easee.errors import ArgumentError
from easee.experiments.coverage import depth, fig3, heatmap
from easee.experiments.deep import catcher_readings, catcher_sweeps, dqn
from easee.experiments.hard import depth as hard_depth
from easee.experiments.hard import figure as hard
from easee.experiments.hard import ppo_figure, ppo_search, ppo_sensitivity
from easee.experiments.hard import search as hard_search
from easee.experiments.harness.figure import Figure
from easee.experiments.priors import discovered_priors, prior_accuracy, usual_priors, wrong_priors
from easee.experiments.tabular import doorkey, sensitivity

COVERAGE = (fig3.FIGURE, depth.FIGURE, heatmap.FIGURE)
TABULAR = (doorkey.FIGURE, sensitivity.FIGURE)
DEEP = (
    dqn.CATCHER_FIGURE,
    *catcher_sweeps.FIGURES,
    catcher_readings.FIGURE,
    *dqn.ATARI_FIGURES,
)
HARD = (
    hard.FIGURE,
    hard_depth.FIGURE,
    *hard_search.FIGURES,
    ppo_figure.FIGURE,
    *ppo_search.FIGURES,
    ppo_sensitivity.FIGURE,
)
PRIORS = (prior_accuracy.FIGURE, wrong_priors.FIGURE, discovered_priors.FIGURE, usual_priors.FIGURE)
FIGURES = {figure.name: figure for figure in (*COVERAGE, *TABULAR, *DEEP, *HARD, *PRIORS)}


def get_figure(name: str) -> Figure:
    """Return a figure by name; an error suggests the nearest name."""
    if name not in FIGURES:
        raise ArgumentError(f"no figure is named {name!r}: {nearest(name, FIGURES)}")
    return FIGURES[name]
