"""The command line: `easee compile`, `draw`, `priors`, `verify`, `tune` and others."""

import io
import sys
from typing import Annotated

import typer

from easee import __version__
from easee.cli.compile import compile_command
from easee.cli.console import print_line, report_errors
from easee.cli.draw import draw_command
from easee.cli.experiments import list_command, plot_command, run_command
from easee.cli.priors import priors_command
from easee.cli.probing import discover_command, verify_command
from easee.cli.studio import studio_command
from easee.cli.tune import tune_command

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _print_version(requested: bool) -> None:
    if requested:
        print_line(f"easee {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Compile equivalent action sequences into exploration policies."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # the terminal's encoding may lack Λ
            stream.reconfigure(errors="replace")


PRIORS = (compile_command, draw_command, priors_command, studio_command)
ENVIRONMENTS = (verify_command, discover_command, tune_command)
for command in (*PRIORS, *ENVIRONMENTS, list_command, run_command, plot_command):
    app.command(command.__name__.removesuffix("_command"))(report_errors()(command))
