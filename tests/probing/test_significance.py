import ale_py
import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit
from scipy.stats import beta, binom

from easee.envs import CardinalGrid
from easee.probing.probe import make_probe
from easee.probing.significance import holm, interval, is_random, outcomes, permutation_test

gym.register_envs(ale_py)


class Slippery(gym.Wrapper):
    """A wrapper that replaces some actions by random ones."""

    def step(self, action):
        random = self.unwrapped.np_random
        return self.env.step(random.integers(4) if random.random() < 0.5 else action)


# --- intervals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 30, 200, 1000])
def test_intervals_are_those_of_clopper_and_pearson(n):
    for k in sorted({0, 1, n // 7, n // 2, n - 1, n}):
        low = beta.ppf(0.025, k, n - k + 1) if k else 0.0
        high = beta.ppf(0.975, k + 1, n - k) if k < n else 1.0
        assert interval(k, n) == pytest.approx((low, high), abs=1e-11)


def test_the_interval_without_trials_is_from_0_to_1():
    assert interval(0, 0) == (0.0, 1.0)


# --- two samples ---------------------------------------------------------------------------------


def p_values(one, two, tests, size, rng):
    """Return the p-values of tests of samples from two distributions."""
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
def test_equal_distributions_are_rejected_at_most_at_the_level(shares, rng):
    tests = 300
    values = p_values(shares, shares, tests, 30, rng)
    for level in (0.01, 0.05, 0.2, 0.5):
        assert (values <= level).sum() <= binom.ppf(0.999, tests, level)


@pytest.mark.slow
def test_p_values_of_many_outcomes_are_about_uniform(rng):
    values = p_values((0.1,) * 10, (0.1,) * 10, 300, 60, rng)
    for level in (0.05, 0.2, 0.5):
        least, most = binom.ppf([0.001, 0.999], 300, level)
        assert least <= (values <= level).sum() <= most


def test_different_distributions_are_rejected(rng):
    assert p_values((0.9, 0.1, 0.0), (0.4, 0.3, 0.3), 50, 30, rng).max() < 0.05
    assert (p_values((0.7, 0.3), (0.3, 0.7), 200, 30, rng) < 0.05).mean() > 0.8


def test_the_permutation_test_is_symmetric(rng):
    one, two = "aaaaaaabbb", "aaabbbbbcc"
    first = permutation_test(one, two, rng)
    assert permutation_test(two, one, rng) == pytest.approx(first, abs=0.03)


def test_p_values_of_small_samples_are_1_and_of_large_ones_positive(rng):
    assert permutation_test("a", "a", rng) == 1.0
    assert permutation_test("a", "b", rng) == 1.0
    assert 0 < permutation_test("a" * 1000, "b" * 1000, rng) < 0.001


# --- many tests ----------------------------------------------------------------------------------


def adjusted_rejections(p_values, level=0.05):
    """Return which of Holm's adjusted p-values are at most the level."""
    count = len(p_values)
    rejections = []
    for p in p_values:
        smaller = sorted(q for q in p_values if q <= p)
        rejections.append(max((count - rank) * q for rank, q in enumerate(smaller)) <= level)
    return rejections


def test_holm_equals_the_adjusted_p_values(rng):
    mixed = 0
    for count in (1, 2, 3, 5, 10, 40):
        for _ in range(50):
            values = (10 ** rng.uniform(-5, 0, size=count)).tolist()
            assert holm(values) == adjusted_rejections(values)
            mixed += 0 < sum(holm(values)) < count
    assert mixed > 50


def test_holm_includes_the_level_itself():
    assert holm([0.05]) == [True] and holm([0.0501]) == [False]
    assert holm([0.025, 0.05]) == [True, True]
    assert holm([0.0251, 0.0251]) == [False, False]
    assert holm([0.03, 0.001, 0.02, 0.02]) == [False, True, False, False]
    assert holm([]) == []


# --- random environments -------------------------------------------------------------------------


def snapshots(probe, count=4):
    return [probe.after(probe.reset(seed), [0, 2, 2]) for seed in range(count)]


def test_random_environments_are_recognised(rng):
    for env, random in ((CardinalGrid(), False), (Slippery(CardinalGrid()), True)):
        probe = make_probe(env)
        assert is_random(probe, snapshots(probe), rng) is random


@pytest.mark.slow
@pytest.mark.parametrize("stickiness", [0.0, 0.25])
def test_sticky_actions_are_random(stickiness, rng):
    env = gym.make("ALE/Freeway-v5", repeat_action_probability=stickiness)
    for seed in range(2):
        probe = make_probe(env, seed=seed)
        assert is_random(probe, snapshots(probe, 2), rng) is (stickiness > 0)


def test_outcomes_are_keys_of_repeated_executions(rng):
    probe = make_probe(Slippery(CardinalGrid()))
    start = probe.reset(0)
    keys = outcomes(probe, start, (0,), 60, rng)
    assert keys is not None and len(keys) == 60 and len(set(keys)) == 4
    ahead = probe.after(make_probe(CardinalGrid()).reset(0), (0,)).key
    assert max(set(keys), key=keys.count) == ahead


def test_truncated_outcomes_are_none(rng):
    probe = make_probe(TimeLimit(Slippery(CardinalGrid()), 3))
    start = probe.reset(0)
    keys = outcomes(probe, start, (0, 0), 5, rng)
    assert keys is not None and len(keys) == 5
    assert outcomes(probe, start, (0, 0, 0), 5, rng) is None
