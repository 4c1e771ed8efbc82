"""Visited cells of 100 episodes on CardinalGrid: uniform actions beside EASEE."""

from typing import Any

import numpy as np

from easee.experiments.coverage.simulation import EPISODES, SIZE, STEPS, walk_run
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.figure import Figure, Measured, Row, Run, runs_of
from easee.experiments.harness.rows import count_seeds, group
from easee.viz.files import subplots
from easee.viz.style import METHODS, WIDTH

DEPTH = 50
GRID: dict[str, Any] = {"grid": "CardinalGrid"}
ARMS = {
    "uniform": GRID | {"explorer": "uniform"},
    "easee": GRID | {"explorer": "easee", "prior": "cardinal-grid", "depth": DEPTH},
}


def measure(run: Run) -> Measured:
    """Count the visits of every visited cell; `step` is the index of the cell."""
    counts = np.bincount(walk_run(run, EPISODES).ravel())
    return [(int(cell), "visits", float(counts[cell])) for cell in np.flatnonzero(counts)]


def table(rows: list[Row]) -> list[list[str]]:
    """Return the number of visited cells of each arm."""
    cells = group(rows, lambda row: row.arm)
    counts = [[arm, f"{len(seen) / count_seeds(seen):,.0f}"] for arm, seen in cells.items()]
    return [["exploration", "cells seen"], *counts]


def draw(rows: list[Row]) -> dict[str, Any]:
    """Draw the maps of the first seed side by side."""
    figure, panels = subplots(1, 2, figsize=(WIDTH, 4.4))
    titles = {"uniform": "uniform actions", "easee": f"EASEE, depth {DEPTH}"}
    for axes, (arm, title) in zip(panels, titles.items(), strict=True):
        counts = np.zeros(SIZE[0] * SIZE[1])
        for row in rows:
            if row.arm == arm and row.seed == 0:
                counts[row.step] = row.value
        shown = np.where(counts > 0, np.log10(np.maximum(counts, 1)), np.nan)
        image = axes.imshow(shown.reshape(SIZE).T, origin="lower", cmap="viridis", vmin=0, vmax=2.5)
        axes.set(xticks=[], yticks=[])
        axes.set_title(f"{title}:\n{int((counts > 0).sum()):,} cells", color=METHODS[arm].colour)
        axes.spines[:].set_visible(True)
    bar = figure.colorbar(image, ax=panels, shrink=0.8, ticks=[0, 1, 2])
    bar.ax.set_yticklabels(["1 visit", "10", "100"])
    figure.suptitle(f"CardinalGrid: where {EPISODES} episodes of {STEPS} steps went")
    return {"heatmap": figure}


FIGURE = Figure(
    name="heatmap",
    title="cells visited in 100 episodes, uniform actions beside EASEE",
    runs=runs_of(ARMS),
    seeds=1,
    backends=one_by_one(measure),
    draw=draw,
    table=table,
    config={"steps": STEPS, "depth": DEPTH, "episodes": EPISODES},
)
