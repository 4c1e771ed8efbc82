"""A tour: compile a prior, print its certificate, and explore with it.

python examples/demo.py [FOLDER]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

import easee
from easee.cli.compile import layer_table, summary_table
from easee.experiments.harness.runner import run_missing
from easee.experiments.registry import FIGURES

SEEDS = 3
console = Console()


def compile_with_report(prior: easee.Equivalences, depth: int) -> None:
    """Compile a prior and print its layers and its certificate."""
    start = time.perf_counter()
    graph = easee.unroll(prior, depth)
    unrolled = time.perf_counter()
    policy = easee.balance(graph)
    balanced = time.perf_counter()
    console.print(layer_table(policy))
    console.print(summary_table(policy, unrolled - start, balanced - unrolled))


def show(name: str, folder: Path, seeds: int) -> None:
    """Run a figure with a few seeds, print its table and save its plot."""
    figure = FIGURES[name]
    rows = run_missing(figure, folder / name, seeds=seeds, jobs=2, force=True, console=console)
    header, *lines = figure.table(rows)
    table = Table(title=f"{figure.title} ({seeds} seeds)", title_justify="left")
    for column in header:
        table.add_column(column)
    for line in lines:
        table.add_row(*line)
    console.print(table)
    for path in figure.plot(rows, folder / name):
        console.print(f"plot saved to {path}", highlight=False)


def main(folder: str = "demo") -> None:
    """Run the demo."""
    prior = easee.priors.get("cardinal-grid")
    console.print("[bold]The prior[/]: moves commute, and opposite moves undo each other")
    console.print(str(prior), highlight=False)
    compile_with_report(prior, 6)
    show("fig3", Path(folder), SEEDS)
    show("heatmap", Path(folder), 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
