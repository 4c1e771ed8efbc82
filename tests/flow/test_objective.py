import numpy as np
import pytest

import easee
from easee import priors, unroll
from easee.flow.network import push
from easee.flow.objective import NodeEntropy, StateEntropy, make_objective
from easee.flow.stochastic.time_expanded import time_expand
from tests.oracles import plain_gap, plain_objective


@pytest.fixture
def graph():
    return unroll(priors.get("rotation-grid-complete"), 5)  # with dead ends


def overlapping(graph):
    rows = np.random.default_rng(0).random((len(graph), 7))
    return rows / rows.sum(axis=1, keepdims=True)


def even_visits(graph):
    table = graph.forward / np.maximum(graph.forward.sum(axis=1, keepdims=True), 1)
    objective = make_objective(graph)
    return table, push(objective.network, table[graph.forward])


def test_node_entropy_equals_its_definition(graph):
    table, visits = even_visits(graph)
    weights = [1, 0, 2, 3, 1]
    interest = np.arange(len(graph)) % 2 == 1
    objective = make_objective(graph, weights=weights, interest=interest)
    assert isinstance(objective, NodeEntropy)
    assert objective.value(visits) == pytest.approx(
        plain_objective(graph, table, weights, interest)
    )
    assert objective.gap(visits) == pytest.approx(plain_gap(graph, table, weights, interest))


@pytest.mark.parametrize("kind", ["nodes", "states"])
def test_gradients_are_the_differences_of_the_value(graph, kind):
    _, visits = even_visits(graph)
    outcomes = overlapping(graph) if kind == "states" else None
    objective = make_objective(graph, weights=[1, 0, 2, 3, 1], outcomes=outcomes)
    gradient = objective.gradient(visits)
    for node in range(1, len(graph)):
        change = np.zeros(len(graph))
        change[node] = 1e-6 * visits[node]
        difference = objective.value(visits + change) - objective.value(visits - change)
        assert difference == pytest.approx(2 * change[node] * gradient[node], abs=1e-12)


def test_value_and_gap_do_not_depend_on_the_expansion_in_time(graph):
    _, visits = even_visits(graph)
    objective = make_objective(graph, outcomes=overlapping(graph))
    expanded = time_expand(graph, objective)
    shares = np.ones(len(expanded.network.tails))
    tails = expanded.network.tails
    shares /= np.bincount(tails)[tails]
    held = push(expanded.network, shares)
    assert expanded.value(held) == pytest.approx(objective.value(visits), abs=1e-12)
    assert expanded.gap(held) == pytest.approx(objective.gap(visits), abs=1e-12)
    np.testing.assert_array_equal(expanded.lift(np.ones(len(tails))), 1.0)


def test_separate_outcomes_give_a_node_entropy_with_an_offset(graph):
    _, visits = even_visits(graph)
    chances = np.array([0.7, 0.2, 0.1])
    objective = make_objective(graph, outcomes=np.kron(np.eye(len(graph)), chances))
    assert isinstance(objective, NodeEntropy)
    assert objective.offset == pytest.approx(-chances @ np.log(chances))
    nodes = make_objective(graph)
    assert objective.value(visits) == pytest.approx(nodes.value(visits) + objective.offset)
    assert objective.bound == pytest.approx(nodes.bound + np.log(3))
    assert objective.gap(visits) == pytest.approx(nodes.gap(visits))


def test_equally_uncertain_outcomes_are_required_for_a_node_entropy():
    graph = unroll(easee.Equivalences(["a", "b"]), 1)
    outcomes = [[1, 0, 0], [1, 0, 0], [0, 0.5, 0.5]]
    assert isinstance(make_objective(graph, outcomes=outcomes), StateEntropy)
