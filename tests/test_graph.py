import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import easee
from easee import Equivalences, priors, unroll
from easee.words import closure
from easee.words.presentation import rules_of
from tests.oracles import (
    all_words,
    brute_force_classes,
    cardinal_step,
    check_invariants,
    graph_classes,
    refines,
    rotation_step,
    spheres,
)
from tests.strategies import presentations, unroll_or_reject


@pytest.mark.parametrize("name", priors.names())
def test_graphs_of_all_priors_have_the_invariants(name):
    check_invariants(unroll(priors.get(name), 3 if name == "boxing" else 5))


@given(presentations(), st.integers(1, 4))
def test_quotients_agree_with_brute_force(omega, depth):
    graph = unroll_or_reject(omega, depth)
    check_invariants(graph)
    letters, pairs = omega.indexed
    words = list(all_words(letters, depth))
    classes = graph_classes(graph, depth)
    assert refines(brute_force_classes(letters, pairs, depth), classes, words)
    for word, node in classes.items():
        assert graph.depths[node] <= len(word)
    if all(len(u) == len(v) for u, v in pairs):  # derivations then need no longer words
        assert graph.exact
        assert refines(classes, brute_force_classes(letters, pairs, depth), words)


@given(presentations(), st.integers(1, 4), st.integers(0, 2))
def test_closure_is_sound_and_finds_all_short_derivations(omega, depth, slack):
    letters, pairs = omega.indexed
    closed = closure.close(letters, pairs, depth, slack=slack)
    words = list(all_words(letters, depth))
    nodes = {(): 0}
    for word in words[1:]:
        nodes[word] = int(closed.successors[nodes[word[:-1]], word[-1]])
    horizon = depth + slack
    assert refines(brute_force_classes(letters, pairs, depth), nodes, words)
    rules = rules_of(omega.indexed)
    if rules.confluent:
        normal = {word: rules.reduce(word) for word in words}
        assert refines(nodes, normal, words)
        if closed.exact:
            assert refines(normal, nodes, words)
    elif letters**horizon < 5000 and not closed.exact:
        assert refines(nodes, brute_force_classes(letters, pairs, horizon), words)


@given(presentations(most_letters=2), st.integers(1, 5))
def test_closure_and_completion_give_the_same_graph(omega, depth):
    assume(rules_of(omega.indexed).confluent)
    graph = unroll_or_reject(omega, depth)
    letters, pairs = omega.indexed
    closed = closure.close(letters, pairs, depth, slack=6)
    assert len(closed.depths) >= len(graph)
    if closed.exact:
        assert tuple(np.bincount(closed.depths, minlength=depth + 1)) == graph.layer_sizes


# --- groups and monoids with known spheres ------------------------------------------------------


def test_cardinal_grid_has_the_spheres_of_the_grid_to_depth_100():
    graph = unroll(priors.get("cardinal-grid"), 100)
    assert graph.exact and len(graph) == 20_201
    assert graph.layer_sizes == (1, *(4 * t for t in range(1, 101)))


def test_complete_rotation_grid_has_the_spheres_of_the_grid_to_depth_40():
    omega = priors.get("rotation-grid-complete")
    graph = unroll(omega, 40)
    assert graph.layer_sizes == spheres((0, 0, 0), rotation_step, omega.actions, 40)
    assert graph.layer_sizes[6:] == tuple(16 * t - 40 for t in range(6, 41))
    assert not graph.exact and graph.stable


@pytest.mark.parametrize(
    ("name", "step", "start"),
    [
        ("cardinal-grid", cardinal_step, (0, 0)),
        ("rotation-grid-complete", rotation_step, (0, 0, 0)),
    ],
)
def test_nodes_are_the_states_of_the_real_grid(name, step, start):
    graph = unroll(priors.get(name), 10)
    state = {0: start}
    for node in range(len(graph)):
        for action, name in enumerate(graph.actions):
            head = int(graph.successors[node, action])
            if head >= 0:
                next_state = step(state[node], name)
                assert state.setdefault(head, next_state) == next_state
    assert len(set(state.values())) == len(graph)


def lattice(names):
    pairs = [easee.inverse(a, a.upper()) for a in names if a.islower()]
    return Equivalences(names, [easee.commute_all(names), *pairs])


MONOIDS = {
    "square lattice": (lattice(list("xXyY")), 8, lambda t: 4 * t),
    "cubic lattice": (lattice(list("xXyYzZ")), 7, lambda t: 4 * t * t + 2),
    "hexagonal lattice": (
        lattice(list("aAbBcC")) | Equivalences(list("abc"), ["a b ~ c"]),
        7,
        lambda t: 6 * t,
    ),
    "free group on two": (
        Equivalences(list("xXyY"), [easee.inverse("x", "X"), easee.inverse("y", "Y")]),
        6,
        lambda t: 4 * 3 ** (t - 1),
    ),
    "bicyclic monoid": (Equivalences(["p", "q"], ["p q ~"]), 9, lambda t: t + 1),
    "free monoid": (Equivalences(["a", "b", "c"]), 6, lambda t: 3**t),
    "free commutative monoid": (
        easee.commute_all("a", "b", "c"),
        8,
        lambda t: (t + 1) * (t + 2) // 2,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MONOIDS)
@pytest.mark.parametrize("engine", ["completion", "closure"])
def test_layer_sizes_of_known_monoids_are_correct(name, engine):
    omega, depth, size = MONOIDS[name]
    expected = (1, *(size(t) for t in range(1, depth + 1)))
    if engine == "completion":
        graph = unroll(omega, depth)
        assert graph.exact and graph.layer_sizes == expected
    else:
        letters, pairs = omega.indexed
        closed = closure.close(letters, pairs, depth)
        assert tuple(np.bincount(closed.depths)) == expected and closed.stable


def test_the_torus_has_the_spheres_of_its_cayley_graph():
    omega = easee.commute("a", "b") | easee.power("a", 5) | easee.power("b", 4)
    graph = unroll(omega, 12)
    step = lambda s, a: ((s[0] + (a == "a")) % 5, (s[1] + (a == "b")) % 4)  # noqa: E731
    assert graph.exact and len(graph) == 20
    assert graph.layer_sizes == spheres((0, 0), step, "ab", 12)
    assert closure.close(*omega.indexed, 12).exact


def test_the_dihedral_group_has_the_spheres_of_its_cayley_graph():
    omega = Equivalences(["r", "s"], [easee.power("r", 7), "s s ~", "s r s r ~"])
    graph = unroll(omega, 10)
    step = lambda e, a: ((e[0] + (-1) ** e[1]) % 7, e[1]) if a == "r" else (e[0], 1 - e[1])  # noqa: E731
    assert graph.exact and len(graph) == 14
    assert graph.layer_sizes == spheres((0, 0), step, "rs", 10)


def test_the_symmetric_group_on_five_has_the_known_layer_sizes():
    swaps = list("abcd")
    braid = ["a b a ~ b a b", "b c b ~ c b c", "c d c ~ d c d"]
    apart = ["a c ~ c a", "a d ~ d a", "b d ~ d b"]
    graph = unroll(Equivalences(swaps, [*(f"{s} {s} ~" for s in swaps), *braid, *apart]), 12)
    assert graph.layer_sizes == (1, 4, 9, 15, 20, 22, 20, 15, 9, 4, 1, 0, 0)


def test_layer_sizes_of_the_games_equal_those_of_the_paper():
    boxing = unroll(priors.get("boxing"), 4)
    assert boxing.layer_sizes == (1, 18, 308, 5260, 89824)
    assert unroll(priors.get("freeway"), 6).layer_sizes == (1, 3, 7, 17, 41, 99, 239)
    assert unroll(priors.get("catcher"), 30).layer_sizes == tuple(range(1, 32))


# --- closure -------------------------------------------------------------------------------------

ONE_TURN = {
    "square": [easee.power("T", 4), "F T T F T T ~", "F T F T T T ~ T F T T T F"],
    "hexagonal": [
        easee.power("T", 6),
        "F T T T F T T T ~",
        "F T F T T T T T ~ T F T T T T T F",
        "F T T F T T F T T ~",
    ],
}


@pytest.mark.parametrize("name", ONE_TURN)
def test_closure_gives_the_same_layers_at_every_depth(name):
    omega = Equivalences(["F", "T"], ONE_TURN[name])
    deep = unroll(omega, 10)
    assert deep.stable
    for depth in range(1, 10):
        graph = unroll(omega, depth)
        assert graph.stable and graph.layer_sizes == deep.layer_sizes[: depth + 1]


def test_closure_uses_relations_derived_by_completion():
    omega = Equivalences(["a", "b"], ["b a a b ~"])
    graph = unroll(omega, 3)
    assert omega.equivalent("b a a", "a a b") is True
    assert graph.node("b a a") == graph.node("a a b")


def test_a_long_relation_does_not_make_closure_expensive():
    rotation = priors.get("rotation-grid-complete")
    graph = unroll(
        Equivalences([*rotation.actions, "spin"], [rotation, easee.power("spin", 16)]), 3
    )
    assert len(graph) == 62
    assert not graph.stable  # the slack is too small for the long relation


@pytest.mark.parametrize("depth", [5, 9, 12])
def test_max_nodes_counts_the_nodes_after_merging(depth):
    prior = priors.get("rotation-grid-complete")  # closure merges its nodes late
    totals = np.cumsum(unroll(prior, depth).layer_sizes)
    assert len(unroll(prior, depth, max_nodes=int(totals[-1]))) == totals[-1]
    with pytest.raises(easee.GraphTooLargeError, match=rf"depth {depth - 1} fits \({totals[-2]} "):
        unroll(prior, depth, max_nodes=int(totals[-1]) - 1)
    with pytest.raises(easee.GraphTooLargeError, match="no depth fits"):
        unroll(prior, depth, max_nodes=3)


# --- special relations ---------------------------------------------------------------------------


def test_many_commuting_actions_complete():
    graph = unroll(easee.commute_all([f"a{i}" for i in range(40)]), 2)
    assert graph.exact and graph.layer_sizes == (1, 40, 820)


def test_duplicated_actions_lead_to_the_same_node():
    graph = unroll(Equivalences(["a", "b", "c"], ["a ~ b"]), 3)
    assert graph.layer_sizes == (1, 2, 4, 8)
    assert (graph.successors[:7, 0] == graph.successors[:7, 1]).all()
    assert graph.forward[0].all()


def test_an_action_that_does_nothing_stays_at_its_node():
    graph = unroll(Equivalences(["wait", "go"], [easee.noop("wait")]), 4)
    assert graph.layer_sizes == (1, 1, 1, 1, 1)
    assert (graph.successors[:4, 0] == np.arange(4)).all()
    assert not graph.forward[:, 0].any()


def test_edges_within_a_layer_are_pruned():
    graph = unroll(priors.get("boxing"), 3)
    up, right = graph.node("UP"), graph.node("UPRIGHT")
    action = graph.actions.index("RIGHT")
    assert graph.successors[up, action] == right and graph.depths[right] == 1
    assert not graph.forward[up, action]


def test_a_finite_monoid_ends_in_dead_ends():
    graph = unroll(easee.power("a", 3), 5)
    assert graph.layer_sizes == (1, 1, 1, 0, 0, 0)
    assert graph.ends.tolist() == [False, False, True]


def test_letter_order_does_not_change_the_graph():
    omega = MONOIDS["hexagonal lattice"][0]
    graph = unroll(omega, 4)
    reversed_graph = unroll(Equivalences(omega.actions[::-1], [omega]), 4)
    assert graph.layer_sizes == reversed_graph.layer_sizes
    words = [graph.word(node) for node in range(len(graph))]
    assert len({reversed_graph.node(word) for word in words}) == len(graph)


# --- invalid arguments ---------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [0, -1, True, False])
def test_depths_out_of_range_are_rejected(depth):
    with pytest.raises(easee.ArgumentError, match="at least 1|whole number"):
        unroll(easee.commute("a", "b"), depth)


@pytest.mark.parametrize("depth", [2.5, "3", None, 2.0])
def test_depths_of_the_wrong_type_are_rejected(depth):
    with pytest.raises(TypeError, match="whole number"):
        unroll(easee.commute("a", "b"), depth)


def test_a_depth_may_be_a_numpy_integer():
    assert unroll(easee.commute("a", "b"), np.int64(3)).depth == 3


def test_priors_that_make_every_action_equivalent_to_nothing_are_rejected():
    for pairs in (["a ~", "b ~"], ["a ~", "a b ~"], ["a ~ b", "a a ~ a", "a b ~"]):
        with pytest.raises(easee.PriorError, match="nothing"):
            unroll(Equivalences(["a", "b"], pairs), 3)


def test_too_large_graphs_name_the_depth_that_fits():
    with pytest.raises(easee.GraphTooLargeError) as caught:
        unroll(priors.get("boxing"), 60)
    assert "layer" in str(caught.value) and "fits" in str(caught.value)
    with pytest.raises(easee.GraphTooLargeError, match="depth 4 fits .95,411 nodes"):
        unroll(priors.get("boxing"), 6, max_nodes=100_000)
    braids = Equivalences(["a", "b", "c"], ["a b a ~ b a b"])  # does not complete: closure
    assert not rules_of(braids.indexed).confluent
    with pytest.raises(easee.GraphTooLargeError, match=r"depth \d fits"):
        unroll(braids, 12, max_nodes=1000)


def test_invalid_words_and_nodes_are_rejected():
    graph = unroll(easee.commute("a", "b"), 2)
    with pytest.raises(easee.ArgumentError, match="at most 2 actions"):
        graph.node("a a a")
    with pytest.raises(easee.UnknownActionError, match="'c' in 'a c': expected one of: a, b"):
        graph.node("a c")
    with pytest.raises(easee.ArgumentError, match="node from 0 to 5"):
        graph.word(99)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda omega: unroll(omega, 4, slack=-2), "slack of at least 0"),
        (lambda omega: unroll(omega, 4, slack="a"), "slack as a whole number"),
        (lambda omega: unroll(omega, 4, max_nodes=0), "max_nodes of at least 1"),
        (lambda omega: unroll(omega, 10**30), "depth of at most 100,000"),
        (lambda omega: unroll(omega, 3).word(1.5), "node as a whole number"),
    ],
)
def test_invalid_arguments_are_rejected(call, message):
    with pytest.raises(easee.ArgumentError, match=message):
        call(easee.commute("a", "b"))


def test_unroll_requires_equivalences():
    with pytest.raises(TypeError, match="Equivalences"):
        unroll(["a"], 2)


def test_graphs_are_read_only():
    graph = unroll(easee.commute("a", "b"), 2)
    for array in (graph.depths, graph.successors, graph.forward, graph.ends):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
