import pytest

from easee.cli import console


@pytest.fixture(autouse=True)
def the_width_follows_the_environment(monkeypatch):
    """Read COLUMNS in each command, also if it was set when the consoles were made."""
    for each in (console.out, console.err):
        monkeypatch.setattr(each, "_width", None)
