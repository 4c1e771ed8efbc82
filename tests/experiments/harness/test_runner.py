import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

import easee
from easee.cli import app
from easee.experiments.coverage import simulation
from easee.experiments.harness import runner
from easee.experiments.harness import store as store_module
from easee.experiments.harness.backends import ClusterError, one_by_one
from easee.experiments.harness.rows import ResultsError
from easee.experiments.harness.runner import run_missing
from easee.experiments.harness.store import Store
from easee.experiments.registry import FIGURES, get_figure

FIG3 = FIGURES["fig3"]
ARMS = ["CardinalGrid/uniform", "CardinalGrid/cardinal-grid/2", "CardinalGrid/cardinal-grid/4"]


def run(folder, figure=FIG3, **options):
    return run_missing(figure, folder, **({"seeds": 2, "arms": ARMS, "jobs": 1} | options))


def easee_command(*arguments):
    return [sys.executable, "-m", "easee.cli", *map(str, arguments)]


def test_results_are_a_long_table_and_a_description(tmp_path):
    rows = run(tmp_path)
    text = (tmp_path / "runs.csv").read_text()
    assert text.splitlines()[0] == "figure,arm,seed,step,metric,value"
    assert len(rows) == len(text.splitlines()) - 1 == 2 * (4 + 1 + 4)
    meta = json.loads((tmp_path / "meta.json").read_text())
    assert meta["figure"] == "fig3" and meta["versions"]["easee"] == easee.__version__
    assert {"config", "command"} <= set(meta)
    assert list(meta["machines"].values()) == [6]  # all runs were done by one machine
    assert not (tmp_path / "parts").exists()


def test_every_command_is_noted_once(tmp_path, monkeypatch):
    for arguments, seeds in (("a", 1), ("a", 1), ("b", 1), ("b --seeds 2", 2), ("a", 2)):
        monkeypatch.setattr(sys, "argv", ["easee", *arguments.split()])
        run(tmp_path, seeds=seeds)
    meta = json.loads((tmp_path / "meta.json").read_text())
    assert meta["command"] == "easee a && easee b --seeds 2"


def test_nothing_to_do_is_said(tmp_path):
    console = Console(record=True, width=200)
    run(tmp_path, console=console)
    assert "already" not in console.export_text()
    run(tmp_path, console=console)
    assert f"all 6 runs are in {tmp_path} already" in console.export_text()


def test_late_reports_of_finished_runs_are_ignored():
    runs = FIG3.runs(1)[:3]
    with runner._progress(Console(quiet=True)) as progress:
        bar = runner._Bar(progress, "fig3", runs, runs[1:])
        bar.report(runs[1].key, 0.5)
        assert progress.tasks[0].completed == 1.5
        bar.finish(runs[1:])
        bar.report(runs[1].key, 0.75)
        assert progress.tasks[0].completed == progress.tasks[0].total == 3


@pytest.mark.slow
def test_the_number_of_processes_does_not_change_the_results(tmp_path):
    run(tmp_path / "one")
    run(tmp_path / "two", jobs=2)
    assert (tmp_path / "one/runs.csv").read_bytes() == (tmp_path / "two/runs.csv").read_bytes()


def test_only_missing_runs_are_done(tmp_path):
    run(tmp_path, seeds=1)
    done = []

    def measure(run):
        done.append(run.key)
        return simulation.measure(run)

    figure = replace(FIG3, backends=one_by_one(measure))
    run(tmp_path, figure, seeds=2)
    assert sorted(done) == sorted((arm, 1) for arm in ARMS)
    done.clear()
    run(tmp_path, figure, seeds=2)
    assert done == []


def test_adding_seeds_later_gives_the_same_file(tmp_path):
    run(tmp_path / "whole", seeds=3)
    for seeds in (1, 3):
        run(tmp_path / "parts", seeds=seeds)
    assert (tmp_path / "whole/runs.csv").read_bytes() == (tmp_path / "parts/runs.csv").read_bytes()


@pytest.mark.slow
def test_sigkill_loses_only_runs_in_flight(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    options = ["run", "fig3", "--seeds", 1, "--jobs", 2]
    subprocess.run(easee_command(*options, "--out", whole), check=True, capture_output=True)
    parts = killed / "parts"
    kept = 0
    for least in (3, 20):  # killed twice, at different moments
        process = subprocess.Popen(
            easee_command(*options, "--out", killed),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        while process.poll() is None and len(list(parts.glob("*.csv"))) < least:
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        count = len(list(parts.glob("*.csv")))
        assert count >= max(kept, least)
        kept = count
    assert not (killed / "runs.csv").exists()
    assert len(Store(FIG3, killed).missing(FIG3.runs(1))) == 82 - kept
    subprocess.run(easee_command(*options, "--out", killed), check=True, capture_output=True)
    assert (whole / "runs.csv").read_bytes() == (killed / "runs.csv").read_bytes()


@pytest.mark.slow
def test_workers_end_with_their_parent(tmp_path):
    process = subprocess.Popen(
        easee_command("run", "sensitivity", "--seeds", 2, "--jobs", 2, "--out", tmp_path),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # the workers are in its group
    )
    while process.poll() is None and not list((tmp_path / "parts").glob("*.csv")):
        time.sleep(0.05)
    assert process.poll() is None
    process.kill()  # it alone, not the group
    process.wait()
    for _ in range(100):
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGKILL)
    pytest.fail("workers outlived the process that started them")


def test_corrupt_rows_are_reported_and_their_runs_repeated(tmp_path):
    run(tmp_path)
    path = tmp_path / "runs.csv"
    good = path.read_bytes()
    lines = path.read_text().splitlines()
    lines[3] = lines[3].rsplit(",", 1)[0] + ",abc"
    path.write_text("\n".join(lines) + "\n")
    contents = Store(FIG3, tmp_path).read()
    assert len(contents.problems) == 1 and "line 4" in contents.problems[0]
    assert len(contents.rows) == len(lines) - 1 - 4  # a run with a damaged row is not done
    run(tmp_path, arms=ARMS[1:])  # this writes the table without it
    run(tmp_path)
    assert path.read_bytes() == good


def test_runs_with_damaged_files_are_repeated(tmp_path):
    run(tmp_path / "whole")
    good = (tmp_path / "whole/runs.csv").read_bytes()
    store = Store(FIG3, tmp_path / "cut")
    store.open()
    todo = [r for r in FIG3.runs(2) if r.arm in ARMS]
    for r in todo:
        store.add(r, simulation.measure(r))
    first, second, *_ = sorted(store.parts.glob("*.csv"))
    first.write_bytes(first.read_bytes()[:-9])
    second.write_bytes(b"\0\1garbage\n")
    assert len(store.missing(todo)) == 2
    run(tmp_path / "cut")
    table = tmp_path / "cut/runs.csv"
    assert table.read_bytes() == good
    table.write_text(table.read_text().rsplit("\n", 2)[0] + "\nfig3")
    assert len(store.missing(todo)) == 1
    run(tmp_path / "cut")
    assert table.read_bytes() == good


@pytest.mark.slow
@pytest.mark.parametrize("text", ["[1]", '{"figure": "fig3", "versions": 3}', "{"])
def test_a_damaged_description_is_reported(tmp_path, text):
    run(tmp_path, seeds=1)
    (tmp_path / "meta.json").write_text(text)
    with pytest.raises(ResultsError, match="damaged"):
        run(tmp_path)
    assert CliRunner().invoke(app, ["plot", "fig3", "--out", str(tmp_path)]).exit_code == 0


def test_results_with_other_settings_are_not_plotted(tmp_path):
    run(tmp_path, seeds=1)
    meta = json.loads((tmp_path / "meta.json").read_text())
    meta["config"][next(iter(meta["config"]))] = "something else"
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    done = CliRunner().invoke(app, ["plot", "fig3", "--out", str(tmp_path)])
    assert done.exit_code == 1 and "something else" in done.output


def test_runs_that_another_process_finishes_meanwhile_are_kept(tmp_path, monkeypatch):
    run(tmp_path, seeds=1)
    store = Store(FIG3, tmp_path)
    store.parts.mkdir()
    late = next(r for r in FIG3.runs(2) if r.key == (ARMS[0], 1))
    measured = [(1, "unique states", 7.0)]
    read = Store._read

    def add_and_read(self, parts):
        store.add(late, measured)
        return read(self, parts)

    # With locks, `add` would wait for `gather`.
    monkeypatch.setattr(store_module, "locked", lambda folder: nullcontext())
    monkeypatch.setattr(Store, "_read", add_and_read)
    store.gather(FIG3.runs(2))
    monkeypatch.undo()
    assert [r for r in store.read().rows if r.seed == 1] == FIG3.rows(late, measured)


def test_unfinished_runs_of_two_processes_are_shown_together(tmp_path):
    first, second, third = FIG3.runs(1)[:3]
    stores = [Store(FIG3, tmp_path) for _ in range(2)]
    stores[0].open()
    stores[0].show([(first, [(1, "states", 1.0)]), (second, [(1, "states", 2.0)])])
    stores[1].show([(third, [(1, "states", 3.0)])])
    stores[0].show([(first, [(1, "states", 4.0)]), (second, [(1, "states", 5.0)])])
    assert sorted(row.value for row in stores[1].shown()) == [3.0, 4.0, 5.0]
    stores[1].checkpoint([third]).write_bytes(b"checkpoint")
    for run in (first, second):
        stores[0].add(run, [(2, "states", 6.0)])
    stores[0].gather(FIG3.runs(1))
    assert "3.0" in stores[0].partial.read_text() and "5.0" not in stores[0].partial.read_text()
    stores[1].add(third, [(2, "states", 6.0)])
    stores[1].gather(FIG3.runs(1))
    assert not stores[0].partial.exists()


def test_rows_of_finished_runs_are_not_written_again(tmp_path):
    first, second = FIG3.runs(1)[:2]
    store = Store(FIG3, tmp_path)
    store.open()
    store.show([(first, [(1, "states", 1.0)])])
    store.add(first, [(2, "states", 2.0)])
    store.show([(second, [(1, "states", 3.0)])])
    text = store.partial.read_text()
    assert "3.0" in text and "1.0" not in text


def test_a_run_that_starts_again_shows_none_of_its_old_rows(tmp_path):
    store = Store(FIG3, tmp_path)
    store.open()
    run = FIG3.runs(1)[0]
    store.show([(run, [(1, "states", 1.0)])])
    store.show([(run, [])])
    assert store.shown() == []


def test_processes_may_open_a_new_folder_at_the_same_time(tmp_path):
    barrier = threading.Barrier(4)  # threads lock a folder against each other, like processes

    def open_all():
        for i in range(100):
            barrier.wait()
            Store(FIG3, tmp_path / str(i)).open()

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(open_all) for _ in range(4)]:
            done.result()
    assert all((tmp_path / f"{i}/meta.json").exists() for i in range(100))


def test_a_damaged_table_of_unfinished_runs_is_replaced(tmp_path):
    store = Store(FIG3, tmp_path)
    store.open()
    store.partial.write_text("nonsense")
    store.show([(FIG3.runs(1)[0], [(1, "states", 1.0)])])
    assert [row.value for row in store.shown()] == [1.0]


def test_a_run_that_measures_nothing_is_not_repeated(tmp_path):
    calls = []

    def measure(run):
        calls.append(run.key)
        return []

    figure = replace(FIG3, backends=one_by_one(measure))
    run(tmp_path, figure, seeds=1, arms=ARMS[:1])
    run(tmp_path, figure, seeds=1, arms=ARMS[:1])
    assert len(calls) == 1


def test_folders_with_other_contents_are_rejected(tmp_path):
    run(tmp_path)
    with pytest.raises(ResultsError, match="another figure"):
        run_missing(FIGURES["depth"], tmp_path, seeds=1, arms=["CardinalGrid/uniform"], jobs=1)
    meta = json.loads((tmp_path / "meta.json").read_text())
    meta["versions"]["easee"] = "0.0.1"
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(ResultsError, match="another version"):
        run(tmp_path)
    (tmp_path / "meta.json").write_text("{")
    with pytest.raises(ResultsError, match="damaged"):
        run(tmp_path)
    (tmp_path / "meta.json").unlink()
    with pytest.raises(ResultsError, match="no meta.json"):
        run(tmp_path)
    before = (tmp_path / "runs.csv").read_bytes()
    run(tmp_path, force=True)
    assert (tmp_path / "runs.csv").read_bytes() == before


def test_a_table_with_other_columns_is_rejected(tmp_path):
    run(tmp_path)
    (tmp_path / "runs.csv").write_text("a,b,c\n1,2,3\n")
    with pytest.raises(ResultsError, match="not a table of runs"):
        run(tmp_path)


def test_invalid_arguments_are_rejected():
    with pytest.raises(easee.ArgumentError, match="did you mean 'fig3'"):
        get_figure("fig33")
    with pytest.raises(easee.ArgumentError, match="did you mean 'CardinalGrid/uniform'"):
        run(Path("unused"), arms=["CardinalGrid/unifrom"])
    with pytest.raises(easee.ArgumentError, match="at least 1 seed"):
        run(Path("unused"), seeds=0)
    with pytest.raises(easee.ArgumentError, match="local, ray, population"):
        run(Path("unused"), backend="slurm")
    with pytest.raises(easee.ArgumentError, match="jobs"):
        run(Path("unused"), jobs=0)
    assert not Path("unused").exists()


def test_an_unreachable_cluster_fails_before_ray_is_imported(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)  # Ray itself would try for a minute
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}", "nonsense"):
        with pytest.raises(ClusterError, match=address):
            run(tmp_path / "out", backend="ray", address=address)
    assert not (tmp_path / "out").exists()


def test_list_run_and_plot_on_the_command_line(tmp_path):
    runner = CliRunner()
    assert all(name in runner.invoke(app, ["list"]).output for name in FIGURES)
    out = str(tmp_path / "heatmap")
    result = runner.invoke(app, ["run", "heatmap", "--jobs", "1", "--out", out])
    assert result.exit_code == 0 and "heatmap.png" in result.output.replace("\n", "")
    (tmp_path / "heatmap/heatmap.png").unlink()
    result = runner.invoke(app, ["plot", "heatmap", "--out", out])
    assert result.exit_code == 0 and (tmp_path / "heatmap/heatmap.png").exists()
    result = runner.invoke(app, ["plot", "fig3", "--out", str(tmp_path / "none")])
    assert result.exit_code == 1 and "easee run fig3" in result.output


@pytest.mark.slow
@pytest.mark.parametrize("token", [True, False])
def test_a_ray_cluster_gives_the_same_results(tmp_path, monkeypatch, token):
    """Start a cluster as a user would, run on it, and stop it, in a home of its own."""
    pytest.importorskip("ray")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ray = [sys.executable, "-m", "ray.scripts.scripts"]
    temporary = f"/tmp/easee-ray-{os.getpid()}-{token:d}"
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    if token:  # as written by Ray when it starts a local cluster; `ray start` then requires it
        subprocess.run([*ray, "get-auth-token", "--generate"], check=True, capture_output=True)
    start = [*ray, "start", "--head", f"--port={port}", "--num-cpus=2", "--include-dashboard=false"]
    start += ["--disable-usage-stats", f"--temp-dir={temporary}", "--block"]
    cluster = subprocess.Popen(start, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert cluster.stdout is not None
        assert any("Ray runtime started" in line for line in cluster.stdout)
        arms = [option for arm in ARMS for option in ("--arm", arm)]
        command = easee_command("run", "fig3", "--seeds", 2, "--backend", "ray", *arms)
        command += ["--address", f"127.0.0.1:{port}", "--out", str(tmp_path / "ray")]
        result = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert result.returncode == 0, result.stderr
    finally:
        os.killpg(cluster.pid, signal.SIGKILL)  # `ray stop` would end every cluster of the user
        cluster.communicate()
    run(tmp_path / "local")
    assert (tmp_path / "ray/runs.csv").read_bytes() == (tmp_path / "local/runs.csv").read_bytes()
