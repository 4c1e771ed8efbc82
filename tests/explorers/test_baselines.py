import numpy as np
import pytest
from scipy.special import zeta
from scipy.stats import chisquare

import easee
from easee import Equivalences, TabuExplorer, UniformExplorer, ZetaExplorer, priors


def test_uniform_is_uniform():
    counts = np.bincount(UniformExplorer(5, 50_000, seed=0).sample(), minlength=5)
    assert chisquare(counts).pvalue > 0.001


def test_a_single_environment_is_uniform():
    explorer = UniformExplorer(5, seed=0)
    counts = np.bincount([explorer.sample_one() for _ in range(10_000)], minlength=5)
    assert chisquare(counts).pvalue > 0.001


def expected_durations(n):
    """Return the expected counts of durations 1, 2, 3 and longer for mu = 2."""
    probabilities = np.array([1.0, 1 / 4, 1 / 9]) / zeta(2.0)
    return n * np.append(probabilities, 1 - probabilities.sum())


def test_zeta_draws_durations_from_the_zeta_distribution():
    n = 20_000
    explorer = ZetaExplorer(4, n, seed=0)
    first = explorer.sample()
    durations = np.zeros(n, int)
    for _ in range(4):
        durations += explorer.remaining > 0
        explorer.step(np.where(explorer.remaining > 0, first, 0))
    counts = np.bincount(durations, minlength=5)[1:]
    assert chisquare(counts, expected_durations(n)).pvalue > 0.001


def test_zeta_draws_the_same_durations_for_a_single_environment():
    explorer, durations = ZetaExplorer(4, seed=0), []
    for _ in range(5000):
        explorer.reset()
        explorer.sample_one()
        durations.append(min(explorer.remaining[0], 4))
    counts = np.bincount(durations, minlength=5)[1:]
    assert chisquare(counts, expected_durations(5000)).pvalue > 0.001


def test_zeta_continues_regardless_of_the_coin():
    explorer = ZetaExplorer(4, 1000, seed=0)
    first = explorer.sample()
    explorer.step(first)
    repeats = explorer.remaining > 0
    assert repeats.any()
    greedy = (first + 1) % 4
    actions = explorer.choose(greedy, 0.0)
    np.testing.assert_array_equal(actions[repeats], first[repeats])
    np.testing.assert_array_equal(actions[~repeats], greedy[~repeats])


@pytest.mark.parametrize("n_envs", [1, 3])
def test_repetitions_are_exploratory(n_envs):
    explorer = ZetaExplorer(4, n_envs, seed=0)
    explorer.repeated[:], explorer.remaining[0] = 2, 5
    assert explorer.choose(np.zeros(n_envs, int), 0.0)[0] == 2
    assert explorer.explored.tolist() == [True] + [False] * (n_envs - 1)


@pytest.mark.parametrize("n_envs", [1, 3])
def test_zeta_stops_where_a_mask_forbids_the_action(n_envs):
    explorer = ZetaExplorer(4, n_envs, seed=0)
    explorer.repeated[:], explorer.remaining[:] = 2, 5
    explorer.choose(np.full(n_envs, 2), 0.0, [True, True, False, True])
    assert not explorer.remaining.any() and not explorer.explored.any()


def test_zeta_stops_at_the_end_of_an_episode_and_after_another_action():
    explorer = ZetaExplorer(4, 3, seed=0)
    explorer.repeated[:], explorer.remaining[:] = 2, 10
    explorer.step([2, 2, 1], [False, True, False])
    assert explorer.remaining.tolist() == [9, 0, 0]
    explorer.reset()
    assert not explorer.remaining.any()


@pytest.mark.parametrize(
    ("action", "done", "left"), [(2, False, 9), (2, True, 0), (1, False, 0), (1, True, 0)]
)
def test_zeta_stops_in_a_single_environment_too(action, done, left):
    explorer = ZetaExplorer(4, seed=0)
    explorer.repeated[:], explorer.remaining[:] = 2, 10
    explorer.step_one(action, done)
    assert explorer.remaining == [left]


@pytest.mark.parametrize("mu", [1.0, None])
def test_invalid_mu_is_rejected(mu):
    with pytest.raises(easee.ArgumentError, match="mu greater than 1"):
        ZetaExplorer(4, mu=mu)


def test_tabu_never_undoes_the_last_action():
    explorer = TabuExplorer(priors.get("cardinal-grid"), 5000, seed=0)
    explorer.step(np.zeros(5000, int))  # right
    counts = np.bincount(explorer.sample(), minlength=4)
    assert counts[1] == 0
    assert chisquare(counts[[0, 2, 3]]).pvalue > 0.001
    explorer.step(np.zeros(5000, int), np.ones(5000, bool))
    assert np.bincount(explorer.sample(), minlength=4).all()  # a new episode has no last action


def test_tabu_never_undoes_the_last_action_of_a_single_environment():
    explorer = TabuExplorer(priors.get("cardinal-grid"), seed=0)
    undone = [1, 0, 3, 2]
    last = None
    for step in range(500):
        action = explorer.sample_one()
        assert last is None or action != undone[last]
        done = step % 10 == 9
        explorer.step_one(action, done)
        last = None if done else action


def test_tabu_forbids_nothing_if_all_actions_would_undo_the_last():
    explorer = TabuExplorer(easee.power("a", 2), 3, seed=0)
    explorer.step([0, 0, 0])
    assert explorer.sample().tolist() == [0, 0, 0]


def test_tabu_requires_equivalences():
    with pytest.raises(TypeError, match="Equivalences"):
        TabuExplorer(["a"])


def test_a_state_of_another_prior_is_rejected():
    prior = Equivalences(["left", "right", "wait"], ["left right ~"])
    other = Equivalences(["left", "right", "wait"], ["left wait ~"])
    with pytest.raises(easee.ArgumentError, match="another explorer: expected tabu"):
        TabuExplorer(prior).load_state_dict(TabuExplorer(other).state_dict())
