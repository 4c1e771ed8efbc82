"""`easee draw`: pictures of a prior, its graph and its policy."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from easee._utils.files import check_writable
from easee.cli.console import print_line
from easee.cli.priors import Depth, Prior
from easee.graph import unroll
from easee.policy import balance
from easee.policy_text import find_prior
from easee.viz.graph import draw_graph, draw_pipeline, draw_steps


class View(StrEnum):
    """Kinds of pictures."""

    graph = "graph"
    pipeline = "pipeline"
    steps = "steps"


def draw_command(
    prior: Prior,
    depth: Depth,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Image file to write (.svg, .png or .pdf).")
    ],
    view: Annotated[
        View,
        typer.Option(
            help="graph: the policy on its graph; pipeline: prior, graph and policy side by side; "
            "steps: the construction of the graph."
        ),
    ] = View.graph,
    pruned: Annotated[
        bool, typer.Option("--pruned", help="Show pruned edges, dashed (graph view only).")
    ] = False,
) -> None:
    """Draw the graph of a prior and the policy on it."""
    omega = find_prior(prior)
    check_writable(output)
    graph = unroll(omega, depth)
    if view is View.steps:
        draw_steps(graph, output)
    elif view is View.pipeline:
        draw_pipeline(omega, balance(graph), output)
    else:
        draw_graph(balance(graph), output, pruned=pruned)
    print_line(f"saved to {output}")
