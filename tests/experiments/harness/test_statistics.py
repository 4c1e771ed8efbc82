import numpy as np
import pytest
from scipy.stats import mannwhitneyu, norm

import easee
from easee.experiments.harness import statistics as st
from easee.experiments.harness.figure import Row
from easee.experiments.harness.learning_curves import summary


def test_intervals_contain_their_estimate():
    values = np.random.default_rng(0).normal(size=30)
    estimate = st.mean_interval(values)
    assert estimate.low < estimate.value < estimate.high
    assert estimate.value == pytest.approx(values.mean())
    assert st.mean_interval(values) == estimate  # the resampling is seeded


def test_bootstrap_agrees_with_the_normal_interval():
    values = np.random.default_rng(1).normal(3.0, 2.0, size=400)
    estimate = st.mean_interval(values)
    half = norm.ppf(0.975) * values.std() / 20
    assert estimate.low == pytest.approx(values.mean() - half, abs=0.03)
    assert estimate.high == pytest.approx(values.mean() + half, abs=0.03)


def test_intervals_cover_the_mean_as_often_as_they_should():
    rng = np.random.default_rng(2)
    hits = 0
    for i in range(200):
        estimate = st.mean_interval(rng.normal(size=25), seed=i)
        hits += estimate.low <= 0.0 <= estimate.high
    assert 0.88 <= hits / 200 <= 0.98  # the percentile bootstrap is a little narrow


def test_probability_of_improvement_agrees_with_scipy():
    assert st.improvement_interval([3, 4], [1, 2]).value == 1.0
    assert st.improvement_interval([1, 2], [1, 2]).value == 0.5
    # Mann and Whitney's classical example, in scipy's documentation: U = 17 of 4 * 5 pairs.
    males, females = [19, 22, 16, 29, 24], [20, 11, 17, 12]
    assert st.improvement_interval(males, females).value == 17 / 20
    rng = np.random.default_rng(3)
    x, y = rng.integers(9, size=12), rng.integers(9, size=15)
    u = mannwhitneyu(x, y).statistic
    estimate = st.improvement_interval(x, y)
    assert estimate.value == pytest.approx(u / (12 * 15))
    assert estimate.low <= estimate.value <= estimate.high


def test_a_ratio_of_constant_values_is_exact():
    estimate = st.ratio_interval([2.0, 2.0], [1.0, 1.0])
    assert estimate == (2.0, 2.0, 2.0)


def test_intervals_of_a_single_seed_and_of_equal_values():
    one = st.mean_interval([3.0])
    assert one.value == 3.0 and np.isnan([one.low, one.high]).all() and st.cell(one) == "3.00"
    assert st.improvement_interval([1.0, 1.0], [1.0]) == (0.5, 0.5, 0.5)
    ratio = st.ratio_interval([4.0], [1.0, 2.0, 3.0])  # only the baseline varies
    assert ratio.value == 2.0 and ratio.low == 4 / 3 and ratio.high == 4.0
    assert st.improvement_interval([2.0], [1.0, 3.0]) == (0.5, 0.0, 1.0)


def test_missing_and_invalid_values_are_rejected():
    with pytest.raises(easee.ArgumentError, match="at least one value"):
        st.mean_interval([])
    with pytest.raises(easee.ArgumentError, match="finite values"):
        st.mean_interval([1.0, np.nan])


def test_only_runs_of_the_same_seed_are_paired():
    ends = [
        ("u", 0, 0.0),
        ("u", 1, 1.0),
        ("u", 2, 2.0),
        ("e", 0, 0.5),
        ("e", 2, 2.5),
        ("e", 3, 3.5),
    ]
    rows = [Row("f", arm, seed, 1, "reward", value) for arm, seed, value in ends]
    options = {"baseline": "u", "after": 0, "what": "w"}
    header, _, line = summary(rows, {"u": "u", "e": "e"}, paired=True, **options)
    assert header[-1] == "paired difference" and line[-1] == "0.50 [0.50, 0.50]"
    header, _, line = summary(rows, {"u": "u", "e": "e"}, **options)
    assert header[-1] == "difference" and line[-1].startswith("1.17 [-0.5")


def test_a_difference_is_that_of_independent_samples():
    rng = np.random.default_rng(1)
    one, two = rng.normal(1.0, 1.0, 200), rng.normal(0.0, 2.0, 300)
    estimate = st.difference_interval(one, two)
    assert estimate.value == pytest.approx(one.mean() - two.mean())
    error = np.sqrt(one.var(ddof=1) / 200 + two.var(ddof=1) / 300)
    half = (estimate.high - estimate.low) / 2
    assert half == pytest.approx(norm.ppf(0.975) * error, rel=0.1)


def test_stratified_intervals_resample_within_groups():
    rng = np.random.default_rng(0)
    near, far = rng.normal(0.0, 0.1, 40), rng.normal(10.0, 0.1, 10)
    estimate = st.stratified_interval([near, far])
    assert estimate.value == pytest.approx((near.mean() + far.mean()) / 2)
    # Resampling over both groups at once would mix values near 0 and near 10.
    assert 0 < estimate.high - estimate.low < 0.2
    assert estimate.low < estimate.value < estimate.high
