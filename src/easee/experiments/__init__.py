"""Experiments: a figure is its runs (data), its analysis and its picture.

`easee list`, `easee run FIGURE` and `easee plot FIGURE` on the command line.
"""

from easee.errors import ArgumentError, nearest
from easee.experiments import depth, fig3, heatmap
from easee.experiments.runs import Figure

FIGURES: dict[str, Figure] = {
    module.FIGURE.name: module.FIGURE for module in (fig3, depth, heatmap)
}


def get_figure(name: str) -> Figure:
    """Return a figure by name.

    Raises:
        ArgumentError: there is none of that name; the nearest is suggested.
    """
    if name not in FIGURES:
        raise ArgumentError(f"no figure is named {name!r}: {nearest(name, FIGURES)}")
    return FIGURES[name]
