"""Tests of `probabilities`: the distribution of `sample`, for every explorer."""

import numpy as np
import pytest
from scipy.stats import chisquare

import easee
from easee import BaseExplorer, Explorer, UniformExplorer, ZetaExplorer

MASKS = {"all": None, "shared": [True, False, True], "single": [False, False, True]}


class Constant(BaseExplorer):
    """An explorer that defines no probabilities."""

    def step_one(self, action, done):
        pass

    def _sample(self, mask):
        return np.zeros(self.n_envs, int)

    def _sample_one(self):
        return 0

    def _step(self, actions, dones):
        pass

    def _forget(self, which):
        pass


def assert_sampled(explorer, mask, n=20_000):
    """Assert that actions of environments with equal histories have the probabilities reported."""
    rows = explorer.probabilities(mask)
    assert rows.shape == (n, explorer.n_actions)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    assert (rows == rows[0]).all()
    counts = np.bincount(explorer.sample(mask), minlength=explorer.n_actions)
    possible = rows[0] > 0
    assert not counts[~possible].any()
    if possible.sum() > 1:
        assert chisquare(counts[possible], n * rows[0, possible]).pvalue > 0.001


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("history", [(), (1,), (0, 2)])
def test_sampled_actions_have_the_reported_probabilities(make, mask, history):
    explorer = make(20_000, seed=3)
    for action in history:
        explorer.step(np.full(20_000, action))
    assert_sampled(explorer, mask)


@pytest.mark.parametrize("mask", [None, [True, False, True, True], [False, False, False, True]])
def test_floors_are_included(usual, mask):
    assert_sampled(Explorer(usual, 20_000, seed=3), mask)
    explorer = Explorer(usual, 20_000, seed=3, floor=0.4)
    explorer.step(np.zeros(20_000, int))
    assert_sampled(explorer, mask)
    assert (explorer.probabilities()[0] >= 0.1 - 1e-12).all()


def test_a_floor_mixes_in_the_uniform_policy(policy):
    plain, mixed = Explorer(policy, 2), Explorer(policy, 2, floor=0.3)
    for explorer in (plain, mixed):
        explorer.step([1, 0])
    assert plain.probabilities()[0, 2] == 0  # it does not turn back
    np.testing.assert_allclose(mixed.probabilities(), 0.7 * plain.probabilities() + 0.1)


def test_rows_are_those_of_the_present_nodes(policy):
    explorer = Explorer(policy, 3)
    explorer.step([0, 1, 2], [False, True, False])
    forward, _, right = policy.graph.successors[0]
    nodes = [forward, 0, right]  # the second episode ended
    np.testing.assert_array_equal(explorer.probabilities(), policy.probabilities[nodes])


def test_a_mask_may_differ_by_environment(policy):
    explorer = Explorer(policy, 2)
    explorer.step([1, 1])
    rows = explorer.probabilities([[True, True, True], [False, False, True]])
    assert rows[0, 2] == 0 and rows[1].tolist() == [0, 0, 1]


def test_where_a_mask_leaves_nothing_possible_it_is_uniform(policy):
    explorer = Explorer(policy)
    explorer.step([1])
    assert explorer.probabilities([False, False, True]).tolist() == [[0, 0, 1]]
    assert UniformExplorer(4).probabilities([0, 1, 1, 0]).tolist() == [[0, 0.5, 0.5, 0]]


def test_a_repetition_is_certain_unless_masked():
    explorer = ZetaExplorer(3, 2, seed=0)
    explorer.repeated[:], explorer.remaining[:] = 1, [2, 0]
    np.testing.assert_allclose(explorer.probabilities(), [[0, 1, 0], [1 / 3] * 3])
    np.testing.assert_allclose(explorer.probabilities([1, 0, 1]), [[0.5, 0, 0.5]] * 2)


@pytest.mark.parametrize("n_envs", [1, 3])
def test_nothing_is_drawn_and_nothing_moves(make, n_envs):
    explorer = make(n_envs, seed=0)
    explorer.step(np.ones(n_envs, int))
    state = explorer.state_dict()
    explorer.probabilities()[:] = 0.0  # a copy
    explorer.probabilities([True, False, True])
    np.testing.assert_equal(explorer.state_dict(), state)
    np.testing.assert_allclose(explorer.probabilities().sum(axis=1), 1.0)


def test_bad_masks_and_explorers_without_probabilities_are_rejected(policy):
    with pytest.raises(easee.ArgumentError, match="allows no action"):
        Explorer(policy).probabilities([False] * 3)
    with pytest.raises(easee.ArgumentTypeError, match="found Constant, .* _probabilities"):
        Constant(2).probabilities()
