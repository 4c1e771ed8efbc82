"""All figures by name."""

from __future__ import annotations

from easee._utils.checks import nearest
from easee.errors import ArgumentError
from easee.experiments.coverage.depth import FIGURE as DEPTH
from easee.experiments.coverage.fig3 import FIGURE as FIG3
from easee.experiments.coverage.heatmap import FIGURE as HEATMAP
from easee.experiments.deep.catcher_sweeps import FIGURES as CATCHER_SWEEPS
from easee.experiments.deep.dqn import ATARI_FIGURES, CATCHER_FIGURE
from easee.experiments.harness.figure import Figure
from easee.experiments.priors.discovered_priors import FIGURE as DISCOVERY
from easee.experiments.priors.prior_accuracy import FIGURE as HOLDING
from easee.experiments.priors.wrong_priors import FIGURE as WRONG
from easee.experiments.tabular.doorkey import FIGURE as DOORKEY
from easee.experiments.tabular.sensitivity import FIGURE as SENSITIVITY

COVERAGE = (FIG3, DEPTH, HEATMAP)
LEARNING = (DOORKEY, SENSITIVITY, CATCHER_FIGURE, *CATCHER_SWEEPS, *ATARI_FIGURES)
PRIORS = (HOLDING, WRONG, DISCOVERY)
FIGURES: dict[str, Figure] = {figure.name: figure for figure in (*COVERAGE, *LEARNING, *PRIORS)}


def get_figure(name: str) -> Figure:
    """Return a figure by name.

    Raises:
        ArgumentError: no figure has that name; the nearest is suggested.
    """
    if name not in FIGURES:
        raise ArgumentError(f"no figure is named {name!r}: {nearest(name, FIGURES)}")
    return FIGURES[name]
