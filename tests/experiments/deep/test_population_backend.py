import sys

import pytest
from typer.testing import CliRunner

import easee
from easee.agents.population import Population
from easee.cli import app
from easee.envs import jax as worlds
from easee.experiments.deep import population_backend as population
from easee.experiments.harness import population_backend, runner
from easee.experiments.harness.runner import run_missing
from easee.experiments.harness.store import Store
from easee.experiments.registry import FIGURES

CATCHER = FIGURES["catcher"].for_backend("population").with_steps(900)


@pytest.fixture(autouse=True)
def small_fields(monkeypatch):
    """Make the fields of Catcher a quarter as wide and as high."""
    full = worlds.Catcher
    monkeypatch.setattr(
        worlds, "Catcher", lambda width=60, height=30: full(width // 4, height // 4)
    )


def run(folder, **options):
    return run_missing(CATCHER, folder, **({"seeds": 2, "backend": "population"} | options))


def interrupt(monkeypatch, step, folder, **options):
    """Run with a checkpoint after every advance, and stop at a step."""
    monkeypatch.setattr(population_backend, "PAUSE", 0.0)
    monkeypatch.setattr(population_backend, "WORTH", 0.0)
    advance = Population.advance

    def stop(self, steps=None):
        if self.steps >= step:
            raise KeyboardInterrupt
        return advance(self, 100)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Population, "advance", stop)
        run(folder, **options)


@pytest.mark.slow
def test_all_runs_are_done_as_one_program(tmp_path, monkeypatch):
    made = []
    make = population.make_population

    def recorded(runs):
        made.append(runs)
        return make(runs)

    monkeypatch.setattr(population, "make_population", recorded)
    rows = run(tmp_path)
    assert [len(runs) for runs in made] == [6]
    assert {(row.arm, row.seed) for row in rows} == {run.key for run in CATCHER.runs(2)}
    assert all(-1 <= row.value <= 1 and row.metric == "reward" for row in rows)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checksums.csv",
        "meta.json",
        "runs.csv",
    ]
    before = (tmp_path / "runs.csv").read_bytes()
    run(tmp_path)  # nothing is missing
    assert len(made) == 1 and (tmp_path / "runs.csv").read_bytes() == before
    run(tmp_path, seeds=3)  # only the new seed is missing
    assert [len(runs) for runs in made] == [6, 3]


@pytest.mark.slow
def test_an_interrupted_population_resumes(tmp_path, monkeypatch):
    run(tmp_path / "whole")
    advance = Population.advance
    interrupt(monkeypatch, 300, tmp_path / "cut")
    shown = Store(CATCHER, tmp_path / "cut").shown()
    assert {row.arm for row in shown} == {"uniform", "easee", "zeta"}
    assert 200 <= max(row.step for row in shown) <= 306
    plotted = CliRunner().invoke(
        app,
        ["plot", "catcher", "--backend", "population", "--steps", "900", "--out", tmp_path / "cut"],
    )
    assert plotted.exit_code == 0 and "6 runs are not finished" in plotted.output
    starts = []

    def recorded(self, steps=None):
        starts.append(self.steps)
        return advance(self, steps)

    monkeypatch.setattr(Population, "advance", recorded)
    run(tmp_path / "cut")
    assert starts[0] == 300
    whole, cut = ((tmp_path / name / "runs.csv").read_bytes() for name in ("whole", "cut"))
    assert whole == cut
    assert not (tmp_path / "cut/partial.csv").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["catcher-depth", "catcher-width"])
def test_sweeps_of_catcher_have_a_picture_and_a_table(name, tmp_path):
    figure = FIGURES[name].with_steps(480)
    arms = ["uniform", "easee/5"] if name == "catcher-depth" else ["easee/20", "uniform/40"]
    rows = run_missing(figure, tmp_path, seeds=1, arms=arms, backend="population")
    assert figure.plot(rows, tmp_path)[0].stat().st_size > 10_000
    header, *lines = figure.table(rows)
    assert len(lines) == 2 and all(len(line) == len(header) for line in lines)


@pytest.mark.slow
def test_readings_of_catcher_have_a_picture_and_a_table(tmp_path):
    figure = FIGURES["catcher-readings"].with_steps(480)
    arms = ["catcher-early/*", "catcher-literal-early/*"]
    rows = run_missing(figure, tmp_path, seeds=1, arms=arms, backend="population")
    assert figure.plot(rows, tmp_path)[0].stat().st_size > 10_000
    header, *lines = figure.table(rows)
    assert [line[0] for line in lines] == ["stride 2, from step 1,000", "stride 1, from step 1,000"]
    assert all(len(line) == len(header) for line in lines)


@pytest.mark.slow
def test_a_population_stops_after_its_minutes_and_goes_on_from_there(tmp_path, monkeypatch):
    run(tmp_path / "whole", seeds=1, arms=["uniform"])
    advance, starts = Population.advance, []

    def recorded(self, steps=None):
        starts.append(self.steps)
        return advance(self, 300)

    monkeypatch.setattr(Population, "advance", recorded)
    for _ in range(3):
        run(tmp_path / "cut", seeds=1, arms=["uniform"], minutes=1e-9)
    assert starts == [0, 300, 600]
    whole, cut = ((tmp_path / name / "runs.csv").read_bytes() for name in ("whole", "cut"))
    assert whole == cut


@pytest.mark.parametrize(("backend", "minutes"), [("local", 5.0), ("population", 0.0)])
def test_invalid_minutes_are_rejected(tmp_path, backend, minutes):
    with pytest.raises(easee.EaseeError, match=f"found {minutes} with --backend {backend}"):
        figure = FIGURES["catcher"].for_backend(backend)
        run_missing(figure, tmp_path, seeds=1, backend=backend, minutes=minutes)


def test_programs_on_a_cpu_have_at_most_8_runs():
    runs = CATCHER.runs(20)
    parts = population.BACKEND.parts(runs)
    assert [len(part) for part in parts] == [*[8] * 7, 4]
    assert [run for part in parts for run in part] == runs


@pytest.mark.slow
def test_a_checkpoint_of_other_runs_is_kept(tmp_path):
    run(tmp_path, seeds=1, arms=["uniform"])
    (tmp_path / "parts").mkdir()
    other = tmp_path / "parts/other.npz"
    other.write_bytes(b"checkpoint")
    unfinished = "figure,arm,seed,step,metric,value\ncatcher,easee,7,30,mean reward,-1.0\n"
    (tmp_path / "partial.csv").write_text(unfinished)
    run(tmp_path, seeds=1, arms=["uniform"])
    assert other.exists() and (tmp_path / "partial.csv").read_text() == unfinished
    run(tmp_path, seeds=1, arms=["uniform"], force=True)
    assert not other.exists()


@pytest.mark.slow
def test_a_checkpoint_is_removed_when_its_runs_are_done(tmp_path, monkeypatch):
    interrupt(monkeypatch, 200, tmp_path, seeds=1, arms=["uniform"])
    run(tmp_path, seeds=1)  # this run and others in one population
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checksums.csv",
        "meta.json",
        "runs.csv",
    ]


@pytest.mark.slow
def test_results_are_stored_before_an_interruption(tmp_path, monkeypatch):
    """All runs of a population are stored before anything else happens, and only once."""
    added = []
    add = Store.add

    def recorded(self, run, rows):
        added.append(run.key)
        add(self, run, rows)

    monkeypatch.setattr(Store, "add", recorded)

    def stop(self, runs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(runner._Bar, "finish", stop)
        run(tmp_path, seeds=1)
    assert sorted(added) == sorted(r.key for r in CATCHER.runs(1))
    assert Store(CATCHER, tmp_path).missing(CATCHER.runs(1)) == []
    monkeypatch.setattr(population, "make_population", None)
    run(tmp_path, seeds=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checksums.csv",
        "meta.json",
        "runs.csv",
    ]


@pytest.mark.slow
def test_a_missing_extra_discards_no_results(tmp_path, monkeypatch):
    run(tmp_path, seeds=1, arms=["uniform"])
    monkeypatch.setitem(sys.modules, "easee.agents.population", None)
    with pytest.raises(ImportError):
        run(tmp_path, seeds=1, arms=["uniform"], force=True)
    assert (tmp_path / "runs.csv").exists()


@pytest.mark.slow
def test_too_few_steps_for_an_episode_are_reported(tmp_path):
    command = ["run", "catcher", "--backend", "population", "--seeds", "1", "--steps", "4"]
    done = CliRunner().invoke(app, [*command, "--arm", "uniform", "--out", str(tmp_path)])
    assert done.exit_code == 1 and "no episode ended" in done.output


def test_backends_that_cannot_run_a_figure_are_rejected(tmp_path):
    with pytest.raises(easee.ArgumentError, match="fig3 is not done by a population"):
        run_missing(FIGURES["fig3"], tmp_path, seeds=1, backend="population")
    with pytest.raises(easee.ArgumentError, match="backend of local, ray, population, found 'gpu'"):
        run_missing(FIGURES["fig3"], tmp_path, seeds=1, backend="gpu")
    with pytest.raises(easee.ArgumentError, match="add --backend population"):
        run_missing(FIGURES["catcher-depth"], tmp_path, seeds=1)
    with pytest.raises(easee.ArgumentError, match="leave out --jobs"):
        run_missing(CATCHER, tmp_path, seeds=1, backend="population", jobs=2)


def test_populations_have_their_own_size_and_folder():
    for name, seeds, steps in (
        ("catcher", 20, 300_000),
        ("freeway", 5, 500_000),
        ("boxing", 5, 300_000),
        ("carnival", 5, 300_000),
    ):
        figure = FIGURES[name].for_backend("population")
        assert (figure.seeds, figure.steps, figure.folder) == (seeds, steps, name)
        assert FIGURES[name].folder == f"{name}-sb3"
    freeway, catcher = (FIGURES[n].for_backend("population") for n in ("freeway", "catcher"))
    assert "500,000 steps instead of 10,000,000" in freeway.reduced and catcher.reduced == ""
