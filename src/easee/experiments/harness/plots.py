"""What the pictures of all figures have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from easee.experiments.harness.statistics import Estimate

COLOURS = ("#1d3557", "#e76f51", "#2a9d8f", "#e9a23b", "#7b4ea3", "#8d99ae", "#c1121f", "#588157")
GREY = "#6c757d"


def curve(axes: Any, x: Sequence[float], estimates: Sequence[Estimate], **style: Any) -> None:
    """Draw values with a band for their intervals."""
    (line,) = axes.plot(x, [e.value for e in estimates], markersize=4, linewidth=1.6, **style)
    lows, highs = [e.low for e in estimates], [e.high for e in estimates]
    axes.fill_between(x, lows, highs, color=line.get_color(), alpha=0.18, linewidth=0)


def points(axes: Any, x: Sequence[float], estimates: Sequence[Estimate], **style: Any) -> None:
    """Draw values with a bar for their intervals, for what is not a course over time."""
    values = [e.value for e in estimates]
    lengths = [
        [e.value - e.low for e in estimates],
        [e.high - e.value for e in estimates],
    ]
    axes.errorbar(x, values, lengths, fmt="o", markersize=5, linewidth=1.6, capsize=3, **style)


def bare(axes: Any) -> None:
    """Leave only the axes that are read."""
    axes.spines[["top", "right"]].set_visible(False)
