import ale_py
import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit
from scipy.stats import binom, binomtest

from easee.envs import CardinalGrid
from easee.probing.probe import make_probe
from easee.probing.significance import interval, is_random, outcomes, permutation_test, rejected

gym.register_envs(ale_py)


class Slippery(gym.Wrapper):
    """Some steps go elsewhere."""

    def step(self, action):
        random = self.unwrapped.np_random
        return self.env.step(random.integers(4) if random.random() < 0.5 else action)


# --- rates ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 30, 200, 1000])
def test_the_interval_is_the_exact_one(n):
    for k in sorted({0, 1, n // 7, n // 2, n - 1, n}):
        expected = binomtest(k, n).proportion_ci(0.95, method="exact")
        assert interval(k, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_nothing_tried_is_nothing_known():
    assert interval(0, 0) == (0.0, 1.0)


# --- two samples ---------------------------------------------------------------------------------


def p_values(one, two, tests, size, rng):
    """Test samples of two distributions over a few outcomes."""
    return np.array(
        [
            permutation_test(
                rng.choice(len(one), size, p=one).tolist(),
                rng.choice(len(two), size, p=two).tolist(),
                rng,
            )
            for _ in range(tests)
        ]
    )


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.4, 0.3, 0.2, 0.1)])
def test_equal_distributions_are_rejected_as_rarely_as_the_level_says(shares, rng):
    tests = 300
    found = p_values(shares, shares, tests, 30, rng)
    for level in (0.01, 0.05, 0.2, 0.5):
        assert (found <= level).sum() <= binom.ppf(0.999, tests, level)


def test_with_many_outcomes_p_values_are_about_uniform(rng):
    found = p_values((0.1,) * 10, (0.1,) * 10, 300, 60, rng)
    for level in (0.05, 0.2, 0.5):
        least, most = binom.ppf([0.001, 0.999], 300, level)
        assert least <= (found <= level).sum() <= most


def test_other_distributions_are_told_apart(rng):
    assert p_values((0.9, 0.1, 0.0), (0.4, 0.3, 0.3), 50, 30, rng).max() < 0.05
    assert (p_values((0.7, 0.3), (0.3, 0.7), 200, 30, rng) < 0.05).mean() > 0.8


def test_the_sides_may_change_places(rng):
    one, two = "aaaaaaabbb", "aaabbbbbcc"
    first = permutation_test(one, two, rng)
    assert permutation_test(two, one, rng) == pytest.approx(first, abs=0.03)


def test_samples_may_be_of_any_size_and_never_certain(rng):
    assert permutation_test("a", "a", rng) == 1.0
    assert permutation_test("a", "b", rng) == 1.0
    assert 0 < permutation_test("a" * 1000, "b" * 1000, rng) < 0.001


# --- many tests ----------------------------------------------------------------------------------


def holm(p_values, level=0.05):
    """Holm's adjusted p-values, one by one."""
    count = len(p_values)
    found = []
    for p in p_values:
        smaller = sorted(q for q in p_values if q <= p)
        found.append(max((count - rank) * q for rank, q in enumerate(smaller)) <= level)
    return found


def test_several_tests_are_corrected_by_holm(rng):
    some = 0
    for count in (1, 2, 3, 5, 10, 40):
        for _ in range(50):
            values = (10 ** rng.uniform(-5, 0, size=count)).tolist()
            assert rejected(values) == holm(values)
            some += 0 < sum(rejected(values)) < count
    assert some > 50


def test_what_is_just_significant_counts():
    assert rejected([0.05]) == [True] and rejected([0.0501]) == [False]
    assert rejected([0.025, 0.05]) == [True, True]
    assert rejected([0.0251, 0.0251]) == [False, False]
    assert rejected([0.03, 0.001, 0.02, 0.02]) == [False, True, False, False]
    assert rejected([]) == []


# --- is anything random? -------------------------------------------------------------------------


def places(probe, count=4):
    return [probe.after(probe.reset(seed), [0, 2, 2]) for seed in range(count)]


def test_a_random_environment_is_recognised(rng):
    for env, random in ((CardinalGrid(), False), (Slippery(CardinalGrid()), True)):
        probe = make_probe(env)
        assert is_random(probe, places(probe), rng) is random


@pytest.mark.parametrize("stickiness", [0.0, 0.25])
def test_sticky_actions_are_random(stickiness, rng):
    env = gym.make("ALE/Freeway-v5", repeat_action_probability=stickiness)
    for seed in range(2):
        probe = make_probe(env, seed=seed)
        assert is_random(probe, places(probe, 2), rng) is (stickiness > 0)


def test_outcomes_are_what_repeated_executions_lead_to(rng):
    probe = make_probe(Slippery(CardinalGrid()))
    place = probe.reset(0)
    found = outcomes(probe, place, (0,), 60, rng)
    assert len(found) == 60 and len(set(found)) == 4
    ahead = probe.after(make_probe(CardinalGrid()).reset(0), (0,)).key
    assert max(set(found), key=found.count) == ahead


def test_outcomes_that_were_cut_off_are_none_at_all(rng):
    probe = make_probe(TimeLimit(Slippery(CardinalGrid()), 3))
    place = probe.reset(0)
    assert outcomes(probe, place, (0, 0), 5, rng) is not None
    assert outcomes(probe, place, (0, 0, 0), 5, rng) is None
