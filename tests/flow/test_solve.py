import cvxpy as cp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import easee
from easee import Equivalences, balance, priors, unroll
from easee.flow.arguments import layer_weights
from easee.flow.deterministic import crossover, potentials
from easee.flow.deterministic.symmetry import quotient
from easee.flow.objective import NodeEntropy, layer_entropies, make_objective
from tests.oracles import assert_certified, cvxpy_objective, plain_gap, plain_objective
from tests.strategies import presentations, unroll_or_reject

GRAPHS = [
    ("cardinal-right-left", 4),
    ("cardinal-all-commute", 6),
    ("cardinal-one-inverse", 5),
    ("cardinal-grid", 12),
    ("rotation-grid", 5),
    ("rotation-grid-complete", 10),
    ("doorkey", 4),
    ("catcher", 20),
    ("freeway", 7),
    ("boxing", 2),
    ("carnival", 3),
]


def objectives(graph):
    """Return several (weights, interest) for a graph."""
    d, n = graph.depth, len(graph)
    last, half = np.zeros(d), np.zeros(d)
    last[-1] = 1
    half[d // 2 :] = 1
    some = np.random.default_rng(n).random(n) < 0.5
    some[-1] = True
    return {
        "default": (None, None),
        "last layer": (last, None),
        "second half": (half, None),
        "rising": (np.arange(1, d + 1), None),
        "interest": (None, some),
    }


@pytest.mark.parametrize(("name", "depth"), GRAPHS)
@pytest.mark.parametrize(
    "kind",
    [
        "default",
        "interest",
        *(pytest.param(k, marks=pytest.mark.slow) for k in ("last layer", "second half", "rising")),
    ],
)
def test_policies_are_certified_and_as_good_as_cvxpy_s(name, depth, kind):
    graph = unroll(priors.get(name), depth)
    weights, interest = objectives(graph)[kind]
    policy = balance(graph, weights=weights, interest=interest)
    assert_certified(policy, weights, interest)
    theirs = cvxpy_objective(graph, weights, interest)
    assert theirs <= policy.entropy + 1e-5  # Clarabel's own accuracy
    assert policy.entropy <= theirs + 1e-5


@pytest.mark.slow
@given(presentations(most_letters=4, most_pairs=4), st.integers(1, 5))
@settings(max_examples=150)
def test_every_random_graph_is_certified(omega, depth):
    assert_certified(balance(unroll_or_reject(omega, depth, max_nodes=3000)))


@pytest.mark.slow
@given(presentations(), st.integers(1, 4), st.data())
def test_random_weights_and_interest_are_certified(omega, depth, data):
    graph = unroll_or_reject(omega, depth)
    weights = data.draw(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=depth, max_size=depth)
    )
    interest = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(graph), max_size=len(graph)))
    )
    if has_weight(graph, weights, interest):
        assert_certified(balance(graph, weights=weights, interest=interest), weights, interest)
    else:
        with pytest.raises(easee.ArgumentError, match="weight|interest"):
            balance(graph, weights=weights, interest=interest)


def has_weight(graph, weights, interest):
    """Return whether a node of interest can hold mass in a layer with a positive weight."""
    layers = range(1, graph.depth + 1)
    holds = [(graph.depths == t) | (graph.ends & (graph.depths < t)) for t in layers]
    return any(w and (interest & nodes).any() for w, nodes in zip(weights, holds, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("decay", [0.3, 0.5, 0.7, 2.0])
def test_geometric_weights_are_certified(decay):
    graph = unroll(priors.get("rotation-grid-complete"), 40)
    weights = decay ** np.arange(40)
    assert_certified(balance(graph, weights=weights), weights)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_light_layers_between_heavy_ones_are_certified(seed):
    # The optimal visits of some nodes underflow.
    graph = unroll(priors.get("rotation-grid-complete"), 30)
    weights = np.random.default_rng(seed).random(30) ** 3 + 1e-6
    policy = balance(graph, weights=weights)
    assert_certified(policy, weights)
    assert (policy.visits > 0).all()


@pytest.mark.parametrize(
    ("name", "depth"),
    [
        ("cardinal-grid", 100),
        ("cardinal-right-left", 7),
        ("doorkey", 6),
        ("boxing", 4),
        ("catcher", 150),
        ("rotation-grid-complete", 30),
        ("rotation-grid-complete", 50),
        ("cardinal-all-commute", 16),
        ("freeway", 10),
    ],
)
def test_large_graphs_reach_the_target(name, depth):
    graph = unroll(priors.get(name), depth)
    policy = balance(graph)
    assert policy.gap <= 1e-9
    assert easee.duality_gap(graph, policy.probabilities) <= 1e-9


def test_layers_are_uniform_where_possible():
    for name, depth in (("cardinal-grid", 20), ("catcher", 40), ("cardinal-all-commute", 8)):
        policy = easee.compile(priors.get(name), depth)
        even = 1 / np.array(policy.graph.layer_sizes)[policy.graph.depths]
        np.testing.assert_allclose(policy.visits, even, rtol=1e-10)
        assert policy.entropy == pytest.approx(policy.bound, abs=1e-12)


def test_catcher_has_a_closed_form():
    """After i of t steps to the right, uniform layers need probability (i + 1) / (t + 2)."""
    policy = easee.compile(priors.get("catcher"), 12)
    for node in np.flatnonzero(~policy.graph.ends):
        word = policy.graph.word(node)
        expected = (word.count("right") + 1) / (len(word) + 2)
        assert policy.probabilities[node, 1] == pytest.approx(expected, abs=1e-10)


def test_a_single_path_has_no_entropy():
    policy = easee.compile(Equivalences(["wait", "go"], ["wait ~"]), 50)
    assert policy.entropy == 0 and policy.bound == 0 and policy.gap == 0
    assert (policy.probabilities[:50, 1] == 1).all()


def test_dead_ends_hold_their_mass():
    graph = unroll(Equivalences(["a", "b"], ["a a ~ a", "a b ~ a"]), 3)
    dead = graph.node("a")
    assert graph.ends[dead] and graph.depths[dead] == 1
    policy = balance(graph)
    assert_certified(policy)
    objective = make_objective(graph)
    assert isinstance(objective, NodeEntropy)
    assert objective.omega[dead] == pytest.approx(1.0)  # it counts in all three layers


def test_entropy_is_the_weighted_mean_of_layer_entropies():
    graph = unroll(priors.get("rotation-grid-complete"), 7)
    weights = np.arange(7) + 0.5
    policy = balance(graph, weights=weights)
    mean = layer_weights(graph, weights) @ layer_entropies(graph, policy.visits)
    assert policy.entropy == pytest.approx(mean, abs=1e-12)


# --- uniqueness and symmetry ----------------------------------------------------------------------


def assert_same_policy(one, two, rename=lambda name: name):
    """Check that `two` is `one` with its actions renamed."""
    for node in np.flatnonzero(~one.graph.ends):
        word = [rename(name) for name in one.graph.word(node)]
        other = two.graph.node(word)
        assert two.visits[other] == pytest.approx(one.visits[node], rel=1e-7)
        for i, name in enumerate(one.graph.actions):
            j = two.graph.actions.index(rename(name))
            assert two.probabilities[other, j] == pytest.approx(
                one.probabilities[node, i], abs=1e-7
            )


@pytest.mark.parametrize(("name", "depth"), GRAPHS)
@pytest.mark.parametrize("kind", ["default", "last layer", "second half"])
def test_policies_do_not_depend_on_the_order_of_actions(name, depth, kind):
    omega = priors.get(name)
    turned = Equivalences(omega.actions[::-1], [omega])
    one, two = unroll(omega, depth), unroll(turned, depth)
    weights, _ = objectives(one)[kind]
    assert_same_policy(balance(one, weights=weights), balance(two, weights=weights))


@given(presentations(), st.integers(1, 4))
def test_policies_of_random_priors_do_not_depend_on_the_order_of_actions(omega, depth):
    graph = unroll_or_reject(omega, depth)
    assume(graph.exact)
    turned = easee.compile(Equivalences(omega.actions[::-1], [omega]), depth)
    assert_same_policy(balance(graph), turned)


SYMMETRIES = [
    ("cardinal-grid", {"left": "right", "right": "left"}),
    ("cardinal-grid", {"left": "up", "up": "left", "right": "down", "down": "right"}),
    ("cardinal-right-left", {"up": "down", "down": "up"}),
    ("rotation-grid-complete", {"left": "right", "right": "left"}),
    ("doorkey", {"open": "pickup", "pickup": "open"}),
    ("carnival", {"FIRE": "RIGHTFIRE", "RIGHTFIRE": "FIRE"}),
]


@pytest.mark.parametrize(("name", "swaps"), SYMMETRIES)
def test_policies_have_the_symmetries_of_the_prior(name, swaps):
    policy = easee.compile(priors.get(name), 5)
    assert_same_policy(policy, policy, rename=lambda action: swaps.get(action, action))


def test_the_flow_has_the_largest_path_entropy():
    """Compare with a direct maximisation over the flows with the same visits."""
    policy = easee.compile(priors.get("cardinal-grid"), 4)
    graph = policy.graph
    tails, actions = np.nonzero(graph.forward)
    heads = graph.successors[tails, actions]
    flow = policy.visits[tails] * policy.probabilities[tails, actions]
    free = cp.Variable(len(flow), nonneg=True)
    into = np.zeros((len(graph), len(flow)))
    into[heads, np.arange(len(flow))] = 1
    out = np.zeros((len(graph), len(flow)))
    out[tails, np.arange(len(flow))] = 1
    inner = ~graph.ends
    constraints = [into[1:] @ free == policy.visits[1:], out[inner] @ free == policy.visits[inner]]
    cp.Problem(cp.Maximize(cp.sum(cp.entr(free))), constraints).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(free.value, flow, atol=2e-5)


def test_quotients_are_small_where_there_is_symmetry():
    graph = unroll(priors.get("boxing"), 4)
    small = quotient(make_objective(graph)).objective.network
    assert small.n_nodes < 100 < len(graph)
    assert small.sizes.sum() == len(graph)


# --- certificates ---------------------------------------------------------------------------------


def test_duality_gap_bounds_the_distance_of_any_policy(rng):
    graph = unroll(priors.get("rotation-grid"), 4)
    best = balance(graph)
    for _ in range(20):
        table = rng.random(graph.successors.shape) * graph.forward
        table[~graph.ends] /= table[~graph.ends].sum(axis=1, keepdims=True)
        gap = easee.duality_gap(graph, table)
        assert best.entropy - plain_objective(graph, table) <= gap + 1e-9
        assert gap <= plain_gap(graph, table) + 1e-12


def test_duality_gap_of_a_policy_that_misses_nodes_is_finite():
    graph = unroll(easee.commute("a", "b"), 3)
    always_a = np.zeros(graph.successors.shape)
    always_a[~graph.ends, 0] = 1
    gap = easee.duality_gap(graph, always_a)
    assert gap == pytest.approx(balance(graph).bound)


def test_duality_gap_rejects_invalid_input():
    graph = unroll(easee.inverse("a", "b"), 3)
    even = np.full(graph.successors.shape, 0.5)
    with pytest.raises(easee.ArgumentError, match="shape"):
        easee.duality_gap(graph, even[:2])
    with pytest.raises(easee.ArgumentError, match="does not lead deeper"):
        easee.duality_gap(graph, even)
    with pytest.raises(easee.ArgumentError, match="sum to 1"):
        easee.duality_gap(graph, np.zeros(even.shape))
    with pytest.raises(easee.ArgumentError, match="non-negative"):
        easee.duality_gap(graph, -even)
    with pytest.raises(easee.ArgumentTypeError, match="probabilities as an array"):
        easee.duality_gap(graph, "x")
    with pytest.raises(easee.ArgumentTypeError, match="LocalGraph, found NoneType"):
        easee.duality_gap(None, None)


def test_missing_the_tolerance_raises_and_carries_the_policy():
    graph = unroll(priors.get("freeway"), 6)
    with pytest.raises(easee.ConvergenceError, match="duality gap") as caught:
        balance(graph, tolerance=1e-30)
    assert caught.value.gap > 1e-30 == caught.value.tolerance
    assert_certified(caught.value.policy)


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 1], r"weights.*found \(2,\)"),
        ([1, 1, 1, 1], r"weights.*found \(4,\)"),
        ([[1, 1, 1]], r"weights.*found \(1, 3\)"),
        ([0, 0, 0], "at least one positive weight"),
        ([1, -1, 1], "non-negative weights"),
        ([1, np.nan, 1], "finite.*weights"),
        ("abc", "weights as an array of numbers"),
        ([None] * 3, "finite.*weights"),
    ],
)
def test_invalid_weights_are_rejected(weights, message):
    with pytest.raises(easee.ArgumentError, match=message):
        balance(unroll(easee.commute("a", "b"), 3), weights=weights)


def test_invalid_interest_is_rejected():
    graph = unroll(easee.commute("a", "b"), 3)
    root_only = np.arange(len(graph)) == 0
    for interest in (np.zeros(len(graph), bool), root_only):
        with pytest.raises(easee.ArgumentError, match="interest is empty"):
            balance(graph, interest=interest)
    for interest in (np.ones(3, bool), np.ones(len(graph))):
        with pytest.raises(easee.ArgumentError, match="interest as a bool array"):
            balance(graph, interest=interest)
    first = graph.depths == 1
    with pytest.raises(easee.ArgumentError, match="weight"):
        balance(graph, weights=[0, 0, 1], interest=first)


@pytest.mark.parametrize("tolerance", [0, -1.0, "x"])
def test_invalid_tolerances_are_rejected(tolerance):
    with pytest.raises(easee.ArgumentError, match="positive tolerance"):
        balance(unroll(easee.commute("a", "b"), 3), tolerance=tolerance)


def test_balance_requires_a_graph():
    with pytest.raises(TypeError, match="LocalGraph, found str"):
        balance("graph")


# --- narrow and deep graphs -----------------------------------------------------------------------

ABSORBING = Equivalences(
    "a b z".split(),
    ["a b ~ b a", "b b ~ b", "z a ~ z", "z b ~ z", "z z ~ z", "a z ~ z", "b z ~ z"],
)


@pytest.mark.parametrize("depth", [50, 200, 1000])
def test_narrow_graphs_are_balanced_at_any_depth(depth):
    policy = easee.compile(ABSORBING, depth)
    assert policy.gap <= 1e-9
    # Every layer has two words without z, and the absorbing one.
    assert policy.entropy == pytest.approx(np.log(3), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_nodes_of_interest_in_a_narrow_graph_reach_the_target(seed):
    graph = easee.unroll(Equivalences(["a", "b"], ["b a ~ a b", "b b b ~"]), 80)
    interest = np.random.default_rng(seed).random(len(graph)) < 0.5
    assert easee.balance(graph, interest=interest).gap <= 1e-9


def test_outcomes_in_a_narrow_graph_reach_the_target():
    graph = easee.unroll(ABSORBING, 100)
    outcomes = np.random.default_rng(0).random((len(graph), 12)) ** 4
    outcomes /= outcomes.sum(axis=1, keepdims=True)
    assert easee.balance(graph, outcomes=outcomes).gap <= 1e-9


def test_one_node_of_interest_far_away_reaches_the_target():
    graph = easee.unroll(priors.get("cardinal-grid"), 100)
    interest = np.zeros(len(graph), bool)
    interest[-1] = True
    assert easee.balance(graph, interest=interest).gap <= 1e-9


def test_rows_that_sum_to_slightly_more_than_1_do_not_lower_the_gap():
    policy = easee.compile(priors.get("catcher"), 100)
    noise = 1 + 0.02 * np.random.default_rng(0).standard_normal(policy.probabilities.shape)
    table = policy.probabilities * noise
    table /= np.maximum(table.sum(axis=1, keepdims=True), 1e-300)
    expected = easee.duality_gap(policy.graph, table)
    assert expected > 1e-6
    for other in (table * (1 + 5e-7), table.astype(np.float32)):
        assert easee.duality_gap(policy.graph, other) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    "weights",
    [
        [3898.4, 3.8e10, 3.3e9, 2.3e-7, 5.7e9],
        [6.21179664e-17, 2.98306697e-05, 7.87009886e-01, 1.71886183e-02, 1.95771665e-01],
        [6.89486364e-13, 6.13146331e-18, 1.55309475e-09, 9.40592284e-01, 5.94077148e-02],
        [2.89454451e-16, 2.58038967e-16, 5.48382959e-01, 1.05991200e-02, 4.41017921e-01],
        [1.09064059e-16, 6.80211671e-08, 5.29838544e-04, 9.99470093e-01, 3.72251547e-13],
    ],
)
def test_weights_over_many_orders_of_magnitude(weights):
    graph = easee.unroll(easee.Equivalences(list("abcd"), ["b ~ c c c c"]), 5)
    policy = easee.balance(graph, weights=weights)
    gap = easee.duality_gap(graph, policy.probabilities, weights=weights)
    assert policy.gap <= 1e-9 and gap == pytest.approx(policy.gap, abs=1e-12)


def test_shares_that_create_mass_have_no_gap_that_is_too_small():
    """These weights, over 14 orders of magnitude, end in a crossover with inaccurate shares."""
    graph = unroll(priors.get("rotation-grid-complete"), 6)
    weights = [9.21e9, 3.63e10, 8.83e-4, 1.77e-3, 6.09e-4, 7.34e10]
    assert balance(graph, weights=weights).gap <= 1e-9


@pytest.mark.parametrize(
    "seed",
    [
        73,
        107,  # no crossover: the interior-point method has to go on to a very small mu
        82,
        116,
    ],
)
def test_nodes_of_interest_whose_visits_underflow(seed):
    graph = unroll(Equivalences(["a", "b", "c"], ["a a ~ b b"]), 5)
    interest = np.random.default_rng(seed).random(len(graph)) < 0.5
    weights = [62.33138116506516, 572.8882932923404, 38.86418018650757, 0.2892931712459492, 1.73668]
    policy = balance(graph, weights=weights, interest=interest)
    assert_certified(policy, weights, interest)
    assert policy.gap <= 1e-9


@pytest.mark.parametrize("seed", [82, 116])
def test_newtons_method_divides_visits_by_large_numbers(seed, monkeypatch):
    """The optimal visits of some nodes are e^100 times smaller than the guess."""
    solved = []

    def recorded(*arguments):
        solved.append(potentials.solve_potentials(*arguments))
        return solved[-1]

    monkeypatch.setattr(crossover, "solve_potentials", recorded)
    graph = unroll(Equivalences(["a", "b", "c"], ["a a ~ b b"]), 5)
    interest = np.random.default_rng(seed).random(len(graph)) < 0.5
    weights = [62.33138116506516, 572.8882932923404, 38.86418018650757, 0.2892931712459492, 1.73668]
    balance(graph, weights=weights, interest=interest)
    assert solved and solved[-1] is not None


def test_nodes_that_only_a_negligible_weight_asks_for_are_visited():
    """Without the small weights, an optimal policy does not visit every node of their layers."""
    graph = unroll(priors.get("rotation-grid-complete"), 6)
    weights = [1.24e-16, 3.83e-19, 0.329, 2.21e-15, 1.96e-17, 0.671]
    policy = balance(graph, weights=weights)
    assert_certified(policy, weights)
    assert policy.gap <= 1e-9 and policy.visits.min() > 0
