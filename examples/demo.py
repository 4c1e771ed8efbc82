"""A tour: compile a prior, explain its certificate, draw its graph, and explore with it.

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
from easee.viz.graph import draw_graph

SEEDS = 3
DEPTH = 6
console = Console(emoji=False)

LAYERS = """\
Each row is a step of exploration. "new nodes" are the classes of action
sequences that are first reached at that step, "dead ends" those from which
nothing new can be reached. "entropy" tells how evenly the policy visits the
layer, "bound" is that of an even layer, and "visits min/max" is 1 if all nodes
of the layer are visited equally often. A duality gap of about 0 proves that no
policy is better."""
FIG3 = """\
Each row is a prior, each column a depth of its graph. The numbers are states
seen relative to uniformly random actions: above 1, the prior helps."""
NEXT = """\
Next, on an environment of yours (any Gymnasium id):
  easee discover --env YOUR_ENV -o prior.txt         find a prior
  easee tune prior.txt --env YOUR_ENV -o policy.npz  find a depth that helps
and explore with
  easee.Explorer("policy.npz")
as docs/agents.md explains."""


def say(text: str) -> None:
    """Print an explanation."""
    console.print(text, highlight=False, markup=False)


def compile_with_report(prior: easee.Equivalences, depth: int) -> easee.ExplorationPolicy:
    """Compile a prior and print its layers and its certificate."""
    start = time.perf_counter()
    graph = easee.unroll(prior, depth)
    unrolled = time.perf_counter()
    policy = easee.balance(graph)
    balanced = time.perf_counter()
    console.print(layer_table(policy))
    console.print(summary_table(policy, unrolled - start, balanced - unrolled))
    return policy


def show(name: str, folder: Path, seeds: int) -> None:
    """Run a figure with a few seeds, print its table and save its plot."""
    figure = FIGURES[name]
    rows = run_missing(figure, folder / name, seeds=seeds, jobs=2, force=True, console=console)
    header, *lines = figure.table(rows)
    count = f"{seeds} seed{'' if seeds == 1 else 's'}"
    table = Table(title=f"{figure.title} ({count})", title_justify="left")
    for column in header:
        table.add_column(column)
    for line in lines:
        table.add_row(*line)
    console.print(table)
    for path in figure.plot(rows, folder / name):
        say(f"plot saved to {path}")


def main(folder: str = "demo") -> None:
    """Run the demo."""
    prior = easee.priors.get("cardinal-grid")
    console.print("[bold]The prior[/]: moves commute, and opposite moves undo each other")
    say(str(prior))
    policy = compile_with_report(prior, DEPTH)
    say(LAYERS)
    picture = Path(folder) / "graph.svg"
    picture.parent.mkdir(parents=True, exist_ok=True)
    draw_graph(policy, picture)
    say(f"graph saved to {picture}")
    show("fig3", Path(folder), SEEDS)
    say(FIG3)
    show("heatmap", Path(folder), 1)
    say(NEXT)


if __name__ == "__main__":
    main(*sys.argv[1:])
