"""Results that were damaged after they were written are noticed, and their runs done again."""

import json
from dataclasses import replace

import pytest
from rich.console import Console
from typer.testing import CliRunner

from easee.cli import app
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.rows import ResultsError
from easee.experiments.harness.runner import run_missing
from easee.experiments.harness.store import Store
from easee.experiments.registry import FIGURES

ARMS = ["CardinalGrid/uniform", "CardinalGrid/cardinal-grid/2"]
calls: list[tuple[str, int]] = []


def measure(run):
    calls.append(run.key)
    return [(step, "unique states", 3015.0 + run.seed + step) for step in (1, 10, 100)]


FIGURE = replace(FIGURES["fig3"], backends=one_by_one(measure))


def run(folder, **options):
    calls.clear()
    console = Console(record=True, quiet=False, file=open("/dev/null", "w"), width=1000)
    with console.file:
        run_missing(
            FIGURE, folder, **({"seeds": 2, "arms": ARMS, "jobs": 1, "console": console} | options)
        )
    return console.export_text()


@pytest.fixture
def done(tmp_path):
    run(tmp_path)
    assert len(calls) == 4
    return tmp_path


def cut(text):
    return text[:-4]


def drop(text):
    lines = text.splitlines(keepends=True)
    return "".join(lines[:5] + lines[6:])


def drop_last(text):
    return "".join(text.splitlines(keepends=True)[:-1])


def drop_run(text):
    lines = text.splitlines(keepends=True)
    return "".join(lines[:4] + lines[7:])


def double(text):
    lines = text.splitlines(keepends=True)
    return "".join(lines[:6] + lines[5:])


def change(text):
    return text.replace("3026.0", "3028.0", 1)


def spoil(value):
    return lambda text: text.replace("3026.0", value, 1)


@pytest.mark.parametrize(
    "damage",
    [cut, drop, drop_last, drop_run, double, change, spoil("nan"), spoil("inf"), spoil('"')],
    ids=["cut", "drop", "drop-last", "drop-run", "double", "change", "nan", "inf", "quote"],
)
def test_a_damaged_run_is_named_and_done_again(done, damage):
    table = done / "runs.csv"
    good = table.read_bytes()
    table.write_text(damage(good.decode()))
    assert table.read_bytes() != good
    output = run(done)
    assert len(calls) == 1
    assert str(table) in output and "1 damaged runs are done again" in output
    assert table.read_bytes() == good
    assert "skipped" not in run(done) and not calls


def test_damaged_rows_are_kept_until_their_run_is_done_again(done):
    table, copy = done / "runs.csv", done / "runs-damaged.csv"
    good = table.read_bytes()
    table.write_text(change(good.decode()))
    damaged = table.read_bytes()
    run(done, arms=ARMS[1:])
    assert not calls and copy.read_bytes() == damaged
    run(done)
    assert len(calls) == 1 and table.read_bytes() == good


def test_many_damaged_runs_are_summarised(tmp_path):
    run(tmp_path, seeds=9)
    (tmp_path / "runs.csv").unlink()
    output = run(tmp_path, seeds=9)
    assert len(calls) == 18 and "13 more runs" in output


@pytest.mark.parametrize("damage", [cut, drop, drop_last, double, spoil("nan")])
def test_plots_leave_damaged_runs_out_and_say_so(done, damage):
    table = done / "runs.csv"
    table.write_text(damage(table.read_text()))
    result = CliRunner().invoke(app, ["plot", "fig3", "--out", str(done)])
    assert result.exit_code == 0 and f"skipped {table}" in result.output.replace("\n", "")


@pytest.mark.parametrize("damage", [cut, double, spoil("nan")])
def test_without_checksums_some_damage_is_noticed(done, damage):
    (done / "checksums.csv").unlink()
    table = done / "runs.csv"
    good = table.read_bytes()
    table.write_text(damage(good.decode()))
    assert str(table) in run(done) and len(calls) == 1
    assert table.read_bytes() == good


def test_results_without_checksums_are_taken_as_they_are_and_get_them(done):
    before = (done / "checksums.csv").read_bytes()
    (done / "checksums.csv").unlink()
    assert "skipped" not in run(done) and not calls
    assert (done / "checksums.csv").read_bytes() == before


def test_runs_that_were_never_written_are_left_out(done):
    """A damaged arm or seed looks like a row of another run."""
    table = done / "runs.csv"
    good = table.read_bytes()
    table.write_bytes(good + good.splitlines(keepends=True)[-1].replace(b",1,", b",7,", 1))
    assert "expected 0 rows, found 1" in run(done) and not calls
    assert table.read_bytes() == good


def test_a_damaged_file_of_checksums_is_reported(done):
    checksums = done / "checksums.csv"
    good = checksums.read_bytes()
    checksums.write_bytes(good[:-4])
    assert "not a checksum" in run(done) and not calls  # the run is unchecked, not lost
    assert checksums.read_bytes() == good


def test_an_interruption_between_checksums_and_table_loses_nothing(done, tmp_path_factory):
    whole = tmp_path_factory.mktemp("whole")
    run(whole, seeds=3)
    store = Store(FIGURE, done)
    store.parts.mkdir()
    for late in FIGURE.runs(3):
        if late.seed == 2 and late.arm in ARMS:
            store.add(late, measure(late))
    (done / "checksums.csv").write_bytes((whole / "checksums.csv").read_bytes())
    assert "skipped" not in run(done, seeds=3) and not calls
    for name in ("runs.csv", "checksums.csv"):
        assert (done / name).read_bytes() == (whole / name).read_bytes()


# --- parts ---------------------------------------------------------------------------------------


def unfinished(folder):
    """Return the files of two finished runs that were not gathered."""
    store = Store(FIGURE, folder)
    store.open()
    for finished in [r for r in FIGURE.runs(1) if r.arm in ARMS]:
        store.add(finished, measure(finished))
    return sorted(store.parts.iterdir())


@pytest.mark.parametrize(
    "damage",
    [cut, drop_last, change, spoil("nan"), lambda text: "", lambda text: "\0\1garbage\n"],
)
def test_damaged_parts_are_done_again(tmp_path, damage):
    first, second = unfinished(tmp_path)
    before = first.read_text().replace("3025", "3026")
    first.write_text(damage(before))
    output = run(tmp_path, seeds=1)
    assert len(calls) == 1 and str(first) in output and str(second) not in output


def test_parts_of_older_releases_are_taken_as_they_are(tmp_path):
    for part in unfinished(tmp_path):
        part.write_text(part.read_text().split("\n", 1)[1])
    assert "skipped" not in run(tmp_path, seeds=1) and not calls


def test_parts_with_rows_of_another_run_are_left_out(tmp_path):
    first, _ = unfinished(tmp_path)
    foreign = first.with_name("foreign.csv")
    foreign.write_text(first.read_text().split("\n", 1)[1])
    assert "rows of another run" in run(tmp_path, seeds=1) and not calls


# --- what is not a result ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"command": 5},
        {"command": None},
        {"machines": ["a"]},
        {"machines": {"a": "many"}},
        {"config": []},
        {"versions": None},
    ],
)
def test_a_foreign_description_is_reported(done, change):
    meta = json.loads((done / "meta.json").read_text())
    (done / "meta.json").write_text(json.dumps(meta | change))
    with pytest.raises(ResultsError, match="meta.json is damaged"):
        run(done, seeds=3)


@pytest.mark.parametrize("text", ["3", '"fig3"', "null", "[" * 100_000, "\ud800"])
def test_descriptions_that_are_not_objects_are_reported(done, text):
    (done / "meta.json").write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(ResultsError, match="meta.json is damaged"):
        run(done)


@pytest.mark.parametrize("name", ["meta.json", "runs.csv", "checksums.csv", "parts/x.csv"])
def test_folders_in_the_place_of_files_are_reported(done, name):
    (done / name).unlink(missing_ok=True)
    (done / name).mkdir(parents=True)
    with pytest.raises(ResultsError, match=f"{name}: "):
        run(done)


def test_a_file_in_the_place_of_the_parts_is_reported(done):
    (done / "parts").write_text("hello")
    with pytest.raises(ResultsError, match="parts: .* choose another folder"):
        run(done)


def test_a_folder_without_permission_is_reported(done, monkeypatch):
    def refuse(self, *args, **kwargs):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    with pytest.raises(ResultsError, match="cannot use .*: Permission denied"):
        run(done)
