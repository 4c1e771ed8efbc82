"""The command line: easee compile | draw | priors | verify | discover | list | run | plot."""

from __future__ import annotations

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


_reporting_errors = report_errors()
app.command("compile")(_reporting_errors(compile_command))
app.command("draw")(_reporting_errors(draw_command))
app.command("priors")(_reporting_errors(priors_command))
app.command("verify")(_reporting_errors(verify_command))
app.command("discover")(_reporting_errors(discover_command))
app.command("list")(_reporting_errors(list_command))
app.command("run")(_reporting_errors(run_command))
app.command("plot")(_reporting_errors(plot_command))
