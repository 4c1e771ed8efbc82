"""Entry point of `python -m easee.cli`."""

from easee.cli import app

app()
