"""All figures by name."""

from __future__ import annotations

from easee.errors import ArgumentError, nearest
from easee.experiments.atari import FIGURES as ATARI
from easee.experiments.catcher import FIGURE as CATCHER
from easee.experiments.catcher_more import FIGURES as CATCHER_MORE
from easee.experiments.depth import FIGURE as DEPTH
from easee.experiments.discovered import FIGURE as DISCOVERY
from easee.experiments.doorkey import FIGURE as DOORKEY
from easee.experiments.fig3 import FIGURE as FIG3
from easee.experiments.heatmap import FIGURE as HEATMAP
from easee.experiments.holding import FIGURE as HOLDING
from easee.experiments.runs import Figure
from easee.experiments.sensitivity import FIGURE as SENSITIVITY
from easee.experiments.wrong import FIGURE as WRONG

EXPLORATION = (FIG3, DEPTH, HEATMAP)
LEARNING = (DOORKEY, SENSITIVITY, CATCHER, *CATCHER_MORE, *ATARI)
KNOWING = (HOLDING, WRONG, DISCOVERY)
ALL = (*EXPLORATION, *LEARNING, *KNOWING)
FIGURES: dict[str, Figure] = {figure.name: figure for figure in ALL}


def get_figure(name: str) -> Figure:
    """Return a figure by name.

    Raises:
        ArgumentError: there is none of that name; the nearest is suggested.
    """
    if name not in FIGURES:
        raise ArgumentError(f"no figure is named {name!r}: {nearest(name, FIGURES)}")
    return FIGURES[name]
