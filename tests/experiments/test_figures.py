"""Every figure has one cheap run here, with the numbers that are expected of it."""

import pytest

from easee.experiments import depth, fig3, walking
from easee.experiments.harness import run_missing
from easee.experiments.registry import FIGURES
from easee.experiments.runs import Run

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def fig3_rows(tmp_path_factory):
    arms = ["CardinalGrid/uniform", "RotationGrid/uniform"]
    arms += [fig3.arm("CardinalGrid", p, 6) for p in fig3.PRIORS["CardinalGrid"]]
    arms += [fig3.arm(g, p, 4) for g, sets in fig3.PRIORS.items() for p in sets]
    folder = tmp_path_factory.mktemp("fig3")
    return run_missing(FIGURES["fig3"], folder, seeds=6, arms=arms, jobs=1)


# Measured on prototypes before this library existed (100 episodes, 20 seeds).
EXPECTED = {
    ("CardinalGrid", "cardinal-right-left", 6): 1.08,
    ("CardinalGrid", "cardinal-all-commute-printed", 6): 1.26,
    ("CardinalGrid", "cardinal-all-commute", 6): 1.66,
    ("CardinalGrid", "cardinal-one-inverse", 6): 2.04,
    ("CardinalGrid", "cardinal-grid", 6): 2.76,
    ("CardinalGrid", "cardinal-both-inverses-printed", 6): 1.55,
    ("CardinalGrid", "cardinal-grid", 4): 2.15,
    ("RotationGrid", "rotation-one-inverse", 4): 1.13,
    ("RotationGrid", "rotation-both-inverses", 4): 1.25,
    ("RotationGrid", "rotation-grid", 4): 1.50,
    ("RotationGrid", "rotation-grid-complete", 4): 1.51,
}


def test_figure_3_lands_where_it_should(fig3_rows):
    found = fig3.ratios(fig3_rows)
    for key, ratio in EXPECTED.items():
        assert found[key].value == pytest.approx(ratio, rel=0.08), key


def test_100_episodes_of_depth_4_see_more_than_1000_of_uniform(fig3_rows):
    def mean(arm, episodes):
        values = [r.value for r in fig3_rows if r.arm == arm and r.step == episodes]
        return sum(values) / len(values)

    ours = mean(fig3.arm("CardinalGrid", "cardinal-grid", 4), 100)
    assert ours > mean("CardinalGrid/uniform", 1000)


def test_deep_graphs_beat_the_rivals(tmp_path):
    arms = ["CardinalGrid/uniform", "CardinalGrid/zeta", "CardinalGrid/tabu"]
    arms += ["RotationGrid/uniform", "RotationGrid/zeta"]
    arms += [depth.arm("CardinalGrid", d, False) for d in (6, 50)]
    arms += [depth.arm("RotationGrid", 30, last) for last in (False, True)]
    rows = run_missing(FIGURES["depth"], tmp_path, seeds=5, arms=arms, jobs=1)
    cardinal, rotation = (depth.ratios(rows, grid) for grid in ("CardinalGrid", "RotationGrid"))
    assert cardinal["zeta"].value == pytest.approx(4.2, rel=0.1)
    assert cardinal["easee/6"].value < cardinal["zeta"].value < cardinal["easee/50"].value
    assert cardinal["easee/50"].value == pytest.approx(6.6, rel=0.1)
    assert cardinal["tabu"].value < cardinal["easee/6"].value
    assert rotation["easee/30"].value >= 3.8 > rotation["zeta"].value
    assert rotation["easee-last/30"].value > rotation["easee/30"].value


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_can_be_drawn_and_tabled(name, tmp_path):
    figure = FIGURES[name]
    rows = run_missing(figure, tmp_path, seeds=1, jobs=1) if name != "depth" else few(tmp_path)
    paths = figure.plot(rows, tmp_path)
    assert paths and all(path.stat().st_size > 10_000 for path in paths)
    header, *lines = figure.table(rows)
    assert lines and all(len(line) == len(header) for line in lines)


def few(folder):
    arms = ["CardinalGrid/uniform", "RotationGrid/uniform", "CardinalGrid/easee/6"]
    arms += ["RotationGrid/easee/6"]
    return run_missing(FIGURES["depth"], folder, seeds=1, arms=arms, jobs=1)


def test_arms_share_no_random_numbers():
    settings = {"grid": "CardinalGrid", "explorer": "uniform", "episodes": [10]}
    one, two = (walking.measure(Run(arm, 0, settings)) for arm in ("one", "two"))
    assert one != two
    assert one == walking.measure(Run("one", 0, settings))
