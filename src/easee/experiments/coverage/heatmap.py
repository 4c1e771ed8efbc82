"""Visited cells of 100 episodes on CardinalGrid: uniform actions beside EASEE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from easee.experiments.coverage.simulation import SIZE, STEPS, walk_run
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.figure import Figure, Measured, Row, Run, runs_of
from easee.experiments.harness.plots import subplots
from easee.viz.files import save

GRID = "CardinalGrid"
EPISODES = 100
DEPTH = 50
METRIC = "visits"
ARMS: dict[str, dict[str, Any]] = {
    "uniform": {"grid": GRID, "explorer": "uniform"},
    "easee": {"grid": GRID, "explorer": "easee", "prior": "cardinal-grid", "depth": DEPTH},
}


def measure(run: Run) -> Measured:
    """Count the visits of every visited cell; `step` is the index of the cell."""
    counts = np.bincount(walk_run(run, EPISODES).ravel())
    return [(int(cell), METRIC, float(counts[cell])) for cell in np.flatnonzero(counts)]


def table(rows: list[Row]) -> list[list[str]]:
    """Return the number of visited cells of each arm."""
    lines = [["exploration", "cells seen"]]
    for arm in dict.fromkeys(row.arm for row in rows):
        seeds = {row.seed for row in rows if row.arm == arm}
        cells = sum(row.arm == arm for row in rows) / len(seeds)
        lines.append([arm, f"{cells:,.0f}"])
    return lines


def plot(rows: list[Row], folder: Path) -> list[Path]:
    """Draw the maps of the first seed side by side."""
    figure, panels = subplots(1, 2, size=(9, 4.6))
    titles = {"uniform": "uniform actions", "easee": f"EASEE, depth {DEPTH}"}
    for axes, (arm, title) in zip(panels, titles.items(), strict=True):
        counts = np.zeros(SIZE[0] * SIZE[1])
        for row in rows:
            if row.arm == arm and row.seed == 0:
                counts[row.step] = row.value
        shown = np.where(counts > 0, np.log10(np.maximum(counts, 1)), np.nan)
        image = axes.imshow(shown.reshape(SIZE).T, origin="lower", cmap="viridis", vmin=0, vmax=2.5)
        axes.set_title(f"{title}: {int((counts > 0).sum()):,} cells")
        axes.set_xticks([])
        axes.set_yticks([])
    bar = figure.colorbar(image, ax=panels, shrink=0.8, ticks=[0, 1, 2])
    bar.ax.set_yticklabels(["1 visit", "10", "100"])
    figure.suptitle(f"CardinalGrid: where {EPISODES} episodes of {STEPS} steps went (white: never)")
    return [save(figure, folder / "heatmap.png")]


FIGURE = Figure(
    name="heatmap",
    title="where 100 episodes went, uniform actions beside EASEE",
    runs=runs_of(ARMS),
    seeds=1,
    backends=one_by_one(measure),
    plot=plot,
    table=table,
    config={"steps": STEPS, "depth": DEPTH, "episodes": EPISODES},
)
