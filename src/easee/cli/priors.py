"""`easee priors`, and the arguments that select a prior."""

from typing import Annotated

import typer

from easee import priors
from easee.cli.console import make_table, out, print_line
from easee.errors import ArgumentError
from easee.policy_text import split_depth

Prior = Annotated[str, typer.Argument(help="Name of a ready-made prior, or path of a prior file.")]
PriorAndDepth = Annotated[
    str,
    typer.Argument(
        help="Name of a ready-made prior, or path of a prior file; also with the depth, as in "
        "doorkey:6."
    ),
]
Depth = Annotated[
    int | None,
    typer.Option("--depth", "-d", help="Depth of the graph: length of the longest words."),
]


def prior_and_depth(prior: str, depth: int | None) -> tuple[str, int]:
    """Return a prior and a depth, which may be a part of the text of the prior."""
    if prior.endswith(".npz"):
        raise ArgumentError(f"expected a prior, found {prior!r}, which is a compiled policy")
    return split_depth(prior) if depth is None else (prior, depth)


def priors_command(
    name: Annotated[str | None, typer.Argument(help="Print this prior in the text format.")] = None,
) -> None:
    """List the ready-made priors, or print one in the text format."""
    if name is not None:
        print_line(str(priors.get(name)))
        return
    omegas = {prior: priors.get(prior) for prior in priors.names()}
    rows = [
        (prior, str(len(omega.actions)), str(len(omega)), priors.describe(prior))
        for prior, omega in omegas.items()
    ]
    columns = ("prior", "actions", "relations", "description")
    out.print(make_table(columns, rows, right=("actions", "relations")))
