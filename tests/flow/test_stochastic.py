"""The stochastic case: nodes are overlapping distributions over states."""

import itertools
import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

import easee
from easee import Equivalences, ExplorationPolicy, balance, priors, unroll
from easee.envs.slippery import slippery_outcomes
from easee.flow.linalg.dense import gram, inverse_root, product
from easee.flow.linalg.laplacian import SingularError
from easee.flow.objective import StateEntropy, make_objective
from easee.flow.stochastic import time_expanded
from easee.flow.stochastic.block_tridiagonal import BlockTridiagonal
from tests.oracles import MOVES
from tests.state_oracles import assert_certified, plain_entropy, plain_gap, scaled
from tests.strategies import presentations

# --- by CVXPY ------------------------------------------------------------------------------------


def flow_variables(graph):
    """Return a CVXPY flow, its visits, and its constraints."""
    tails, actions = np.nonzero(graph.forward)
    heads = graph.successors[tails, actions]
    flow = cp.Variable(len(tails), nonneg=True)
    into = np.zeros((len(graph), len(tails)))
    into[heads, np.arange(len(tails))] = 1
    out = np.zeros((len(graph), len(tails)))
    out[tails, np.arange(len(tails))] = 1
    visits = into @ flow + np.eye(1, len(graph))[0]
    inner = ~graph.ends
    return flow, visits, [visits[inner] == (out @ flow)[inner]]


def mixtures_of(graph, visits, outcomes):
    for t in range(1, graph.depth + 1):
        holds = (graph.depths == t) | (graph.ends & (graph.depths < t))
        reached = outcomes[holds][:, (outcomes[holds] > 0).any(axis=0)]
        yield reached.T @ visits[np.flatnonzero(holds)]


def solve_quietly(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "solution may be inaccurate"
        problem.solve(solver=cp.CLARABEL)
    return problem.value


def cvxpy_entropy(graph, outcomes, weights=None):
    _, visits, conditions = flow_variables(graph)
    weighted = zip(scaled(graph, weights), mixtures_of(graph, visits, outcomes), strict=True)
    terms = [w * cp.sum(cp.entr(q)) for w, q in weighted if w > 0]
    return solve_quietly(cp.Problem(cp.Maximize(sum(terms)), conditions))


# --- random outcomes ------------------------------------------------------------------------------


@st.composite
def outcome_matrices(draw, nodes, most_states=6):
    """Draw few states, so that supports overlap, small fractions, and repeated rows."""
    states = draw(st.integers(1, most_states))
    part = st.sampled_from([0, 0, 1, 1, 2, 3, 0.01])
    row = st.lists(part, min_size=states, max_size=states).filter(any)
    kinds = draw(st.lists(row, min_size=1, max_size=8))
    chosen = draw(
        st.lists(st.integers(0, len(kinds) - 1), min_size=nodes, max_size=nodes).map(np.array)
    )
    rows = np.array(kinds, float)[chosen]
    return rows / rows.sum(axis=1, keepdims=True)


@st.composite
def problems(draw, most_nodes=80, most_states=6):
    """Draw a graph, outcomes and weights, some of them zero."""
    omega = draw(presentations())
    depth = draw(st.integers(1, 4))
    try:
        graph = unroll(omega, depth, max_nodes=most_nodes)
    except (easee.PriorError, easee.GraphTooLargeError):
        graph = unroll(priors.get("catcher"), depth)
    outcomes = draw(outcome_matrices(len(graph), most_states))
    some = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=depth, max_size=depth)
    weights = draw(st.none() | some.filter(any))
    return graph, outcomes, weights


def random_outcomes(graph, states, most, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.zeros((len(graph), states))
    for row in rows:
        size = rng.integers(1, most + 1)
        row[rng.choice(states, size, replace=False)] = rng.random(size) + 0.05
    return rows / rows.sum(axis=1, keepdims=True)


# --- the optimum ----------------------------------------------------------------------------------


@pytest.mark.slow
@given(problems())
@settings(max_examples=150)
def test_every_random_problem_is_certified(problem):
    graph, outcomes, weights = problem
    assert_certified(balance(graph, outcomes=outcomes, weights=weights), outcomes, weights)


@pytest.mark.slow
@given(problems(most_nodes=40))
@settings(max_examples=40)
def test_policies_are_as_good_as_cvxpy_s(problem):
    graph, outcomes, weights = problem
    policy = balance(graph, outcomes=outcomes, weights=weights)
    theirs = cvxpy_entropy(graph, outcomes, weights)
    assert policy.entropy == pytest.approx(theirs, abs=1e-5)  # Clarabel's own accuracy


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "depth", "states", "most"),
    [
        ("cardinal-grid", 8, 40, 5),
        ("rotation-grid", 5, 60, 3),
        ("rotation-grid-complete", 8, 50, 4),  # with dead ends
        ("doorkey", 4, 200, 3),
        ("catcher", 20, 30, 10),
        ("freeway", 5, 500, 3),
    ],
)
@pytest.mark.parametrize("kind", ["default", "last layer", "second half"])
def test_outcomes_on_ready_made_graphs_are_certified(name, depth, states, most, kind):
    graph = unroll(priors.get(name), depth)
    outcomes = random_outcomes(graph, states, most)
    weights = {
        "default": None,
        "last layer": np.eye(depth)[-1],
        "second half": np.arange(depth) >= depth // 2,
    }[kind]
    policy = balance(graph, outcomes=outcomes, weights=weights)
    assert_certified(policy, outcomes, weights)
    if len(graph) < 200:
        theirs = cvxpy_entropy(graph, outcomes, weights)
        assert policy.entropy == pytest.approx(theirs, abs=1e-5)


def test_very_unlikely_outcomes_are_certified():
    """Probabilities go down to 1e-30, and some optimal visits underflow."""
    graph = unroll(priors.get("rotation-grid-complete"), 5)
    outcomes = random_outcomes(graph, 60, 4) ** 20
    outcomes /= outcomes.sum(axis=1, keepdims=True)
    assert_certified(balance(graph, outcomes=outcomes), outcomes)


def test_steps_after_the_last_move_count():
    """In a finite monoid nothing moves after three steps, but later steps still count."""
    graph = unroll(
        Equivalences(["a", "b"], ["a a ~ a", "b b ~ b", "a b a ~ a b", "b a b ~ b a"]), 7
    )
    assert graph.depths.max() < graph.depth
    outcomes = random_outcomes(graph, 4, 3)
    for weights in (None, [1, 0, 0, 0, 0, 2, 1]):
        policy = balance(graph, outcomes=outcomes, weights=weights)
        assert_certified(policy, outcomes, weights)
        assert policy.entropy == pytest.approx(cvxpy_entropy(graph, outcomes, weights), abs=1e-5)


def test_a_coin_flip_beats_a_certain_outcome():
    """Unused edges with zero reduced cost are the hard case of an interior-point method."""
    graph = unroll(Equivalences(["sure", "flip"]), 1)
    policy = balance(graph, outcomes=[[1, 0], [1, 0], [0.5, 0.5]])
    np.testing.assert_array_equal(policy.visits, [1, 0, 1])
    assert policy.entropy == pytest.approx(np.log(2), abs=1e-12)


def test_one_step_of_separate_outcomes_has_a_closed_form():
    """Without overlap J is H(p) plus the mean of the rows' entropies h, so p is e^h, scaled."""
    graph = unroll(Equivalences(["a", "b", "c"]), 1)
    outcomes = np.zeros((4, 6))
    outcomes[0, 0] = outcomes[1, 0] = 1
    outcomes[2, 1:3] = 0.5
    outcomes[3, 3:] = 1 / 3
    policy = balance(graph, outcomes=outcomes)
    np.testing.assert_allclose(policy.visits[1:], [1 / 6, 2 / 6, 3 / 6], atol=1e-9)
    assert policy.entropy == pytest.approx(np.log(6), abs=1e-12)


# --- agreement with the deterministic problem -----------------------------------------------------


@pytest.mark.parametrize("name", ["cardinal-grid", "rotation-grid-complete", "freeway"])
@pytest.mark.parametrize("weights", [None, [0, 1, 2, 0, 1, 3]])
def test_separate_outcomes_do_not_change_the_policy(name, weights):
    graph = unroll(priors.get(name), 6)
    ordinary = balance(graph, weights=weights)
    chances = [0.7, 0.2, 0.1]
    for outcomes in (sparse.eye_array(len(graph)), np.kron(np.eye(len(graph)), chances)):
        policy = balance(graph, outcomes=outcomes, weights=weights)
        np.testing.assert_array_equal(policy.probabilities, ordinary.probabilities)
        np.testing.assert_array_equal(policy.visits, ordinary.visits)
        own = 0.0 if sparse.issparse(outcomes) else -sum(x * np.log(x) for x in chances)
        assert policy.entropy == pytest.approx(ordinary.entropy + own, abs=1e-12)
        assert_certified(policy, sparse.csr_array(outcomes).toarray(), weights)


def test_outcomes_of_different_steps_may_overlap():
    """Only states of the same step matter: a state that is reached again counts again."""
    graph = unroll(priors.get("catcher"), 6)
    column = np.arange(len(graph)) - np.searchsorted(graph.depths, graph.depths)
    outcomes = np.eye(7)[column]
    policy = balance(graph, outcomes=outcomes)
    np.testing.assert_array_equal(policy.probabilities, balance(graph).probabilities)
    assert policy.bound == pytest.approx(np.mean(np.log(np.arange(2, 8))))


def test_the_stochastic_solver_agrees_with_the_deterministic_one():
    """The outcomes overlap slightly, so that the stochastic solver is used."""
    for name, depth in (("rotation-grid-complete", 8), ("cardinal-grid", 8), ("freeway", 5)):
        graph = unroll(priors.get(name), depth)
        outcomes = np.hstack([np.eye(len(graph)) * (1 - 1e-12), np.full((len(graph), 1), 1e-12)])
        assert isinstance(make_objective(graph, outcomes=outcomes), StateEntropy)
        policy, ordinary = balance(graph, outcomes=outcomes), balance(graph)
        np.testing.assert_allclose(policy.visits, ordinary.visits, rtol=1e-6, atol=1e-9)
        used = ordinary.visits > 1e-6
        np.testing.assert_allclose(
            policy.probabilities[used], ordinary.probabilities[used], atol=1e-6
        )


# --- choice among the optimal flows ---------------------------------------------------------------


def test_nodes_with_the_same_outcomes_share_evenly():
    graph = unroll(Equivalences(["a", "b", "c"]), 1)
    policy = balance(graph, outcomes=[[1, 0], [1, 0], [1, 0], [0, 1]])
    np.testing.assert_allclose(policy.visits, [1, 0.25, 0.25, 0.5], atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_flow_has_the_largest_path_entropy(seed):
    graph = unroll(priors.get("cardinal-grid"), 3)
    rng = np.random.default_rng(seed)
    outcomes = random_outcomes(graph, 5, 3, seed)[rng.integers(0, 8, len(graph))]
    policy = balance(graph, outcomes=outcomes)
    flow, visits, conditions = flow_variables(graph)
    for q, best in zip(
        mixtures_of(graph, visits, outcomes),
        mixtures_of(graph, policy.visits, outcomes),
        strict=True,
    ):
        conditions.append(q == best)
    tails, actions = np.nonzero(graph.forward)
    # The entropy of a path is the sum over its edges of F log(F / p), p being the tail's mass.
    paths = -cp.sum(cp.rel_entr(flow, visits[tails]))
    solve_quietly(cp.Problem(cp.Maximize(paths), conditions))
    ours = policy.visits[tails] * policy.probabilities[tails, actions]
    np.testing.assert_allclose(ours, flow.value, atol=3e-4)
    value = -sum(f * np.log(f / policy.visits[t]) for f, t in zip(ours, tails, strict=True) if f)
    assert value >= paths.value - 1e-5


@pytest.mark.slow
@given(problems(), st.randoms(use_true_random=False))
def test_policies_do_not_depend_on_the_order_of_actions_and_states(problem, random):
    graph, outcomes, weights = problem
    assume(graph.exact)
    turned = _turned(graph)
    other = np.array([turned.node(graph.word(node)) for node in range(len(graph))])
    shuffled = list(range(outcomes.shape[1]))
    random.shuffle(shuffled)
    permuted = np.empty_like(outcomes)
    permuted[other] = outcomes[:, shuffled]
    one = balance(graph, outcomes=outcomes, weights=weights)
    two = balance(turned, outcomes=permuted, weights=weights)
    np.testing.assert_allclose(two.visits[other], one.visits, atol=1e-6)
    flow = one.visits[:, None] * one.probabilities
    np.testing.assert_allclose(
        (two.visits[:, None] * two.probabilities)[other][:, ::-1], flow, atol=1e-6
    )


def _turned(graph):
    """Return the graph with its actions in reverse order and nodes breadth first."""
    order, seen = [0], {0}
    for node in order:
        for head in graph.successors[node][::-1].tolist():
            if head >= 0 and head not in seen:
                order.append(head)
                seen.add(head)
    place = np.argsort(order)
    successors = graph.successors[order][:, ::-1]
    return easee.LocalGraph(
        graph.actions[::-1],
        graph.depth,
        graph.depths[order],
        np.where(successors < 0, -1, place[successors]).astype(np.int32),
        graph.exact,
    )


# --- the slippery grid ----------------------------------------------------------------------------


def test_slippery_outcomes_equal_brute_force():
    graph = unroll(priors.get("cardinal-grid"), 3)
    outcomes = slippery_outcomes(graph, 0.3).toarray().reshape(len(graph), 7, 7)
    for node in range(len(graph)):
        expected = np.zeros((7, 7))
        word = graph.word(node)
        for taken in itertools.product(MOVES, repeat=len(word)):
            x, y = np.sum([MOVES[name] for name in taken], axis=0) if taken else (0, 0)
            chance = 1.0
            for meant, name in zip(word, taken, strict=True):
                chance *= 0.3 / 4 + 0.7 * (meant == name)
            expected[3 + x, 3 + y] += chance
        np.testing.assert_allclose(outcomes[node], expected, atol=1e-15)


@pytest.mark.parametrize("name", ["cardinal-right-left", "cardinal-all-commute", "cardinal-grid"])
def test_any_valid_prior_of_the_grid_is_accepted(name):
    graph = unroll(priors.get(name), 3)
    outcomes = slippery_outcomes(graph, 0.5)
    np.testing.assert_allclose(outcomes.sum(axis=1), 1.0, atol=1e-14)
    assert_certified(balance(graph, outcomes=outcomes), outcomes.toarray())


def test_invalid_slippery_arguments_are_rejected():
    grid = unroll(priors.get("cardinal-grid"), 2)
    for slip in (-0.1, 1.1, np.nan, "much"):
        with pytest.raises(easee.ArgumentError, match="slip between 0 and 1"):
            slippery_outcomes(grid, slip)
    with pytest.raises(easee.ArgumentError, match="actions right, left, up, down"):
        slippery_outcomes(unroll(priors.get("rotation-grid"), 2), 0.1)
    with pytest.raises(easee.ArgumentTypeError, match="LocalGraph, found str"):
        slippery_outcomes("grid", 0.1)
    there_and_back = Equivalences(["right", "left", "up", "down"], ["right left ~ up down"])
    with pytest.raises(easee.ArgumentError, match="same moves"):
        slippery_outcomes(unroll(there_and_back, 2), 0.1)


# By depth and slip: entropy of the cells under the ordinary policy, and with outcomes.
MEASURED = {
    (4, 0.1): (2.340443, 2.340837),
    (4, 0.3): (2.385190, 2.392208),
    (6, 0.1): (2.744857, 2.745335),
    (6, 0.3): (2.828315, 2.836130),
    (10, 0.1): (3.324692, 3.325454),
    (10, 0.3): (3.467242, 3.477185),
}


@pytest.mark.parametrize(("depth", "slip"), MEASURED)
def test_outcomes_improve_on_the_ordinary_policy(depth, slip):
    graph = unroll(priors.get("cardinal-grid"), depth)
    outcomes = slippery_outcomes(graph, slip)
    ordinary, policy = balance(graph), balance(graph, outcomes=outcomes)
    before = make_objective(graph, outcomes=outcomes).value(ordinary.visits)
    assert before < policy.entropy < policy.bound
    assert before + easee.duality_gap(graph, ordinary.probabilities, outcomes=outcomes) >= (
        policy.entropy
    )
    np.testing.assert_allclose((before, policy.entropy), MEASURED[depth, slip], atol=1e-6)
    assert_certified(policy, outcomes.toarray())


def test_outcomes_without_slips_do_not_change_the_policy():
    graph = unroll(priors.get("cardinal-grid"), 6)
    policy = balance(graph, outcomes=slippery_outcomes(graph, 0.0))
    np.testing.assert_array_equal(policy.probabilities, balance(graph).probabilities)
    assert policy.entropy == pytest.approx(balance(graph).entropy, abs=1e-12)


def test_when_every_move_slips_all_policies_are_equal():
    graph = unroll(priors.get("cardinal-grid"), 4)
    outcomes = slippery_outcomes(graph, 1.0)
    policy = balance(graph, outcomes=outcomes)
    assert policy.gap <= 1e-12
    even = make_objective(graph, outcomes=outcomes).value(balance(graph).visits)
    assert policy.entropy == pytest.approx(even, abs=1e-12)


@pytest.mark.parametrize("swap", [("right", "left"), ("right", "up", "left", "down")])
def test_the_symmetries_of_the_grid_are_kept(swap):
    graph = unroll(priors.get("cardinal-grid"), 10)
    policy = balance(graph, outcomes=slippery_outcomes(graph, 0.3))
    rename = {name: swap[(i + 1) % len(swap)] for i, name in enumerate(swap)}
    columns = [graph.actions.index(rename.get(name, name)) for name in graph.actions]
    for node in range(len(graph)):
        other = graph.node([rename.get(name, name) for name in graph.word(node)])
        assert policy.visits[other] == pytest.approx(policy.visits[node], abs=1e-8)
        if policy.visits[node] > 0:
            np.testing.assert_allclose(
                policy.probabilities[other][columns], policy.probabilities[node], atol=1e-8
            )


def test_larger_graphs_reach_the_target():
    graph = unroll(priors.get("cardinal-grid"), 18)
    outcomes = slippery_outcomes(graph, 0.2)
    assert balance(graph, outcomes=outcomes).gap <= 1e-9
    graph = unroll(priors.get("freeway"), 7)
    assert balance(graph, outcomes=random_outcomes(graph, 600, 3)).gap <= 1e-9


# --- certificates and files -----------------------------------------------------------------------


def test_duality_gap_bounds_the_distance_of_any_policy(rng):
    graph = unroll(priors.get("rotation-grid-complete"), 5)
    outcomes = random_outcomes(graph, 12, 4)
    best = balance(graph, outcomes=outcomes)
    for _ in range(20):
        table = rng.random(graph.successors.shape) * graph.forward
        table[~graph.ends] /= table[~graph.ends].sum(axis=1, keepdims=True)
        gap = easee.duality_gap(graph, table, outcomes=outcomes)
        assert best.entropy - plain_entropy(graph, table, outcomes) <= gap + 1e-9
        assert gap <= plain_gap(graph, table, outcomes) + 1e-12


def test_duality_gap_of_a_policy_that_misses_states_is_finite():
    graph = unroll(easee.commute("a", "b"), 3)
    outcomes = np.eye(len(graph))
    outcomes[-1] = outcomes[-2]
    always_a = np.zeros(graph.successors.shape)
    always_a[~graph.ends, 0] = 1
    gap = easee.duality_gap(graph, always_a, outcomes=outcomes)
    assert gap == pytest.approx(balance(graph, outcomes=outcomes).bound)


def test_missing_the_tolerance_raises_and_carries_the_policy():
    graph = unroll(priors.get("catcher"), 4)
    outcomes = random_outcomes(graph, 5, 3)
    with pytest.raises(easee.ConvergenceError, match="duality gap") as caught:
        balance(graph, outcomes=outcomes, tolerance=1e-30)
    assert_certified(caught.value.policy, outcomes)


def test_a_loaded_policy_equals_the_saved_one(tmp_path):
    graph = unroll(priors.get("cardinal-grid"), 4)
    policy = balance(graph, outcomes=slippery_outcomes(graph, 0.3))
    policy.save(tmp_path / "policy.npz")
    loaded = ExplorationPolicy.load(tmp_path / "policy.npz")
    assert (loaded.entropy, loaded.bound, loaded.gap) == (policy.entropy, policy.bound, policy.gap)
    np.testing.assert_array_equal(loaded.probabilities, policy.probabilities)
    np.testing.assert_array_equal(loaded.visits, policy.visits)
    easee.Explorer(loaded, n_envs=3, seed=0).sample()


def test_dense_and_sparse_outcomes_agree_and_are_not_modified():
    graph = unroll(priors.get("catcher"), 4)
    dense = random_outcomes(graph, 5, 3)
    kept = dense.copy()
    one = balance(graph, outcomes=dense)
    for kind in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        matrix = kind(dense)
        two = balance(graph, outcomes=matrix)
        np.testing.assert_array_equal(one.probabilities, two.probabilities)
        np.testing.assert_array_equal(matrix.toarray(), kept)
    np.testing.assert_array_equal(dense, kept)
    np.testing.assert_array_equal(
        balance(graph, outcomes=dense.tolist()).probabilities, one.probabilities
    )


@pytest.mark.parametrize("size", [1, 64, 65, 129, 200])
def test_dense_operations_agree_with_numpy(size, rng):
    a, b = rng.normal(size=(size, size + 30)), rng.normal(size=(size + 30, 70))
    a[: size // 2, :40] = 0.0  # tiles of zeros
    np.testing.assert_allclose(product(a, b), a @ b, atol=1e-12 * size)
    np.testing.assert_allclose(gram(a), a.T @ a, atol=1e-12 * size)
    matrix = a @ a.T + np.eye(size)
    root = inverse_root(matrix)
    np.testing.assert_array_equal(root, np.tril(root))
    np.testing.assert_allclose(root @ matrix @ root.T, np.eye(size), atol=1e-9)
    with pytest.raises(SingularError):
        inverse_root(matrix - 1000 * size * np.eye(size))


def test_the_block_tridiagonal_solution_satisfies_its_equations(rng):
    graph = unroll(priors.get("rotation-grid-complete"), 6)
    objective = make_objective(graph, outcomes=random_outcomes(graph, 9, 3))
    problem = time_expanded.time_expand(graph, objective)
    net, n = problem.network, problem.network.n_nodes
    conductance = 10.0 ** rng.uniform(-9, 9, len(net.tails))
    scale, pushed = rng.random(len(problem.weights)) + 0.1, rng.normal(size=len(net.tails))
    leak, residual = rng.normal(size=n), rng.normal(size=n)
    leak[net.layers[-2] :] = residual[0] = 0.0
    system = BlockTridiagonal(problem, conductance, scale, np.zeros(n))
    change = system.solve(pushed, leak, residual)
    drop = change.value[net.tails] - change.arrival[net.heads]
    into = np.bincount(net.heads, change.flow, n)
    out = np.bincount(net.tails, change.flow, n)
    inner = slice(0, net.layers[-2])
    np.testing.assert_allclose(change.slack, drop, atol=1e-8)
    np.testing.assert_allclose((into - out)[inner], leak[inner], atol=1e-6)
    bent = problem.matrix.T @ (scale * (problem.matrix @ into))
    np.testing.assert_allclose(
        change.arrival[1:], (change.value - bent + residual)[1:], atol=1e-6 * np.abs(bent).max()
    )


# --- bad input ------------------------------------------------------------------------------------


def bad(change):
    graph = unroll(easee.commute("a", "b"), 2)
    outcomes = np.full((len(graph), 4), 0.25)
    return graph, change(outcomes)


def put(value):
    def change(outcomes):
        outcomes[2, 1] = value
        return outcomes

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda o: o[:-1], r"shape \(6, states\).*found \(5, 4\)"),
        (lambda o: o[0], r"found \(4,\)"),
        (lambda o: o[:, :0], r"found \(6, 0\)"),
        (lambda o: o[None], r"found \(1, 6, 4\)"),
        (put(-0.25), "found -0.25 in the row of node 2"),
        (put(np.nan), "found nan in the row of node 2"),
        (put(np.inf), "found inf in the row of node 2"),
        (put(0.25 + 2e-9), r"sum to 1, found 1.000000002 in the row of node 2.*divide"),
        (put(0.0), "found 0.75 in the row of node 2"),
        (lambda o: sparse.csr_array(put(-1)(o)), "found -1 in the row of node 2"),
        (lambda o: sparse.csr_array(o[1:]), r"found \(5, 4\)"),
    ],
)
def test_invalid_outcomes_are_rejected(change, message):
    graph, outcomes = bad(change)
    with pytest.raises(easee.ArgumentError, match=message):
        balance(graph, outcomes=outcomes)
    with pytest.raises(easee.ArgumentError, match=message):
        easee.duality_gap(graph, balance(graph).probabilities, outcomes=outcomes)


@pytest.mark.parametrize(
    "outcomes", ["chances", 3, [[1], [0.5, 0.5]], [["a"]] * 6, np.full((6, 1), 1j), {}, object()]
)
def test_outcomes_that_are_not_a_matrix_are_rejected(outcomes):
    with pytest.raises(easee.ArgumentError, match="expected outcomes (as a matrix|of shape)"):
        balance(unroll(easee.commute("a", "b"), 2), outcomes=outcomes)


def test_rounding_errors_in_outcomes_are_accepted():
    graph, outcomes = bad(put(0.25 + 1e-10))
    assert_certified(balance(graph, outcomes=outcomes), outcomes)


def test_interest_and_outcomes_exclude_each_other():
    graph, outcomes = bad(lambda o: o)
    interest = np.ones(len(graph), bool)
    with pytest.raises(easee.ArgumentError, match="leave out `interest`"):
        balance(graph, outcomes=outcomes, interest=interest)
    table = balance(graph).probabilities
    with pytest.raises(easee.ArgumentError, match="leave out `interest`"):
        easee.duality_gap(graph, table, outcomes=outcomes, interest=interest)


def test_problems_that_do_not_fit_in_memory_are_rejected(monkeypatch):
    monkeypatch.setattr(time_expanded, "free_memory", lambda: 10_000)
    graph = unroll(priors.get("catcher"), 9)
    with pytest.raises(easee.GraphTooLargeError, match="up to 10: .*lower the depth"):
        balance(graph, outcomes=random_outcomes(graph, 5, 3))


def test_the_gap_may_rise_on_the_way_to_the_optimum():
    """Here it rises for six iterations of the interior-point method, from 4e-9 to 1e-4."""
    graph = unroll(Equivalences(list("abc"), ["b b a b ~ b b b a", "b b c b b a ~"]), 5)
    rng = np.random.default_rng(1158423899)
    states = int(rng.integers(1, 9))
    kinds = rng.choice([0, 0, 1, 2, 0.01], (int(rng.integers(1, 10)), states))
    rows = kinds[rng.integers(0, len(kinds), len(graph))]
    outcomes = rows / rows.sum(axis=1, keepdims=True)
    assert_certified(balance(graph, outcomes=outcomes), outcomes)
