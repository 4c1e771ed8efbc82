"""The main job in one go: compile a prior, look at its certificate, explore a grid with it.

python examples/demo.py [FOLDER]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import easee
from easee.cli import layer_table, summary_table

SIZE, STEPS, EPISODES, SEEDS = 100, 100, 100, 20
MOVES = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])  # right, left, up, down

console = Console()


def visits(explorer: easee.BaseExplorer) -> NDArray[np.int64]:
    """Walk all episodes at once from the middle of the grid; count the visits of each cell."""
    at = np.full((explorer.n_envs, 2), SIZE // 2)
    counts = np.zeros((SIZE, SIZE), np.int64)
    np.add.at(counts, tuple(at.T), 1)
    for _ in range(STEPS):
        actions = explorer.sample()
        at = np.clip(at + MOVES[actions], 0, SIZE - 1)
        np.add.at(counts, tuple(at.T), 1)
        explorer.step(actions)
    return counts


def compile_with_report(omega: easee.Equivalences, depth: int) -> easee.ExplorationPolicy:
    """Compile a prior and print what came out."""
    began = time.perf_counter()
    graph = easee.unroll(omega, depth)
    built = time.perf_counter()
    policy = easee.balance(graph)
    done = time.perf_counter()
    console.print(layer_table(policy))
    console.print(summary_table(policy, built - began, done - built))
    return policy


def coverage(policies: dict[int, easee.ExplorationPolicy]) -> Table:
    """Compare how many cells 100 episodes see, as a mean over seeds."""
    arms: dict[str, Callable[[int], easee.BaseExplorer]] = {
        "uniform actions": partial(easee.UniformExplorer, 4, EPISODES),
        "temporally extended, mu = 2": partial(easee.ZetaExplorer, 4, EPISODES),
    }
    for depth, policy in policies.items():
        arms[f"EASEE, depth {depth}"] = partial(easee.Explorer, policy, EPISODES)
    table = Table(title="cells of a 100 x 100 grid seen in 100 episodes", title_justify="left")
    for column in ("exploration", "cells", "ratio to uniform"):
        table.add_column(column, justify="left" if column == "exploration" else "right")
    uniform = 0.0
    for name, make in arms.items():
        cells = float(np.mean([(visits(make(seed)) > 0).sum() for seed in range(SEEDS)]))
        uniform = uniform or cells
        table.add_row(name, f"{cells:,.0f}", f"{cells / uniform:.2f}")
    return table


def picture(policy: easee.ExplorationPolicy, path: Path) -> None:
    """Show where 100 episodes went, uniform beside EASEE."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    maps = {
        "uniform actions": visits(easee.UniformExplorer(4, EPISODES, seed=0)),
        f"EASEE, depth {policy.graph.depth}": visits(easee.Explorer(policy, EPISODES, seed=0)),
    }
    figure, panels = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
    for axes, (name, counts) in zip(panels, maps.items(), strict=True):
        shown = np.where(counts > 0, np.log10(np.maximum(counts, 1)), np.nan)
        image = axes.imshow(shown.T, origin="lower", cmap="viridis", vmin=0, vmax=2.5)
        axes.set_title(f"{name}: {(counts > 0).sum():,} cells")
        axes.set_xticks([])
        axes.set_yticks([])
    bar = figure.colorbar(image, ax=panels, shrink=0.8, ticks=[0, 1, 2])
    bar.ax.set_yticklabels(["1 visit", "10", "100"])
    figure.suptitle("Where 100 episodes of 100 steps went (white: never)")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(folder: str = "demo") -> None:
    """Run the demo."""
    omega = easee.priors.get("cardinal-grid")
    console.print("[bold]The prior[/]: moves commute, and opposite moves undo each other")
    console.print(str(omega), highlight=False)
    policies = {6: compile_with_report(omega, 6)}
    policies |= {depth: easee.compile(omega, depth) for depth in (20, 50)}
    console.print(coverage(policies))
    path = Path(folder) / "coverage.png"
    picture(policies[50], path)
    console.print(f"picture saved to {path}", highlight=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
