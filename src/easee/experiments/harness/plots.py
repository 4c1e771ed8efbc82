"""Drawing functions that all figures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from easee.experiments.harness.statistics import Estimate
from easee.viz.files import pyplot

COLOURS = ("#1d3557", "#e76f51", "#2a9d8f", "#e9a23b", "#7b4ea3", "#8d99ae", "#c1121f", "#588157")
GREY = "#6c757d"
BASELINE_FIRST = (GREY, *COLOURS)


def subplots(*shape: int, size: tuple[float, float], **options: Any) -> Any:
    """Return a new matplotlib figure of a size in inches, and its axes."""
    return pyplot().subplots(*shape, figsize=size, layout="constrained", **options)


def curve(axes: Any, x: Sequence[float], estimates: Sequence[Estimate], **style: Any) -> None:
    """Draw values as a line with a band for their intervals."""
    (line,) = axes.plot(x, [e.value for e in estimates], markersize=4, linewidth=1.6, **style)
    lows, highs = [e.low for e in estimates], [e.high for e in estimates]
    axes.fill_between(x, lows, highs, color=line.get_color(), alpha=0.18, linewidth=0)


def points(axes: Any, x: Sequence[float], estimates: Sequence[Estimate], **style: Any) -> None:
    """Draw values as separate points with bars for their intervals."""
    values, bars = [e.value for e in estimates], error_bars(estimates)
    axes.errorbar(x, values, bars, fmt="o", markersize=5, linewidth=1.6, capsize=3, **style)


def error_bars(estimates: Sequence[Estimate]) -> list[list[float]]:
    """Return the lengths of the intervals below and above the values, as matplotlib takes them."""
    return [[e.value - e.low for e in estimates], [e.high - e.value for e in estimates]]


def bare(axes: Any) -> None:
    """Remove the top and right spines."""
    axes.spines[["top", "right"]].set_visible(False)
