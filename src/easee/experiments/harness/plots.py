"""Drawing functions that all figures share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from easee.experiments.harness.statistics import Estimate
from easee.viz.files import subplots
from easee.viz.style import SMALL, WIDTH, Look

MOST_MARKERS = 20  # on a curve
MOST_CHARACTERS = 86  # of a legend in one line


def panels(
    count: int, *, columns: int = 2, height: float = 2.9, **options: Any
) -> tuple[Any, list[Any], list[Any]]:
    """Return a figure with panels of a height in inches, their axes, and the empty axes left over.

    `options` are those of matplotlib's `subplots`.
    """
    columns = min(count, columns)
    rows = math.ceil(count / columns)
    size = (WIDTH, height * rows + 1.0)
    figure, grid = subplots(rows, columns, figsize=size, squeeze=False, **options)
    axes = list(grid.flat)
    for lowest in axes[max(count - columns, 0) : count]:  # also those above an empty one
        lowest.tick_params(labelbottom=True)
    for empty in axes[count:]:
        empty.set_axis_off()
    return figure, axes[:count], axes[count:]


def curve(axes: Any, x: Sequence[float], estimates: Sequence[Estimate], look: Look) -> None:
    """Draw values as a line with a band for their intervals; few values have markers."""
    marker = look.marker if len(x) <= MOST_MARKERS else ""
    axes.plot(x, [e.value for e in estimates], label=look.name, marker=marker, **look.style)
    lows, highs = [e.low for e in estimates], [e.high for e in estimates]
    axes.fill_between(x, lows, highs, color=look.colour, alpha=0.15, linewidth=0)


def level(axes: Any, estimate: Estimate, look: Look) -> None:
    """Draw a value that does not depend on x as a line with a band."""
    axes.axhline(estimate.value, label=look.name, **look.style)
    axes.axhspan(estimate.low, estimate.high, color=look.colour, alpha=0.15, linewidth=0)


def points(
    axes: Any,
    places: Sequence[float],
    estimates: Sequence[Estimate],
    look: Look,
    *,
    across: bool = False,
) -> None:
    """Draw values with error bars at places on the x axis or, if `across`, on the y axis."""
    values, bars = [e.value for e in estimates], error_bars(estimates)
    where = (values, places) if across else (places, values)
    axes.errorbar(
        *where, **{"xerr" if across else "yerr": bars}, fmt=look.marker, color=look.colour,
        label=look.name, capsize=3, elinewidth=2,
    )  # fmt: skip


def grouped_points(
    axes: Any, groups: Mapping[str, Mapping[str, Estimate]], looks: Mapping[str, Look]
) -> None:
    """Draw the values of several methods side by side in each group; the ticks are the groups.

    Args:
        axes: matplotlib axes.
        groups: by group, the values by method; methods may be missing.
        looks: by method, how it is drawn.
    """
    for i, (method, look) in enumerate(looks.items()):
        values = {j: g[method] for j, g in enumerate(groups.values()) if method in g}
        points(axes, beside([*values], i, len(looks)), [*values.values()], look)
    axes.set_xticks(range(len(groups)), groups)


def bars(
    axes: Any,
    places: Sequence[int],
    estimates: Sequence[Estimate],
    looks: Iterable[Look],
    form: str = ".2f",
) -> None:
    """Draw values as horizontal bars with error bars, and write them beside their ends."""
    ends = [max(e.value, e.high) for e in estimates]  # of a single seed there is no interval
    colours = [look.colour for look in looks]
    axes.barh(places, [e.value for e in estimates], xerr=error_bars(estimates), color=colours)
    for place, end, estimate in zip(places, ends, estimates, strict=True):
        axes.text(end, place, f" {estimate.value:{form}}", va="center", fontsize=SMALL)
    axes.set_xlim(0, 1.2 * max(ends, default=1.0))


def beside(places: Sequence[float], i: int, count: int, apart: float = 0.16) -> list[float]:
    """Return where to draw the i-th of several methods that share places.

    >>> beside([0, 1], 0, 2, apart=0.5)
    [-0.25, 0.75]
    """
    return [place + (i - (count - 1) / 2) * apart for place in places]


def error_bars(estimates: Sequence[Estimate]) -> list[list[float]]:
    """Return the lengths of the intervals below and above the values, as matplotlib takes them."""
    return [[e.value - e.low for e in estimates], [e.high - e.value for e in estimates]]


def add_legend(
    figure: Any, axes: Iterable[Any], order: Iterable[str], *, empty: Sequence[Any] = ()
) -> None:
    """Add one legend for several axes, in the empty panels or else above all of them."""
    handles: dict[str, Any] = {}
    for each in axes:
        for handle, label in zip(*each.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    shown = {label: handles[label] for label in order if label in handles}
    if empty:
        wide = len(empty) > 1
        place = "center left" if wide else "center"
        legend = empty[0].legend(shown.values(), shown, loc=place, fontsize=SMALL)
        legend.set_in_layout(not wide)  # otherwise its panel would become as wide
    else:
        characters = sum(len(label) + 8 for label in shown)  # 8 for the line before a label
        columns = len(shown) if characters <= MOST_CHARACTERS else 2
        figure.legend(shown.values(), shown, loc="outside upper center", ncols=columns)


def steps_axis(axes: Any) -> None:
    """Label the x axis with a few numbers of steps, written as 50k."""
    axes.xaxis.set_major_locator(_locator(4))
    axes.xaxis.set_major_formatter(lambda x, _: steps_text(x))


def steps_text(steps: float) -> str:
    """Return a number of steps in few characters.

    >>> [steps_text(x) for x in (0, 50_000, 1_000_000, 1_500_000)]
    ['0', '50k', '1M', '1.5M']
    """
    if steps >= 1e6:
        return f"{steps / 1e6:g}M"
    return f"{steps / 1e3:g}k" if steps else "0"


def _locator(most: int) -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(most)
