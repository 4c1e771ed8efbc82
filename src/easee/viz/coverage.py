"""A plot of the states seen over the depth of the policy."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from easee.viz.files import save, subplots
from easee.viz.labels import label_lines, label_ticks
from easee.viz.style import METHODS, WIDTH, styled

_OTHERS = {"uniform": METHODS["uniform"], "temporally extended": METHODS["zeta"]}


def draw_coverage(
    path: str | os.PathLike[str],
    depths: Sequence[tuple[int, float, float, float]],
    others: Mapping[str, tuple[float, float, float]],
    *,
    steps: int,
    recommended: int | None = None,
) -> Path:
    """Draw states seen against depth, with intervals, and return the path.

    Args:
        path: an `.svg`, `.png` or `.pdf` file to write.
        depths: for each depth: depth, mean, and the ends of its interval.
        others: for each other way of exploring, a line: mean, and the ends of its interval.
        steps: number of steps of a trial, for the label.
        recommended: a depth to mark.
    """
    with styled():
        figure, axes = subplots(figsize=(WIDTH, 4.6))
        look = METHODS["easee"]
        xs, means, lows, highs = zip(*depths, strict=True)
        axes.plot(xs, means, label=look.name, marker=look.marker, **look.style)
        axes.vlines(xs, lows, highs, color=look.colour, linewidth=2)
        for name, (mean, low, high) in others.items():
            other = _OTHERS.get(name, METHODS["useful"])
            axes.axhline(mean, label=name.replace(" ", "\n"), **other.style)
            axes.axhspan(low, high, color=other.colour, alpha=0.15, lw=0)
        if recommended is not None:
            height = means[xs.index(recommended)]
            axes.plot([recommended], [height], "o", ms=15, mfc="none", mec=look.colour, mew=1.8)
            axes.annotate(
                f"recommended: depth {recommended}", (recommended, height), (0, -28),
                textcoords="offset points", ha="center", va="top", color=look.colour,
            )  # fmt: skip
        label_ticks(axes, xs)
        axes.set(ylim=(0, None), xlabel="depth", ylabel=f"distinct states in {steps:,} steps")
        axes.set_title("means and 95% intervals")
        label_lines(axes)
        return save(figure, path)
