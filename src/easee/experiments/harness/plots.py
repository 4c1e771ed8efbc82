"""Drawing functions that all figures share."""

from collections.abc import Sequence
from typing import Any

from easee.experiments.harness.statistics import Estimate

COLOURS = ("#1d3557", "#e76f51", "#2a9d8f", "#e9a23b", "#7b4ea3", "#8d99ae", "#c1121f", "#588157")
GREY = "#6c757d"
BASELINE_FIRST = (GREY, *COLOURS)


def curve(axes: Any, x: Sequence[float], estimates: Sequence[Estimate], **style: Any) -> None:
    """Draw values as a line with a band for their intervals."""
    (line,) = axes.plot(x, [e.value for e in estimates], markersize=4, linewidth=1.6, **style)
    lows, highs = [e.low for e in estimates], [e.high for e in estimates]
    axes.fill_between(x, lows, highs, color=line.get_color(), alpha=0.18, linewidth=0)


def error_bars(estimates: Sequence[Estimate]) -> list[list[float]]:
    """Return the lengths of the intervals below and above the values, as matplotlib takes them."""
    return [[e.value - e.low for e in estimates], [e.high - e.value for e in estimates]]


def finish(axes: Any, *, legend: float | None = None, **properties: Any) -> None:
    """Remove two spines, set properties such as labels, and add a legend of a font size."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.set(**properties)
    if legend is not None:
        axes.legend(frameon=False, fontsize=legend)
