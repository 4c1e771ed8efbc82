"""Labels of lines, which then need no legend, and of the ticks of a logarithmic axis."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from easee.viz.style import SMALL, darker

LINE_HEIGHT = 1.2  # of a line of text, in font sizes


def label_lines(axes: Any, size: float = SMALL) -> None:
    """Write the label of each line beside its right end, instead of a legend.

    The limits of the y axis must be final.
    """
    lines = [line for line in axes.get_lines() if not line.get_label().startswith("_")]
    height = 72 * axes.figure.get_figheight() * axes.get_position().height  # points
    to_axes = axes.transData - axes.transAxes
    centres = [to_axes.transform((1, line.get_ydata()[-1]))[1] for line in lines]
    heights = [LINE_HEIGHT * size * (line.get_label().count("\n") + 1) / height for line in lines]
    for line, centre in zip(lines, spread(centres, heights), strict=True):
        axes.text(
            1.02, centre, line.get_label(), color=darker(line.get_color()), fontsize=size,
            va="center", transform=axes.transAxes,
        )  # fmt: skip


def spread(centres: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Return centres of labels, moved as little as possible so that the labels do not overlap.

    >>> spread([0.5, 0.5, 0.9], [0.2, 0.2, 0.2])
    [0.4, 0.6, 0.9]
    """
    order = np.argsort(centres, kind="stable")
    tall = np.asarray(heights, dtype=float)[order]
    # Shifted by the room that the labels below need, the new centres must not decrease.
    room = np.cumsum(tall) - tall / 2
    moved = isotonic_regression(np.asarray(centres, dtype=float)[order] - room).x + room
    result = np.empty(len(order))
    result[order] = moved
    return [round(float(centre), 9) for centre in result]


def label_ticks(axes: Any, ticks: Sequence[float]) -> None:
    """Make the x axis logarithmic, with the given ticks and no others."""
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
