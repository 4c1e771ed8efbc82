"""Run the command line with `python -m easee.cli`."""

from easee.cli import app

app()
