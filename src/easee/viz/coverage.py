"""A plot of the states seen over the depth of the policy."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from easee.viz.files import save, subplots

_DEPTHS, _OTHERS = "#1f6f8b", ("#5f6b7a", "#c77d2e")


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
    figure, axes = subplots(figsize=(7.0, 4.2))
    xs = [depth for depth, *_ in depths]
    means = [mean for _, mean, *_ in depths]
    errors = [
        [mean - low for _, mean, low, _ in depths],
        [high - mean for _, mean, _, high in depths],
    ]
    axes.errorbar(
        xs, means, errors, fmt="o-", color=_DEPTHS, capsize=3, label="EASEE, 95% interval"
    )
    for (name, (mean, low, high)), colour in zip(others.items(), _OTHERS, strict=False):
        axes.axhline(mean, color=colour, ls="--", lw=1.4, label=name)
        axes.axhspan(low, high, color=colour, alpha=0.15, lw=0)
    if recommended is not None:
        height = means[xs.index(recommended)]
        axes.plot(
            [recommended], [height], "o", ms=13, mfc="none", mec=_DEPTHS, mew=1.6,
            label=f"recommended: depth {recommended}",
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks(xs, [str(x) for x in xs])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("depth")
    axes.set_ylabel(f"distinct states in {steps:,} steps")
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return save(figure, path)
