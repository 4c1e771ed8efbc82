"""Plot of the cost of every step by the size of the graph, on logarithmic axes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from easee.experiments.harness.plots import add_legend, panels
from easee.viz.files import save
from easee.viz.style import Look, styled

STEPS = {
    "build_s": Look("build (ours)", "#4aaae4", "-", "o"),
    "balance_s": Look("balance (ours)", "#0072b2", "-", "s"),
    "algorithm1_s": Look("build (Algorithm 1)", "#e08e00", "--", "^"),
    "cvxpy_s": Look("balance (CVXPY)", "#d55e00", "--", "v"),
}


def plot_costs(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw one panel per family."""
    families = list(dict.fromkeys(row["family"] for row in rows))
    with styled():
        figure, axes, empty = panels(len(families), columns=3, height=2.2, sharex=True, sharey=True)
        for each, family in zip(axes, families, strict=True):
            for key, look in STEPS.items():
                found = [(r["edges"], r[key]) for r in rows if r["family"] == family and key in r]
                if found:
                    style = {"marker": look.marker, "label": look.name, **look.style}
                    each.loglog(*zip(*found, strict=True), **style)
            each.set_title(family)
            each.grid(True, which="major", color="#dddddd", linewidth=0.8)
        figure.supxlabel("forward edges")
        figure.supylabel("seconds")
        add_legend(figure, axes, [look.name for look in STEPS.values()], empty=empty)
        save(figure, path)
