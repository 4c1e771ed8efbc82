"""`easee draw`: pictures of a prior, its graph and its policy."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from easee._utils.files import check_writable
from easee.cli.console import print_line
from easee.cli.priors import Depth, prior_and_depth
from easee.errors import ArgumentError
from easee.graph import unroll
from easee.policy import ExplorationPolicy, balance
from easee.policy_text import find_prior
from easee.viz.graph import draw_graph, draw_pipeline, draw_steps


class View(StrEnum):
    """Kinds of pictures."""

    graph = "graph"
    pipeline = "pipeline"
    steps = "steps"


def draw_command(
    prior: Annotated[
        str,
        typer.Argument(
            help="Name of a ready-made prior, or path of a prior file; also with the depth, as in "
            "doorkey:6; or a saved policy, .npz."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Image file to write (.svg, .png or .pdf).")
    ],
    depth: Depth = None,
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
    check_writable(output)
    if depth is None and prior.endswith(".npz"):
        draw_policy(ExplorationPolicy.load(prior), output, view, pruned)
    else:
        draw_prior(*prior_and_depth(prior, depth), output, view, pruned)
    print_line(f"saved to {output}")


def draw_prior(prior: str, depth: int, output: Path, view: View, pruned: bool) -> None:
    """Draw a prior, its graph and its policy, to some depth."""
    omega = find_prior(prior)
    graph = unroll(omega, depth)
    if view is View.pipeline:
        draw_pipeline(omega, balance(graph), output)
    elif view is View.steps:
        draw_steps(graph, output)
    else:
        draw_graph(balance(graph), output, pruned=pruned)


def draw_policy(policy: ExplorationPolicy, output: Path, view: View, pruned: bool) -> None:
    """Draw a saved policy on its graph."""
    if view is not View.graph:
        raise ArgumentError(
            f"expected a prior and a depth for the view {view.value!r}, found a saved policy: the "
            "file does not contain the prior"
        )
    draw_graph(policy, output, pruned=pruned)
