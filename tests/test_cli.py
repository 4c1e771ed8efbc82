import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import easee
from easee.cli import app

runner = CliRunner()


def invoke(*arguments):
    return runner.invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


def test_compile_prints_layers_and_certificate(tmp_path):
    path = tmp_path / "policy.npz"
    result = invoke("compile", "cardinal-grid", "--depth", 6, "-o", path)
    assert result.exit_code == 0
    assert "85 (exact)" in result.output and "duality gap" in result.output
    assert easee.ExplorationPolicy.load(path).graph.depth == 6


def test_compile_reads_a_file(tmp_path):
    prior = tmp_path / "prior.txt"
    prior.write_text("actions: l r\nl r ~ r l\n")
    result = invoke("compile", prior, "-d", 30)
    assert result.exit_code == 0 and "496 (exact)" in result.output
    assert "…" in result.output  # long tables are abridged


def test_compile_says_when_a_graph_is_not_proved_exact():
    assert (
        "11,568 (closure, stable)" in invoke("compile", "rotation-grid-complete", "-d", 40).output
    )


def test_verbose_shows_where_the_time_went():
    exact = invoke("compile", "freeway", "-d", 8, "--verbose").output
    for part in ("completion", "build", "symmetry", "factor", "iterate", "certificate"):
        assert part in exact
    assert "closure" in invoke("compile", "rotation-grid-complete", "-d", 6, "-v").output


def test_ctrl_c_leaves_no_half_written_file(tmp_path):
    path = tmp_path / "policy.npz"
    command = [sys.executable, "-m", "easee.cli", "compile", "boxing", "-d", "5", "-o", str(path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert not list(tmp_path.iterdir())


def test_draw(tmp_path):
    for view in ("graph", "pipeline"):
        path = tmp_path / f"{view}.svg"
        result = invoke("draw", "rotation-grid", "-d", 3, "-o", path, "--view", view, "--pruned")
        assert result.exit_code == 0 and path.stat().st_size > 5000
    prior = tmp_path / "prior.txt"
    prior.write_text("actions: a1 a2\na1 a1 ~\na2 a1 ~ a1 a2\n")
    result = invoke("draw", prior, "-d", 2, "-o", tmp_path / "steps.png", "--view", "steps")
    assert result.exit_code == 0


def test_priors_are_listed_and_shown():
    listed = invoke("priors").output
    for name in easee.priors.names():
        assert name in listed
    assert invoke("priors", "catcher").output == "actions: left right\nleft right ~ right left\n"


def test_version():
    assert invoke("--version").output == f"easee {easee.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("compile", "cardnal-grid", "-d", 3), "did you mean 'cardinal-grid'"),
        (("compile", "missing.txt", "-d", 3), "No such file"),
        (("compile", "cardinal-grid", "-d", 0), "at least 1"),
        (("compile", "boxing", "-d", 40), "does not fit"),
        (("draw", "cardinal-grid", "-d", 30, "-o", "x.png"), "lower the depth"),
        (("draw", "cardinal-grid", "-d", 2, "-o", "x.txt"), ".svg, .png or .pdf"),
        (("priors", "catchr"), "did you mean 'catcher'"),
    ],
)
def test_errors_are_one_line_without_a_traceback(arguments, says):
    result = invoke(*arguments)
    assert result.exit_code == 1
    assert says in result.output and "Traceback" not in result.output
    assert result.output.startswith("error:") and result.output.count("\n") == 1
