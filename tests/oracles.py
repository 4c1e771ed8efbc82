"""Slow, simple implementations to check the fast ones against."""

import itertools
import warnings
from collections import defaultdict
from datetime import timedelta

import numpy as np

from easee.words.presentation import rules_of


def all_words(letters, length):
    for n in range(length + 1):
        yield from itertools.product(range(letters), repeat=n)


def brute_force_classes(letters, pairs, length):
    """Join all words up to a length by single rewriting steps (union-find)."""
    parent = {w: w for w in all_words(letters, length)}

    def find(w):
        while parent[w] != w:
            parent[w] = parent[parent[w]]
            w = parent[w]
        return w

    for word in list(parent):
        for u, v in itertools.chain(pairs, ((v, u) for u, v in pairs)):
            for i in range(len(word) - len(u) + 1):
                if word[i : i + len(u)] == u:
                    other = word[:i] + v + word[i + len(u) :]
                    if other in parent:
                        parent[find(word)] = find(other)
    return {w: find(w) for w in parent}


def graph_classes(graph, length):
    """Return the node of every word up to a length, by following successors."""
    nodes: dict[tuple[int, ...], int] = {}
    for word in all_words(len(graph.actions), length):
        nodes[word] = int(graph.successors[nodes[word[:-1]], word[-1]]) if word else 0
    return nodes


def refines(finer, coarser, words):
    """Return whether words in one class of `finer` are always in one class of `coarser`."""
    image: dict[object, object] = {}
    return all(image.setdefault(finer[w], coarser[w]) == coarser[w] for w in words)


def spheres(start, step, actions, depth):
    """Return the layer sizes of a breadth-first search."""
    seen, layer, sizes = {start}, [start], [1]
    for _ in range(depth):
        layer = list(dict.fromkeys(step(s, a) for s in layer for a in actions))
        layer = [s for s in layer if s not in seen]
        seen.update(layer)
        sizes.append(len(layer))
    return tuple(sizes)


def check_invariants(graph):
    """Check the invariants of every graph."""
    n, k = len(graph), len(graph.actions)
    assert graph.depths.shape == (n,) and graph.successors.shape == (n, k)
    assert graph.depths[0] == 0 and (np.diff(graph.depths) >= 0).all()
    assert sum(graph.layer_sizes) == n and len(graph.layer_sizes) == graph.depth + 1
    full = graph.depths == graph.depth
    assert (graph.successors[full] == -1).all() and (graph.successors[~full] >= 0).all()
    deeper = graph.depths[graph.successors[~full]] - graph.depths[~full][:, None]
    assert (deeper <= 1).all()
    assert (graph.forward[~full] == (deeper == 1)).all() and not graph.forward[full].any()
    # Nodes are numbered breadth first, in the order of their first edge.
    heads = [v for v in dict.fromkeys(graph.successors.ravel().tolist()) if v > 0]
    assert heads == list(range(1, n))
    for node in range(0, n, max(1, n // 50)):
        word = graph.word(node)
        assert len(word) == graph.depths[node] and graph.node(word) == node


def libsemigroups_congruence(letters, pairs, seconds=2.0):
    """Return libsemigroups' completion of a presentation, or None if it does not finish in time."""
    import libsemigroups_pybind11 as libsemigroups

    presentation = libsemigroups.Presentation(list(range(letters)))
    presentation.contains_empty_word(True)
    for u, v in pairs:
        libsemigroups.presentation.add_rule(presentation, list(u), list(v))
    theirs = libsemigroups.KnuthBendix(libsemigroups.congruence_kind.twosided, presentation)
    guard = libsemigroups.ReportGuard(False)  # print nothing, as long as it lives
    theirs.run_for(timedelta(seconds=seconds))
    del guard
    return theirs if theirs.finished() else None


def agrees_with_libsemigroups(omega, length, seconds=2.0):
    """Assert that both completions identify the same words; return False if one is unfinished."""
    rules = rules_of(omega.indexed)
    if not rules.confluent:
        return False
    letters, pairs = omega.indexed
    theirs = libsemigroups_congruence(letters, pairs, seconds)
    if theirs is None:
        return False
    words = list(all_words(letters, length))
    for word, other in zip(words, words[1:] + words[:1], strict=True):
        for twin in (other, word[::-1], word[1:], word[:-1], word[1:] + word[:1]):
            same = rules.reduce(word) == rules.reduce(twin)
            assert same == theirs.contains(list(word), list(twin))
    return True


MOVES = {"right": (1, 0), "left": (-1, 0), "up": (0, 1), "down": (0, -1)}
HEADINGS = [(0, 1), (1, 0), (0, -1), (-1, 0)]


def cardinal_step(state, action):
    return state[0] + MOVES[action][0], state[1] + MOVES[action][1]


def rotation_step(state, action):
    x, y, heading = state
    if action == "forward":
        return x + HEADINGS[heading][0], y + HEADINGS[heading][1], heading
    return x, y, (heading + (1 if action == "right" else -1)) % 4


# --- the flow problem ---------------------------------------------------------------------------


def step_distributions(graph, probabilities):
    """Yield p_1, ..., p_d as arrays (n,), by propagating the distribution step by step."""
    p = np.zeros(len(graph))
    p[0] = 1.0
    for _ in range(graph.depth):
        q = np.zeros(len(graph))
        for node in np.flatnonzero(p):
            if graph.ends[node]:
                q[node] += p[node]
            else:
                for action in np.flatnonzero(probabilities[node]):
                    q[graph.successors[node, action]] += p[node] * probabilities[node, action]
        p = q
        yield p.copy()


def plain_objective(graph, probabilities, weights=None, interest=None):
    weights = np.full(graph.depth, 1 / graph.depth) if weights is None else np.asarray(weights)
    weights = weights / weights.sum()
    chosen = np.ones(len(graph), bool) if interest is None else np.asarray(interest)
    total = 0.0
    for w, p in zip(weights, step_distributions(graph, probabilities), strict=True):
        mass = p[chosen & (p > 0)]
        total -= w * float(mass @ np.log(mass))
    return total


def plain_gap(graph, probabilities, weights=None, interest=None):
    """Return the duality gap by recursion over nodes, from its definition."""
    weights = np.full(graph.depth, 1 / graph.depth) if weights is None else np.asarray(weights)
    weights = weights / weights.sum()
    chosen = np.ones(len(graph), bool) if interest is None else np.asarray(interest)
    reward: defaultdict[int, float] = defaultdict(float)
    average = 0.0
    for w, p in zip(weights, step_distributions(graph, probabilities), strict=True):
        for node in range(len(graph)):
            if chosen[node] and p[node] > 0 and w > 0:
                reward[node] += w * (-np.log(p[node]) - 1)
                average += p[node] * w * (-np.log(p[node]) - 1)
    best = np.zeros(len(graph))
    for node in reversed(range(len(graph))):
        heads = graph.successors[node][graph.forward[node]]
        if heads.size:
            best[node] = max(reward[h] + best[h] for h in heads.tolist())
    return best[0] - average


def assert_certified(policy, weights=None, interest=None, tolerance=1e-9):
    """Check conservation, non-negativity and gap of a policy."""
    graph, table = policy.graph, policy.probabilities
    assert (table >= 0).all()
    assert not table[~graph.forward].any()
    rows = table.sum(axis=1)
    np.testing.assert_allclose(rows[~graph.ends], 1.0, atol=1e-12)
    assert not rows[graph.ends].any()
    reached = np.zeros(len(graph))
    reached[0] = 1.0
    for p in step_distributions(graph, table):
        assert abs(p.sum() - 1.0) < 1e-10
        reached = np.where(p > 0, p, reached)
    np.testing.assert_allclose(policy.visits, reached, rtol=1e-8, atol=1e-14)
    objective = plain_objective(graph, table, weights, interest)
    np.testing.assert_allclose(policy.entropy, objective, rtol=1e-9, atol=1e-12)
    assert policy.entropy <= policy.bound + 1e-9
    assert policy.gap <= tolerance
    assert plain_gap(graph, table, weights, interest) <= tolerance + 1e-12


def cvxpy_objective(graph, weights=None, interest=None):
    """Return the optimum of the flow problem by CVXPY and Clarabel, as in the paper."""
    import cvxpy as cp

    weights = np.full(graph.depth, 1 / graph.depth) if weights is None else np.asarray(weights)
    weights = weights / weights.sum()
    chosen = np.ones(len(graph), bool) if interest is None else np.asarray(interest)
    tails, actions = np.nonzero(graph.forward)
    heads = graph.successors[tails, actions]
    flow = cp.Variable(len(tails), nonneg=True)
    into = np.zeros((len(graph), len(tails)))
    into[heads, np.arange(len(tails))] = 1
    out = np.zeros((len(graph), len(tails)))
    out[tails, np.arange(len(tails))] = 1
    root = np.zeros(len(graph))
    root[0] = 1
    visits = into @ flow + root
    inner = ~graph.ends
    terms = []
    for t in range(1, graph.depth + 1):
        waiting = graph.ends & (graph.depths < t)
        nodes = np.flatnonzero(((graph.depths == t) | waiting) & chosen)
        if nodes.size and weights[t - 1] > 0:
            terms.append(weights[t - 1] * cp.sum(cp.entr(visits[nodes])))
    problem = cp.Problem(cp.Maximize(sum(terms)), [visits[inner] == (out @ flow)[inner]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "solution may be inaccurate"
        problem.solve(solver=cp.CLARABEL)
    return problem.value
