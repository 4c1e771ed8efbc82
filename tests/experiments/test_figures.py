"""One cheap run of every figure, with the expected numbers."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import easee
from easee.experiments.coverage import fig3, simulation
from easee.experiments.deep import tasks
from easee.experiments.harness.figure import Row, Run
from easee.experiments.harness.learning_curves import summary
from easee.experiments.harness.rows import values_by_arm
from easee.experiments.harness.runner import run_missing
from easee.experiments.harness.store import Store
from easee.experiments.priors import discovered_priors as discovered
from easee.experiments.priors import usual_priors
from easee.experiments.priors import wrong_priors as wrong
from easee.experiments.registry import FIGURES
from easee.experiments.tabular import doorkey

pytest.importorskip("matplotlib")

RESULTS = Path(__file__).parents[2] / "results"


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


def test_figure_3_has_the_expected_ratios(fig3_rows):
    ratios = simulation.ratios(fig3_rows)
    for key, expected in EXPECTED.items():
        assert ratios[fig3.arm(*key)].value == pytest.approx(expected, rel=0.08), key


def test_100_episodes_of_depth_4_see_more_than_1000_of_uniform(fig3_rows):
    def mean(arm, episodes):
        values = [r.value for r in fig3_rows if r.arm == arm and r.step == episodes]
        return sum(values) / len(values)

    ours = mean(fig3.arm("CardinalGrid", "cardinal-grid", 4), 100)
    assert ours > mean("CardinalGrid/uniform", 1000)


def test_deep_graphs_beat_the_baselines(tmp_path):
    arms = ["CardinalGrid/uniform", "CardinalGrid/zeta", "CardinalGrid/tabu"]
    arms += ["RotationGrid/uniform", "RotationGrid/zeta"]
    arms += ["CardinalGrid/easee/6", "CardinalGrid/easee/50"]
    arms += ["RotationGrid/easee/30", "RotationGrid/easee-last/30"]
    rows = run_missing(FIGURES["depth"], tmp_path, seeds=5, arms=arms, jobs=1)
    ratio = {arm: estimate.value for arm, estimate in simulation.ratios(rows).items()}
    assert ratio["CardinalGrid/zeta"] == pytest.approx(4.2, rel=0.1)
    assert ratio["CardinalGrid/easee/6"] < ratio["CardinalGrid/zeta"]
    assert ratio["CardinalGrid/zeta"] < ratio["CardinalGrid/easee/50"]
    assert ratio["CardinalGrid/easee/50"] == pytest.approx(6.6, rel=0.1)
    assert ratio["CardinalGrid/tabu"] < ratio["CardinalGrid/easee/6"]
    assert ratio["RotationGrid/easee/30"] >= 3.8 > ratio["RotationGrid/zeta"]
    assert ratio["RotationGrid/easee-last/30"] > ratio["RotationGrid/easee/30"]


# Arms to run for figures that take too long for a test.
FEW = {
    "depth": ["CardinalGrid/uniform", "RotationGrid/uniform", "CardinalGrid/easee/6"],
    "doorkey": ["uniform", "easee/4/random", "easee/4/explore"],
    "sensitivity": ["uniform@0.1/0.1", "easee/6/random@0.1/0.1", "easee/6/explore@0.1/0.1"]
    + ["zeta/random@0.1/0.1"],
    "holding": ["RotationGrid", "Catcher"],
    "wrong": ["coverage/uniform/0.0", "coverage/easee/0.0", "coverage/easee/1.0"]
    + ["coverage/easee/up ~", "doorkey/easee/0.2"],
    "discovery": ["grid/uniform", "grid/discovered", "grid/known", "door/uniform", "door/known"],
    "usual": ["FourRooms/uniform", "FourRooms/exact", "FourRooms/unmeasured", "Unlock/zeta"],
}
SLOW = ("fig3", "doorkey", "sensitivity", "holding", "discovery")
SHORT = {"catcher": 600, "freeway": 2100, "boxing": 1800, "carnival": 800}  # at least an episode


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in SLOW else ())
        for name, figure in FIGURES.items()
        if figure.steps is None and "local" in figure.backends
    ],
)
def test_every_figure_has_a_picture_and_a_table(name, tmp_path, monkeypatch):
    monkeypatch.setattr(usual_priors, "EPISODES", 32)
    figure = FIGURES[name]
    rows = run_missing(figure, tmp_path, seeds=1, arms=FEW.get(name), jobs=1)
    check_output(figure, rows, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
def test_every_deep_figure_trains(name, tmp_path):
    torch = pytest.importorskip("torch")
    figure = FIGURES[name].with_steps(SHORT[name])
    arms = None if name == "catcher" else ["easee"]
    threads = torch.get_num_threads()
    rows = run_missing(figure, tmp_path, seeds=1, arms=arms, jobs=1)
    assert torch.get_num_threads() == threads  # a setting of the user's process
    assert "instead of" in figure.reduced
    check_output(figure, rows, tmp_path)


def check_output(figure, rows, folder):
    paths = figure.plot(rows, folder)
    assert paths and all(path.stat().st_size > 10_000 for path in paths)
    header, *lines = figure.table(rows)
    assert lines and all(len(line) == len(header) for line in lines)


def test_doorkey_reproduces_the_committed_results():
    committed = Store(FIGURES["doorkey"], RESULTS / "doorkey").read().rows
    run = next(r for r in doorkey.runs(8) if r.key == ("easee/6/explore", 7))
    rows = FIGURES["doorkey"].rows(run, doorkey.measure(run))
    assert rows == [row for row in committed if (row.arm, row.seed) == run.key]


def test_a_wrong_prior_reduces_coverage(tmp_path):
    arms = ["uniform/0.0", "uniform/1.0", "easee/0.0", "easee/0.1", "easee/1.0", "easee/up ~"]
    arms += ["easee, floor 0.2/up ~"]
    rows = run_missing(
        FIGURES["wrong"], tmp_path, seeds=4, arms=[f"coverage/{a}" for a in arms], jobs=1
    )
    states = {name: wrong.estimates(rows)[f"coverage/{name}"].value for name in arms}
    # Exchanging the actions of a cell changes nothing for uniform actions.
    assert states["uniform/1.0"] == pytest.approx(states["uniform/0.0"], rel=0.06)
    assert states["easee/0.0"] > states["easee/0.1"] > 2 * states["uniform/0.0"]
    assert states["easee/1.0"] < states["uniform/0.0"]
    # A prior in which "up" does nothing never goes up; a floor compensates.
    assert states["easee/up ~"] < 0.3 * states["uniform/0.0"] < states["easee, floor 0.2/up ~"]


def test_exchanged_actions_are_the_same_table_in_another_order():
    world = doorkey.layout(0)
    twisted = wrong.twist(world, 0.5, np.random.default_rng(0))
    np.testing.assert_array_equal(
        np.sort(twisted.successors, axis=1), np.sort(world.successors, axis=1)
    )
    moved = (twisted.successors != world.successors).any(axis=1).mean()
    assert 0.3 < moved < 0.6
    assert (twisted.rewards.sum(axis=1) == world.rewards.sum(axis=1)).all()


@pytest.mark.slow
def test_discovery_reaches_the_complete_prior_on_the_grid(tmp_path):
    arms = ["grid/uniform", "grid/discovered"]
    rows = run_missing(FIGURES["discovery"], tmp_path, seeds=2, arms=arms, jobs=1)
    assert simulation.ratios(rows)["grid/discovered"].value >= 3.5
    assert min(values_by_arm(rows, metric=discovered.COST)["grid/discovered"]) > 0


def test_steps_of_a_figure_without_training_are_rejected():
    with pytest.raises(easee.ArgumentError, match="leave out --steps"):
        FIGURES["fig3"].with_steps(10)


def test_the_paper_s_hyperparameters_scale_with_the_steps():
    full, short = (tasks.hyperparameters(tasks.CATCHER, steps) for steps in (300_000, 30_000))
    assert full["learning_starts"] == 50_000 and short["learning_starts"] == 5_000
    assert full["buffer_size"] == 10_000 and full["train_freq"] == 4
    assert full["target_update_interval"] == 1000 and full["exploration_fraction"] == 0.2


def test_probability_of_improvement_is_against_the_baseline():
    rows = [
        Row("f", arm, s, 10, "reward", value + s)
        for arm, value in (("a", 0), ("b", 9))
        for s in range(3)
    ]
    options = {"baseline": "a", "after": 0, "what": "reward", "paired": True}
    lines = summary(rows, {"a": "A", "b": "B"}, **options)
    assert [line[3] for line in lines[1:]] == ["-", "1.00 [1.00, 1.00]"]
    assert [line[4] for line in lines[1:]] == ["-", "9.00 [9.00, 9.00]"]


def test_arms_share_no_random_numbers():
    settings = {"grid": "CardinalGrid", "explorer": "uniform", "episodes": [10]}
    one, two = (simulation.measure(Run(arm, 0, settings)) for arm in ("one", "two"))
    assert one != two
    assert one == simulation.measure(Run("one", 0, settings))


def test_usual_relations_reach_more_goals_than_uniform_actions(tmp_path, monkeypatch):
    monkeypatch.setattr(usual_priors, "EPISODES", 48)
    arms = ["Empty-16x16/uniform", "Empty-16x16/unmeasured"]
    rows = run_missing(FIGURES["usual"], tmp_path, seeds=1, arms=arms, jobs=1)
    shares = {explorer: e.value for (_, explorer), e in usual_priors.estimates(rows).items()}
    assert shares["unmeasured"] > 0.5 > shares["uniform"]


def test_useful_moves_have_the_floors_of_the_policy():
    policy = easee.compile(easee.priors.get("minigrid-usual"), 4)
    explorer = usual_priors._UsefulMoves(policy, easee.UniformExplorer, np.random.default_rng(0))
    actions = [explorer.sample_one() for _ in range(20_000)]
    expected = policy.floors + (1 - policy.floors.sum()) * np.array([1, 1, 1, 0, 0, 0, 0]) / 3
    counts = np.bincount(actions, minlength=7)
    assert counts[expected == 0].sum() == 0
    assert stats.chisquare(counts[expected > 0], 20_000 * expected[expected > 0]).pvalue > 1e-3
