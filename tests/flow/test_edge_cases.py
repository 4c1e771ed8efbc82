import numpy as np
import pytest

import easee
from easee import Equivalences, balance, priors, unroll
from tests.oracles import assert_certified, cvxpy_objective


def interest_mask(graph, nodes):
    return np.isin(np.arange(len(graph)), nodes)


@pytest.mark.parametrize(
    ("pairs", "depth", "nodes"),
    [(["a a ~ a"], 2, [3, 5]), (["a a ~", "b a b ~ a b a"], 5, [3, 4, 6])],
)
def test_symmetry_distinguishes_nodes_without_weight(pairs, depth, nodes):
    graph = unroll(Equivalences(["a", "b"], pairs), depth)
    interest = interest_mask(graph, nodes)
    policy = balance(graph, interest=interest)
    assert_certified(policy, interest=interest)
    assert policy.entropy == pytest.approx(cvxpy_objective(graph, interest=interest), abs=1e-6)


def test_paths_below_the_last_weighted_layer_are_equally_likely():
    graph = unroll(priors.get("rotation-both-inverses"), 3)
    policy = balance(graph, weights=[1, 0, 0])
    np.testing.assert_allclose(policy.probabilities[1], [3 / 7, 2 / 7, 2 / 7], atol=1e-9)


@pytest.mark.parametrize("small", [1e-6, 1e-8, 1e-12])
def test_layers_with_a_small_weight_are_certified(small):
    graph = unroll(priors.get("freeway"), 6)
    weights = [1, 1, 1, small, 1, 1]
    assert_certified(balance(graph, weights=weights), weights)


@pytest.mark.parametrize("depth", [6, 10])
def test_random_interest_among_commuting_moves_is_certified(depth):
    graph = unroll(priors.get("cardinal-all-commute"), depth)
    interest = np.random.default_rng(0).random(len(graph)) < 0.5
    assert_certified(balance(graph, interest=interest), interest=interest)


def test_duality_gap_allows_empty_rows_of_unreached_nodes():
    graph = unroll(easee.commute("a", "b"), 2)
    probabilities = np.zeros(graph.successors.shape)
    probabilities[0, 0] = 1.0
    probabilities[graph.node("a")] = 0.5
    gap = easee.duality_gap(graph, probabilities, weights=[0, 1])
    assert gap == pytest.approx(np.log(3 / 2))
    only_ab = interest_mask(graph, [graph.node("a b")])
    assert 0 < easee.duality_gap(graph, probabilities, interest=only_ab) < 1
    probabilities[0] = 0.5  # node "b" is now reached, and its row is empty
    with pytest.raises(easee.ArgumentError, match="sum to 1, found 0 at node 2"):
        easee.duality_gap(graph, probabilities)
