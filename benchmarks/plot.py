"""Plot of the cost of every step by the size of the graph, on logarithmic axes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from easee.viz.files import save, subplots

STEPS = {
    "build_s": ("build (ours)", "#2a9d8f", "o", "-"),
    "balance_s": ("balance (ours)", "#1d3557", "s", "-"),
    "algorithm1_s": ("build (Algorithm 1)", "#e9c46a", "^", "--"),
    "cvxpy_s": ("balance (CVXPY, Clarabel)", "#e63946", "v", "--"),
}


def plot_costs(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw one panel per family."""
    families = list(dict.fromkeys(row["family"] for row in rows))
    figure, grid = subplots(2, 4, figsize=(14, 6.4), sharex=True, sharey=True)
    for axes, family in zip(grid.flat, families, strict=False):
        of_family = [row for row in rows if row["family"] == family]
        for key, (label, colour, marker, line) in STEPS.items():
            points = [(row["edges"], row[key]) for row in of_family if key in row]
            if points:
                axes.loglog(*zip(*points, strict=True), line, marker=marker, color=colour,
                            label=label, markersize=5, linewidth=1.5)  # fmt: skip
        axes.set_title(family, fontsize=11)
        axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid.flat[len(families) :]:
        axes.set_axis_off()
    figure.supxlabel("forward edges")
    figure.supylabel("seconds")
    handles, labels = _legend(grid)
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    save(figure, path, dpi=120)


def _legend(grid: Any) -> tuple[list[Any], list[str]]:
    """Return one handle per label, and the labels."""
    handles: dict[str, Any] = {}
    for axes in grid.flat:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    return list(handles.values()), list(handles)
