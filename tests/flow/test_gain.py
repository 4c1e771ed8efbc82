import math

import numpy as np
import pytest

import easee
from easee.flow.gain import gain
from easee.flow.growth import growth


def brute_force_entropy(graph, choose):
    """Return the entropy of the node at a random step, by following all words."""
    k, d = len(graph.actions), graph.depth
    mass = np.zeros(len(graph))
    layer: dict[tuple[str, ...], float] = {(): 1.0}
    for _ in range(d + 1):
        for word, p in layer.items():
            mass[graph.node(word)] += p / (d + 1)
        longer = {}
        for word, p in layer.items():
            for a in range(k) if len(word) < d else ():
                longer[(*word, graph.actions[a])] = p * choose(graph.node(word), a)
        layer = {word: p for word, p in longer.items() if p}
    return -sum(p * math.log(p) for p in mass if p)


@pytest.mark.parametrize(("name", "depth"), [("cardinal-grid", 4), ("rotation-grid", 5)])
def test_gain_equals_that_of_all_words(name, depth):
    policy = easee.compile(easee.priors.get(name), depth)
    graph = policy.graph
    found = gain(graph, policy.visits)
    assert found is not None
    k = len(graph.actions)
    uniform = brute_force_entropy(graph, lambda node, a: 1 / k)
    ours = brute_force_entropy(graph, lambda node, a: policy.probabilities[node, a])
    assert found.uniform == pytest.approx(math.exp(uniform))
    assert found.policy == pytest.approx(math.exp(ours))
    assert found.times > 1.5
    # The policy's own J is the same transformation of its entropy.
    j = (ours - math.log(depth + 1)) * (depth + 1) / depth
    assert j == pytest.approx(policy.entropy)
    assert found.uniform_entropy < policy.entropy


def test_without_equivalences_uniform_actions_are_optimal():
    policy = easee.compile(easee.Equivalences(["a", "b"]), 6)
    found = gain(policy.graph, policy.visits)
    assert found is not None and found.times == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("name", "depth", "start"),
    [
        ("cardinal-grid", 20, "layers grow like depth^1.0"),
        ("cardinal-grid", 2, "the last layer has 8 nodes"),
        ("rotation-grid", 10, "layers grow 2.1"),
        ("catcher", 30, "layers grow like depth^"),
    ],
)
def test_growth_is_told(name, depth, start):
    assert growth(easee.unroll(easee.priors.get(name), depth)).startswith(start)


def test_the_deepest_graph_is_estimated_well(monkeypatch):
    monkeypatch.setattr("easee.flow.growth.most_nodes", lambda n_actions: 30_000)
    for name, depth in (("rotation-grid", 7), ("cardinal-grid", 20), ("doorkey", 5)):
        omega = easee.priors.get(name)
        fits = easee.graph.deepest_that_fits(omega, 200, max_nodes=30_000)
        told = int(growth(easee.unroll(omega, depth)).split("about depth ")[1].split()[0])
        assert abs(told - fits) <= max(1, 0.1 * fits)
