import pytest
from typer.testing import CliRunner

from easee.cli import app


@pytest.mark.parametrize("output", ["", "/proc/nothing/x.npz", "/etc/hostname/x.npz"])
def test_unwritable_outputs_are_reported(tmp_path, output):
    arguments = ["compile", "catcher", "-d", "3", "-o", output or str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1 and "error: cannot write" in result.output


def test_brackets_are_printed_literally(tmp_path):
    result = CliRunner().invoke(app, ["compile", "[/x]", "-d", "3"])
    assert result.exit_code == 1 and "'[/x]'" in result.output
    path = tmp_path / "p[bold].npz"
    result = CliRunner().invoke(app, ["compile", "catcher", "-d", "3", "-o", str(path)])
    assert "p[bold].npz" in result.output.replace("\n", "")
