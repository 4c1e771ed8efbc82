import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import easee
from easee import Equivalences
from easee.cli import app, console, probing
from tests.worlds import ButtonRing

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
    assert "…" in result.output  # long tables are shortened


def test_the_depth_may_be_a_part_of_the_prior(tmp_path):
    path, picture = tmp_path / "policy.npz", tmp_path / "graph.svg"
    result = invoke("compile", "cardinal-grid:2", "-o", path)
    assert result.exit_code == 0 and "13 (exact)" in result.output
    assert "easee tune cardinal-grid --env" in invoke("compile", "cardinal-grid:2").output
    assert invoke("draw", "cardinal-grid:2", "-o", picture).exit_code == 0
    assert invoke("draw", path, "-o", picture).exit_code == 0
    assert "add a depth, e.g. 'cardinal-grid:6'" in invoke("compile", "cardinal-grid").output
    assert "depth is not a number" in invoke("compile", "cardinal-grid:six").output
    assert "a compiled policy" in invoke("compile", path).output
    result = invoke("draw", path, "--view", "steps", "-o", picture)
    assert result.exit_code == 1 and "does not contain the prior" in result.output


def test_compile_marks_graphs_that_are_not_proved_exact():
    assert (
        "11,568 (closure, stable)" in invoke("compile", "rotation-grid-complete", "-d", 40).output
    )


def test_verbose_shows_the_time_per_part():
    exact = invoke("compile", "freeway", "-d", 8, "--verbose").output
    for part in ("completion", "build", "symmetry", "factor", "iterate", "certificate"):
        assert part in exact
    assert "closure" in invoke("compile", "rotation-grid-complete", "-d", 6, "-v").output


@pytest.mark.slow
def test_interrupted_compile_leaves_no_file(tmp_path):
    path = tmp_path / "policy.npz"
    command = [sys.executable, "-m", "easee.cli", "compile", "boxing", "-d", "5", "-o", str(path)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # Background jobs of a shell ignore SIGINT, and child processes inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(2.0)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_draw_writes_every_view(tmp_path):
    for view in ("graph", "pipeline"):
        path = tmp_path / f"{view}.svg"
        result = invoke("draw", "rotation-grid", "-d", 3, "-o", path, "--view", view, "--pruned")
        assert result.exit_code == 0 and path.stat().st_size > 5000
    prior = tmp_path / "prior.txt"
    prior.write_text("actions: a1 a2\na1 a1 ~\na2 a1 ~ a1 a2\n")
    result = invoke("draw", prior, "-d", 2, "-o", tmp_path / "steps.png", "--view", "steps")
    assert result.exit_code == 0 and (tmp_path / "steps.png").stat().st_size > 5000


def test_priors_lists_all_and_prints_one():
    output = invoke("priors").output
    assert all(name in output for name in easee.priors.names())
    assert invoke("priors", "catcher").output == "actions: left right\nleft right ~ right left\n"


# --- environments --------------------------------------------------------------------------------


def test_verify_reports_relations_that_hold():
    result = invoke("verify", "rotation-grid", "--env", "easee/RotationGrid-v0", "--states", 30)
    assert result.exit_code == 0
    assert result.output.count("holds") == 3 and "fails" in result.output
    for text in ("left left ~ right right", "0.0% [0.0, ", "compared observations"):
        assert text in result.output


@pytest.mark.slow
def test_verify_reports_violations_and_saves_pictures(tmp_path):
    folder = tmp_path / "new" / "pictures"
    result = invoke(
        *("verify", "doorkey", "--env", "MiniGrid-DoorKey-6x6-v0", "--rename", "open=toggle"),
        *("--states", 40, "--pictures", folder),
    )
    assert result.exit_code == 0
    broken = [line for line in result.output.splitlines() if "usually holds" in line]
    assert len(broken) == 1 and "open open ~ open" in broken[0]
    pictures = sorted(folder.iterdir())
    assert pictures and all(p.read_bytes().startswith(b"\x89PNG") for p in pictures)
    assert all(str(picture) in result.output for picture in pictures)


@pytest.mark.slow
@pytest.mark.parametrize(("tolerance", "status"), [(0.0, 1), (1.0, 0), (1.5, 1)])
def test_verify_exit_status_follows_the_tolerance(tolerance, status):
    result = invoke(
        *("verify", "doorkey", "--env", "MiniGrid-DoorKey-6x6-v0", "--rename", "open=toggle"),
        *("--states", 40, "--tolerance", tolerance),
    )
    assert result.exit_code == status
    assert ("usually holds" in result.output) == (tolerance <= 1)


@pytest.mark.slow
def test_verify_turns_sticky_actions_off_and_reports_it():
    result = invoke(
        *("verify", "freeway", "--env", "ALE/Freeway-v5", "--states", 10, "--state", "ram:14"),
        *("--option", "frameskip=1", "--option", "obs_type=ram"),
    )
    assert result.exit_code == 0 and "sticky actions" in result.output
    assert "turned off" in result.output and "the environment is random" not in result.output
    assert "compared byte 14 of the game's memory" in result.output


def test_discovered_priors_can_be_compiled(tmp_path):
    path = tmp_path / "found.txt"
    result = invoke(
        *("discover", "--env", "easee/CardinalGrid-v0", "--max-length", 2, "--states", 20),
        *("-o", path),
    )
    assert result.exit_code == 0
    assert "right left ~ Λ" in result.output and "no relation failed" in result.output
    assert easee.Equivalences.load(path).equivalent("up down left", "left") is True
    assert "41 (exact)" in invoke("compile", path, "--depth", 4).output


def test_discover_obeys_budget_tolerance_and_options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what an unfinished search found is kept here
    result = invoke(
        *("discover", "--env", "easee/RotationGrid-v0", "--option", "size=8", "--states", 30),
        *("--tolerance", 0.3, "--budget", 4000),
    )
    assert result.exit_code == 0
    assert "may fail in 30%" in result.output and "budget of 4,000 steps" in result.output


def test_discover_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ("discover", "--env", "easee/CardinalGrid-v0", "--states", 20, "--max-length", 2)
    stopped = invoke(*arguments, "--minutes", 1e-9)
    assert stopped.exit_code == 0 and "the time was over" in stopped.output
    path = tmp_path / "discovered-easee-CardinalGrid-v0.txt"
    assert f"again with -o {path.name} to go on" in stopped.output and path.exists()
    finished = invoke(*arguments, "-o", path.name)
    assert "going on from" in finished.output and "not finished" not in finished.output
    assert Equivalences.load(path).equivalent("left right", "") is True
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert "going on" not in invoke(*arguments, "-o", path.name).output


def without(module, *arguments):
    """Run a command in a Python process in which a module is not installed."""
    code = f"import sys; sys.modules[{module!r}] = None; from easee.cli import app; app()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_pictures_without_pygame_are_an_error_before_the_work(tmp_path):
    prior = tmp_path / "prior.txt"
    prior.write_text("actions: 0 1\n0 1 ~ 1 0\n")
    arguments = ("verify", prior, "--env", "CartPole-v1", "--pictures", tmp_path / "pictures")
    process = without("pygame", *arguments)
    assert process.returncode == 1 and process.stderr.startswith("error: CartPole-v1 cannot be")
    assert "pygame" in process.stderr and "Traceback" not in process.stderr


def test_runs_without_matplotlib_are_an_error_before_the_work(tmp_path):
    process = without("matplotlib", "run", "fig3", "--seeds", 1, "--out", tmp_path / "fig3")
    assert process.returncode == 1 and "pip install '.[plot]'" in process.stderr
    assert not (tmp_path / "fig3").exists()


def _heed_interrupts():
    """Undo what a shell does for jobs in the background, which ignore interrupts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.3, 4.0])
def test_interrupted_runs_say_what_is_kept(tmp_path, seconds):
    command = [sys.executable, "-m", "easee.cli", "run", "fig3", "--jobs", "2", "--seeds", "50"]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path / "fig3")], stderr=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=_heed_interrupts,
    )  # fmt: skip
    while not (tmp_path / "fig3").exists() and process.poll() is None:
        time.sleep(0.05)
    time.sleep(seconds)  # the workers still import, or run
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does: to the workers, too
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in errors
    assert re.search(r"interrupted: \d+ of \d+ runs are finished and kept in", errors)


def test_unknown_arms_list_a_few_of_many():
    output = invoke("run", "fig3", "--arm", "nonsense").output
    assert "has no arm 'nonsense'" in output and "more" in output and len(output) < 1000


def test_plot_names_the_backend_whose_results_exist(tmp_path, monkeypatch):
    results = Path(__file__).parents[2] / "results" / "freeway"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "freeway").symlink_to(results)
    output = invoke("plot", "freeway").output
    assert "easee plot freeway --backend population" in output and "easee run" not in output


def test_texts_are_not_turned_into_emoji(tmp_path):
    prior = tmp_path / "prior.txt"
    prior.write_text("actions: :x: :smile:\n:x: :smile: ~ :smile: :x:\n")
    options = ("--states", 5, "--names", ":x:,:smile:")
    output = invoke("verify", prior, "--env", "CartPole-v1", *options).output
    assert ":x: :smile: ~" in output and ":smile: :x:" in output


def test_the_list_of_priors_is_never_cut_off():
    for columns in ("60", "80", "200"):
        output = runner.invoke(app, ["priors"], env={"COLUMNS": columns}).output
        assert "…" not in output
        if columns != "60":
            assert all(name in output for name in easee.priors.names())


def test_errors_name_options_of_the_command_line():
    output = invoke("verify", "doorkey", "--env", "MiniGrid-DoorKey-6x6-v0").output
    assert "--rename open=" in output
    output = invoke("discover", "--env", "CartPole-v1", "--states", 10).output
    assert "--state round:1" in output


def test_state_functions_are_texts():
    arguments = ("discover", "--env", "easee/CardinalGrid-v0", "--states", 20, "--max-length", 1)
    result = invoke(*arguments, "--state", "observation:0")
    assert result.exit_code == 0 and "up ~ Λ" in result.output
    assert "did you mean 'round'" in invoke(*arguments, "--state", "rond:2").output


def test_verify_saves_the_prior_with_measured_rates(tmp_path):
    prior, path = tmp_path / "prior.txt", tmp_path / "measured.txt"
    prior.write_text("actions: right left up down\nright left ~\nright up ~ up right\n")
    options = ("--option", "size=4", "--states", 100, "-o", path)
    result = invoke("verify", prior, "--env", "easee/CardinalGrid-v0", *options)
    assert result.exit_code == 0 and f"saved to {path}" in result.output
    measured = Equivalences.load(path)
    assert measured.pairs == (
        (("right", "left"), ()),
        (("right", "up"), ("up", "right")),
    )
    assert 0.1 < measured.rates[0] < 0.4 and measured.rates[1] == 0


def test_discover_saves_a_policy_with_a_depth(tmp_path):
    path = tmp_path / "policy.npz"
    arguments = ("discover", "--env", "easee/CardinalGrid-v0", "--max-length", 2, "--states", 20)
    result = invoke(*arguments, "--depth", 5, "-o", path)
    assert result.exit_code == 0 and f"saved to {path}" in result.output
    assert "61 (exact)" in result.output and "floors" not in result.output
    policy = easee.ExplorationPolicy.load(path)
    assert policy.graph.depth == 5 and policy.graph.actions == ("right", "left", "up", "down")
    text = tmp_path / "prior.txt"
    assert "61 (exact)" in invoke(*arguments, "--depth", 5, "-o", text).output
    assert Equivalences.load(text).equivalent("right left", "") is True


@pytest.mark.slow
def test_discover_finds_relations_that_usually_hold(tmp_path, monkeypatch):
    monkeypatch.setattr(probing, "make_env", lambda *_: ButtonRing(12))
    path = tmp_path / "policy.npz"
    arguments = ("discover", "--env", "button", "--max-length", 2, "--states", 200)
    result = invoke(*arguments, "--usually", 0.15, "--depth", 3, "-o", path)
    assert result.exit_code == 0 and "relations usually hold" in result.output
    assert "press 0.15, release 0.05" in result.output
    floors = easee.ExplorationPolicy.load(path).floors
    np.testing.assert_allclose(floors, [0, 0, 0.15, 0.05, 0])
    exact = invoke(*arguments, "--depth", 3)
    assert exact.exit_code == 0 and "usually" not in exact.output and "floors" not in exact.output


def test_discover_compiles_to_the_deepest_depth_that_fits(tmp_path, monkeypatch):
    path = tmp_path / "policy.npz"
    monkeypatch.setattr(easee.graph, "most_nodes", lambda n_actions: 50)
    arguments = ("discover", "--env", "easee/CardinalGrid-v0", "--max-length", 2, "--states", 20)
    result = invoke(*arguments, "--depth", 9, "-o", path)
    assert result.exit_code == 0
    assert "depth 9 does not fit in memory: compiled to depth 4 instead" in result.output
    assert easee.ExplorationPolicy.load(path).graph.depth == 4  # 41 nodes, 61 at depth 5
    monkeypatch.setattr(easee.graph, "most_nodes", lambda n_actions: 2)
    result = invoke(*arguments, "--depth", 3)
    assert result.exit_code == 1 and "no depth fits" in result.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "label"), [("auto", "MiniGrid's whole states"), ("observation", "observations")]
)
def test_the_state_of_a_minigrid_can_be_chosen(state, label):
    arguments = ("discover", "--env", "MiniGrid-Empty-5x5-v0", "--max-length", 1, "--states", 10)
    assert f"compared {label}\n" in invoke(*arguments, "--state", state).output


def test_verify_accepts_an_environment_of_a_package():
    result = invoke("verify", "catcher", "--env", "easee.envs:easee/Catcher-v0", "--states", 3)
    assert result.exit_code == 0 and "left right ~ right left" in result.output


def test_brackets_in_names_are_not_markup(tmp_path):
    prior = tmp_path / "prior.txt"
    prior.write_text("actions: [left] [right]\n[left] [right] ~ [right] [left]\n")
    rename = ("--rename", "[left]=left", "--rename", "[right]=right")
    result = invoke("verify", prior, "--env", "easee/Catcher-v0", "--states", 3, *rename)
    assert "[left]" in result.output and "[right]" in result.output


def test_unwritable_outputs_are_reported_before_any_work(tmp_path):
    (tmp_path / "file").touch()
    for arguments in (
        ("discover", "--env", "no/such-v0", "-o", tmp_path),
        ("discover", "--env", "no/such-v0", "-o", tmp_path / "file" / "prior.txt"),
        ("verify", "catcher", "--env", "no/such-v0", "-o", tmp_path),
        ("verify", "catcher", "--env", "no/such-v0", "--pictures", tmp_path / "file"),
    ):
        result = invoke(*arguments)
        assert result.exit_code == 1 and "cannot write" in result.output


def test_help_does_not_import_experiments_or_plotting():
    code = (
        "import sys, easee.cli\n"
        "heavy = {'easee.experiments', 'matplotlib', 'torch', 'jax', 'ray', 'minigrid', 'ale_py'}\n"
        "assert not heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_version_is_printed():
    assert invoke("--version").output == f"easee {easee.__version__}\n"


CATCHER = ("verify", "catcher", "--env", "easee/Catcher-v0")
FREEWAY = ("verify", "freeway", "--env", "ALE/Freeway-v5")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compile", "cardnal-grid", "-d", 3), "did you mean 'cardinal-grid'"),
        (("compile", "missing.txt", "-d", 3), "No such file"),
        (("compile", "cardinal-grid", "-d", 0), "at least 1"),
        (("compile", "boxing", "-d", 40), "does not fit"),
        (("draw", "cardinal-grid", "-d", 30, "-o", "x.png"), "lower the depth"),
        (("draw", "cardinal-grid", "-d", 2, "-o", "x.txt"), ".svg, .png or .pdf"),
        (("priors", "catchr"), "did you mean 'catcher'"),
        (("verify", "doorkey", "--env", "MiniGrid-DoorKey-6x6-v0"), "left, right, forward, pickup"),
        (("verify", "doorkey", "--env", "MiniGrid-DoorKey-6x6-v0"), "drop, toggle, done"),
        ((*CATCHER, "--rename", "left"), "--rename NAME=VALUE"),
        ((*CATCHER, "--rename", "lft=right"), "did you mean 'left'"),
        ((*CATCHER, "--option", "width"), "--option NAME=VALUE"),
        ((*CATCHER, "--option", "size=3"), "'size'"),
        ((*CATCHER, "--option", "width=abc"), "found 'abc'"),
        ((*CATCHER, "--state", "obsrvation"), "did you mean 'observation'"),
        ((*CATCHER, "--state", "minigrid"), "MiniGrid"),
        ((*CATCHER, "--state", "ram"), "Atari"),
        ((*CATCHER, "--states", 0), "states of at least 1"),
        ((*FREEWAY, "--state", "ram:x"), "bytes from 0 to 127"),
        ((*FREEWAY, "--state", "ram:14,128"), "bytes from 0 to 127"),
        ((*FREEWAY, "--option", "obs_type=smell"), "smell"),
        (("verify", "catcher", "--env", "easee/Catchr-v0"), "did you mean 'easee/Catcher-v0'"),
        (("verify", "catcher", "--env", "CartPol-v1"), "did you mean 'CartPole-v1'"),
        (("verify", "catcher", "--env", "no_such_package:Some-v0"), "'no_such_package'"),
        (("verify", "catcher", "--env", "easee.envs:Catcher-v0"), "Catcher"),
        (("verify", "catcher", "--env", ":Catcher-v0"), "Catcher"),
        (("verify", "catcher", "--env", "Pendulum-v1"), "Discrete"),
        (("discover", "--env", "easee/RotationGrid-v0", "--option", "size=big"), "big"),
        (("discover", "--env", "CartPole-v1", "--budget", 5000), "state="),
        (("discover", "--env", "easee/Catcher-v0", "-o", "policy.npz"), "add --depth"),
        (("discover", "--env", "easee/Catcher-v0", "--depth", 0), "depth of at least 1"),
        (("discover", "--env", "easee/Catcher-v0", "--usually", 0.7), "usually below 0.5"),
    ],
)
def test_errors_are_one_line_without_a_traceback(arguments, message):
    result = invoke(*arguments)
    assert result.exit_code == 1
    assert message in result.output and "Traceback" not in result.output
    assert result.output.startswith("error:") and result.output.count("\n") == 1


def test_compile_says_what_the_policy_gains_and_what_comes_next(tmp_path):
    result = invoke("compile", "minigrid", "-d", 4)
    assert "2.27 times uniform: visits spread over 151 nodes, not 67" in result.output
    assert "layers grow 5.22 times a step; about depth" in result.output
    assert "warning: done will never be taken" in result.output
    assert "done ~ @ 0.05" in result.output
    assert "next: easee tune minigrid --env ID" in result.output
    saved = invoke("compile", "catcher", "-d", 4, "-o", tmp_path / "policy.npz").output
    assert "ExplorationPolicy.load" in saved and "warning" not in saved


def test_the_tables_fit_into_eighty_columns():
    result = runner.invoke(app, ["compile", "minigrid", "-d", "4"], env={"COLUMNS": "80"})
    assert max(map(len, result.output.splitlines())) <= 80
    assert "layers grow 5.22 times a step; about depth" in result.output  # on one line


@pytest.mark.parametrize("columns", [40, 50, 60, 70, 80, 100, 200])
def test_tables_lose_no_letter_in_any_terminal(columns):
    def letters(width):
        output = runner.invoke(app, ["priors"], env={"COLUMNS": str(width)}).output
        assert max(map(len, output.splitlines())) <= width
        return sorted(filter(str.isalnum, output))

    assert letters(columns) == letters(500)


@pytest.mark.parametrize(("width", "framed"), [(23, False), (26, False), (27, True)])
def test_lines_are_left_out_before_words_are_broken(width, framed, monkeypatch):
    monkeypatch.setattr(console, "out", Console(width=width))
    table = console.make_table(("prior", "name"), [("abcdefghij", "klmnopqrst")])
    with console.out.capture() as shown:
        console.out.print(table)
    assert "abcdefghij" in shown.get() and "klmnopqrst" in shown.get()
    assert ("│" in shown.get()) == framed


def test_tables_break_no_word_if_there_is_room():
    shown = {}
    for columns in (64, 80, 200):
        output = runner.invoke(app, ["priors"], env={"COLUMNS": str(columns)}).output
        assert "cardinal-both-inverses-printed" in output and "idempotent" in output
        shown[columns] = "┃" in output
    assert shown == {64: False, 80: True, 200: True}  # lines between columns


def test_numbers_are_not_cut_off_in_a_narrow_terminal():
    def digits(columns):
        arguments = ["compile", "rotation-grid", "-d", "4"]
        output = runner.invoke(app, arguments, env={"COLUMNS": columns}).output
        body = re.split("[┡─]", output, maxsplit=1)[1]  # below the header
        body = re.split("[└┌]", body)[0]
        return sorted(filter(str.isdigit, body))

    assert digits("40") == digits("200") != []


def test_verify_takes_names():
    arguments = ("verify", "doorkey", "--env", "MiniGrid-DoorKey-6x6-v0", "--states", 10)
    refused = invoke(*arguments)
    assert refused.exit_code == 1 and "'open' is not one of the environment's" in refused.output
    result = invoke(*arguments, "--names", "left,right,forward,pickup,drop,open,done")
    assert result.exit_code == 0 and "open open ~ open" in result.output


def test_tune_recommends_a_depth_and_saves_its_policy(tmp_path):
    policy, plot = tmp_path / "policy.npz", tmp_path / "plot.png"
    result = invoke(
        *("tune", "cardinal-grid", "--env", "easee/CardinalGrid-v0", "--depths", "3,30"),
        *("--steps", 8000, "-o", policy, "--plot", plot),
    )
    assert result.exit_code == 0, result.output
    assert "depth 30 *" in result.output and "Depth 30: " in result.output
    assert easee.ExplorationPolicy.load(policy).graph.depth == 30
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_tune_says_when_nothing_helps(tmp_path):
    prior = tmp_path / "prior.txt"
    prior.write_text("actions: right left up down\n")
    policy = tmp_path / "policy.npz"
    arguments = ("tune", prior, "--env", "easee/CardinalGrid-v0", "--depths", "2", "--steps", 3000)
    result = invoke(*arguments)
    assert result.exit_code == 0 and "No depth helps" in result.output
    unsaved = invoke(*arguments, "-o", policy)
    assert unsaved.exit_code == 1 and not policy.exists()
    assert "is not written, because no depth is recommended" in unsaved.output


@pytest.mark.parametrize("depths", ["a", "5..2", "0..3", "0", "2,,3", "2..", ""])
def test_tune_rejects_invalid_depths(depths):
    result = invoke("tune", "catcher", "--env", "easee/Catcher-v0", "--depths", depths)
    assert result.exit_code == 1 and "expected --depths such as 2..50" in result.output
