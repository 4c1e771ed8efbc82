from pathlib import Path

import numpy as np
import pytest

from easee.experiments.hard import measures, ppo_sensitivity, ppo_training
from easee.experiments.harness.runner import run_missing
from easee.experiments.harness.store import Store
from easee.experiments.registry import FIGURES

pytest.importorskip("jax")

RESULTS = Path(__file__).parents[3] / "results"


def test_arms_are_named_by_task_and_reference():
    names = {run.arm for run in FIGURES["hard-ppo"].runs(1)}
    assert {"goal-51/plain", "doorkey/usual", "MiniGrid-Unlock-v0/discovered"} <= names
    assert {name.rpartition("/")[2] for name in names} == set(ppo_training.REFERENCES)


@pytest.mark.slow
def test_a_small_run_has_a_table_and_a_picture(tmp_path):
    small = FIGURES["hard-ppo"].with_steps(4_096)
    chosen = ["goal-31/plain", "goal-31/usual"]
    rows = run_missing(small, tmp_path, seeds=2, arms=chosen, backend="population")
    assert {row.metric for row in rows} == {"success", *ppo_training.PLAYS}
    assert all(0.0 <= row.value <= 1.0 for row in rows)
    header, *lines = small.table(rows)
    assert all(len(line) == len(header) for line in lines) and len(lines) >= 2
    assert small.plot(rows, tmp_path)[0].stat().st_size > 10_000


@pytest.mark.parametrize(
    ("name", "seeds", "learner"),
    [
        ("hard-ppo-search", 30, ppo_training.LEARNER),
        ("hard-ppo-search-minigrid", 10, ppo_training.MINIGRID_LEARNER),
    ],
)
def test_the_chosen_coefficient_is_the_best_of_the_search(name, seeds, learner):
    rows = Store(FIGURES[name], RESULTS / name).read().rows
    found = measures.measure_arms(rows, FIGURES[name].config["steps"])
    means = {
        arm: np.mean(runs.whole)
        for arm, runs in found.items()
        if arm.startswith("plain/coefficient")
    }
    assert all(len(found[arm].whole) == seeds for arm in means)
    chosen = f"plain/coefficient {learner['ent_coef']:g}"
    assert max(means, key=means.__getitem__) == chosen


def committed_measures(task):
    """Return the measures of the committed runs of a task, by reference."""
    rows = Store(FIGURES["hard-ppo"], RESULTS / "hard-ppo").read().rows
    of_task = [row for row in rows if row.arm.startswith(f"{task}/")]
    found = measures.measure_arms(of_task, ppo_training.STEPS[task])
    return {arm.rpartition("/")[2]: runs for arm, runs in found.items()}


def test_easee_pays_as_the_reference_of_ppo():
    """What the README says, from the committed results."""
    goal, doorkey = committed_measures("goal-51"), committed_measures("doorkey")
    for runs in (goal, doorkey):
        assert len(runs["plain"].last) == len(runs["usual"].last) == 30
    assert np.mean(goal["usual"].last) >= 0.9 and np.mean(goal["plain"].last) <= 0.6
    # Most runs of plain PPO do not get to 90% within the whole training.
    assert np.isinf(doorkey["plain"].median_steps)
    assert doorkey["usual"].median_steps <= ppo_training.STEPS["doorkey"] / 4


def test_easee_solves_the_stock_doorkey_where_most_runs_of_ppo_do_not():
    runs = committed_measures("MiniGrid-DoorKey-8x8-v0")
    assert {len(of_arm.last) for of_arm in runs.values()} == {30}
    assert min(runs[name].share_solved for name in ("usual", "discovered")) >= 0.9
    assert max(runs[name].share_solved for name in ("plain", "count", "rnd")) <= 0.3


def test_easee_is_ahead_of_ppo_at_every_coefficient():
    figure = FIGURES["hard-ppo-sensitivity"]
    rows = Store(figure, RESULTS / figure.name).read().rows
    for task, steps in ppo_sensitivity.TASKS.items():
        of_task = [row for row in rows if row.arm.startswith(f"{task}/")]
        ends = {a: np.mean(runs.last) for a, runs in measures.measure_arms(of_task, steps).items()}
        for coefficient in ppo_sensitivity.COEFFICIENTS:
            plain = ends[f"{task}/{ppo_sensitivity.PLAIN}/{coefficient:g}"]
            assert ends[f"{task}/floor 0.1/{coefficient:g}"] > plain
