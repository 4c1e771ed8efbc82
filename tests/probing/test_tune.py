import sys
from pathlib import Path

import gymnasium as gym
import minigrid
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import easee
from easee import priors, tune
from easee.envs import CardinalGrid, RotationGrid
from easee.probing.coverage import make_world
from easee.probing.tune import geometric_depths
from easee.probing.tuning import Measurement
from tests.worlds import Line

gym.register_envs(minigrid)
sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from arm import Arm  # noqa: E402
from arm import prior as arm_prior  # noqa: E402


def limited(env, steps):
    return gym.wrappers.TimeLimit(env, steps)


def share_of_the_best(env, result, trials=4):
    """Return the share of the best depth's states that the recommended one sees, measured anew."""
    world = make_world(env, None, None)
    means = {}
    for depth, policy in result.policies.items():
        explorer = easee.Explorer(policy, seed=1000 + depth)
        seeds = range(100, 100 + trials)
        counts = [len(world.cover(explorer, result.trial_steps, s).first_steps) for s in seeds]
        means[depth] = np.mean(counts)
    return means[result.depth] / max(means.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "prior", "options"),
    [
        (limited(Arm(), 60), arm_prior, {"depths": [2, 4, 8, 12, 24]}),
        (limited(CardinalGrid(), 100), "cardinal-grid", {"depths": [2, 6, 20, 50, 100]}),
        (limited(RotationGrid(), 100), "rotation-grid-complete", {"depths": [2, 6, 20, 50]}),
        (gym.make("MiniGrid-FourRooms-v0"), "minigrid-usual", {"depths": [6, 30], "steps": 8_000}),
        (gym.make("easee/DoorKey-v0"), "doorkey-usual", {"depths": [6, 30], "steps": 8_000}),
    ],
    ids=["arm", "cardinal", "rotation", "four rooms", "doorkey"],
)
def test_the_recommended_depth_is_nearly_the_best(env, prior, options):
    omega = prior if isinstance(prior, easee.Equivalences) else priors.get(prior)
    result = tune(env, omega, **({"steps": 12_000} | options))
    assert share_of_the_best(env, result) > 0.9


def test_the_arm_s_limits_are_the_reason_against_deep_graphs():
    env = limited(Arm(), 60)
    result = tune(env, arm_prior, depths=[4, 10, 60], steps=20_000, max_nodes=40_000)
    assert result.depth in (4, 10)
    assert result.policy is result.policies[result.depth]
    assert "at walls or limits" in result.reason and "times uniform actions" in result.reason
    assert "deepest whose graph has at most 40,000 nodes" in "".join(result.notes)
    assert [m.depth for m in result.measurements] == [None, None, 4, 10, 30]
    assert 15_000 <= result.env_steps <= 20_000


def test_a_useless_prior_is_not_recommended():
    wrong = easee.Equivalences(CardinalGrid.action_names, ["right ~", "left ~", "up ~"])
    result = tune(limited(CardinalGrid(), 100), wrong, depths=[2, 4], steps=10_000)
    assert result.depth is None and result.policy is None
    assert result.reason.startswith("No depth helps")
    assert set(result.policies) == {2, 4}


def test_equal_ways_of_exploring_are_not_told_apart():
    nothing = easee.Equivalences(CardinalGrid.action_names)  # uniform at every depth
    result = tune(limited(CardinalGrid(), 100), nothing, depths=[2, 3], steps=20_000, seed=3)
    assert result.depth is None and "No depth helps" in result.reason


def test_results_are_reproducible():
    results = [
        tune(limited(RotationGrid(), 50), priors.get("rotation-grid"), depths=[2, 5], steps=5_000)
        for _ in range(2)
    ]
    for one, two in zip(*(result.measurements for result in results), strict=True):
        np.testing.assert_array_equal(one.states, two.states)
    assert str(results[0]) == str(results[1])


def test_losers_get_fewer_trials():
    env = limited(CardinalGrid(), 100)
    result = tune(env, priors.get("cardinal-grid"), depths=[2, 30], steps=40_000, trial_steps=500)
    *_, shallow, deep = (len(m.states) for m in result.measurements)
    assert shallow < deep


@pytest.mark.parametrize("mode", AutoresetMode)
def test_vector_environments_see_as_many_states_in_every_mode(mode):
    options = {"autoreset_mode": mode}
    envs = gym.make_vec("easee/RotationGrid-v0", 3, "sync", vector_kwargs=options)
    policy = easee.compile(priors.get("rotation-grid"), 6)
    several = make_world(envs, None, None)
    single = make_world(gym.make("easee/RotationGrid-v0"), None, None)
    vector = [several.cover(easee.Explorer(policy, 3, seed), 1_200, seed) for seed in range(5)]
    alone = [single.cover(easee.Explorer(policy, 1, seed), 1_200, seed) for seed in range(5)]
    assert {c.longest for c in vector} == {100} and all(1_200 <= c.steps < 1_203 for c in vector)
    ours, theirs = (np.mean([len(c.first_steps) for c in group]) for group in (vector, alone))
    assert ours == pytest.approx(theirs, rel=0.1)


def test_states_that_same_step_resets_hide_are_rejected():
    options = {"autoreset_mode": AutoresetMode.SAME_STEP}
    envs = gym.make_vec("easee/RotationGrid-v0", 2, "sync", vector_kwargs=options)
    with pytest.raises(easee.ArgumentError, match="SAME_STEP.*use NEXT_STEP or DISABLED"):
        tune(envs, priors.get("rotation-grid"), state="attribute:state", depths=[2], steps=4_000)


def test_vector_environments_are_tuned():
    envs = gym.make_vec("easee/CardinalGrid-v0", 2, "sync")
    result = tune(envs, priors.get("cardinal-grid"), depths=[20], steps=8_000)
    assert result.depth == 20


def test_state_functions_read_vector_environments():
    envs = gym.make_vec("easee/RotationGrid-v0", 2, "sync")
    cells = lambda env: tuple(env.unwrapped.state[:2])  # noqa: E731
    options = {"depths": [3], "steps": 4_000}
    result = tune(envs, priors.get("rotation-grid"), state=cells, **options)
    whole = tune(envs, priors.get("rotation-grid"), **options)
    assert result.measurements[2].mean < whole.measurements[2].mean


def test_all_steps_of_an_episode_are_counted():
    class Corridor(Line):
        """Each step leads to a new state, and the tenth ends the episode."""

        def step(self, action):
            self.at += 1
            return self.at, 0.0, self.at == 20, False, {}

    coverage = make_world(Corridor(), None, None).cover(easee.UniformExplorer(2, seed=0), 25, 0)
    assert coverage.longest == 10 and coverage.steps == 25 and coverage.blocked == 0
    assert coverage.first_steps == list(range(11))


def test_actions_are_matched_by_name(caplog):
    prior = easee.Equivalences(["right", "left"], ["left right ~", "right left ~"])
    env = limited(Line(), 20)
    named = tune(env, prior, depths=[2], steps=2_000, names=["left", "right"])
    assert named.prior.actions == ("left", "right") and not caplog.records
    unnamed = tune(env, prior, depths=[2], steps=2_000)
    assert unnamed.prior.actions == ("right", "left")
    order = "taken in order: right=0, left=1"
    assert order in unnamed.notes[0] and order in caplog.text
    with pytest.raises(easee.ArgumentError, match="prior has right, left, the environment a, b"):
        tune(env, prior, names=["a", "b"])
    with pytest.raises(easee.ArgumentError, match=r"has 2 \(right, left\), the environment 4 \(r"):
        tune(CardinalGrid(), prior)


def test_endless_new_states_are_rejected():
    with pytest.raises(easee.ArgumentError, match="nearly every step led to a new state"):
        tune(gym.make("CartPole-v1"), priors.get("catcher"), depths=[2], steps=3_000)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 500}, "too few to measure 3 ways"),
        ({"steps": 20_000, "trial_steps": 1000}, "in trials of 1,000 steps"),
        ({"steps": 0}, "steps of at least 1"),
        ({"depths": []}, "at least one depth"),
        ({"depths": [0]}, "depth of at least 1"),
        ({"depths": "2..5"}, "list of whole numbers"),
        ({"trial_steps": 1}, "trial_steps of at least 50"),
        ({"state": "picture"}, "unknown state 'picture'"),
    ],
)
def test_invalid_arguments_are_rejected(options, message):
    with pytest.raises(easee.ArgumentError, match=message):
        tune(CardinalGrid(), priors.get("cardinal-grid"), **({"depths": [2]} | options))


def test_other_objects_are_rejected():
    with pytest.raises(easee.ArgumentError, match="expected Equivalences, found str"):
        tune(CardinalGrid(), "cardinal-grid")
    with pytest.raises(easee.ArgumentError, match="environment or vector environments, found str"):
        tune("CartPole-v1", priors.get("catcher"))


def test_intervals_of_ratios_compare_trials_in_pairs():
    # The trials differ by a factor of 4, but each pair has the same ratio.
    one = Measurement("depth 2", 2, 3, np.array([2.0, 4.0, 8.0]), np.arange(3), 0.0)
    two = Measurement("uniform", None, None, np.array([1.0, 2.0, 4.0, 9.0]), np.arange(4), 0.0)
    assert one.ratio(two) == pytest.approx((2.0, 2.0, 2.0))
    low, high = two.interval
    assert (low, high) == pytest.approx((-1.663, 9.663), abs=1e-3)


def test_depths_grow_geometrically():
    assert geometric_depths(2, 3) == [2, 3]
    assert geometric_depths(5, 5) == [5]
    assert geometric_depths(2, 100)[-1] == 100


def test_tables_and_plots(tmp_path):
    env = limited(CardinalGrid(), 50)
    result = tune(env, priors.get("cardinal-grid"), depths=[2, 12], steps=8_000)
    lines = str(result).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["actions", "nodes", "states", "seen", "times", "uniform", "blocked"]
    assert lines[5].startswith("depth 12 *") and "Tuning(depth=12" in repr(result)
    assert result._repr_html_().count("<tr>") == 5
    assert result.plot(tmp_path / "plot.svg").stat().st_size > 5000
