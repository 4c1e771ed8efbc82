"""Where 100 episodes went: uniform actions beside EASEE, on CardinalGrid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from easee.experiments.coverage.common import GRIDS, SIZE, STEPS, explorer_on_grid
from easee.experiments.coverage.simulation import walk
from easee.experiments.harness.figure import Figure, Measured, Row, Run
from easee.viz.files import pyplot, save

GRID = "CardinalGrid"
EPISODES = 100
DEPTH = 50
METRIC = "visits"


def runs(seeds: int) -> list[Run]:
    """Return both arms for each seed; the picture shows the first."""
    easee = {"explorer": "easee", "prior": "cardinal-grid", "depth": DEPTH}
    arms: dict[str, dict[str, Any]] = {
        "uniform": {"grid": GRID, "explorer": "uniform"},
        "easee": {"grid": GRID} | easee,
    }
    return [Run(name, seed, arm) for name, arm in arms.items() for seed in range(seeds)]


def measure(run: Run) -> Measured:
    """Count the visits of every cell that was visited; `step` is the number of the cell."""
    explorer = explorer_on_grid(run, EPISODES)
    seen = walk(GRIDS[GRID], explorer, STEPS, SIZE)
    counts = np.bincount(seen.ravel())
    return [(int(cell), METRIC, float(counts[cell])) for cell in np.flatnonzero(counts)]


def table(rows: list[Row]) -> list[list[str]]:
    """Return how many cells each arm saw."""
    lines = [["exploration", "cells seen"]]
    for arm in dict.fromkeys(row.arm for row in rows):
        seeds = {row.seed for row in rows if row.arm == arm}
        cells = sum(row.arm == arm for row in rows) / len(seeds)
        lines.append([arm, f"{cells:,.0f}"])
    return lines


def plot(rows: list[Row], folder: Path) -> list[Path]:
    """Draw both maps side by side."""
    plt = pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
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
    runs=runs,
    seeds=1,
    measure=measure,
    plot=plot,
    table=table,
    config={"steps": STEPS, "depth": DEPTH, "episodes": EPISODES},
)
