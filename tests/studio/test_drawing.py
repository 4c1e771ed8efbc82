import numpy as np
import pytest

import easee
from easee.studio.drawing import MergedWords, draw, lay_out

ROTATION = easee.compile(easee.priors.get("rotation-grid"), 6)


def test_a_small_graph_has_a_mark_for_each_node():
    drawing = draw(ROTATION, lay_out(ROTATION))
    nodes = [mark["node"] for mark in drawing["marks"]]
    assert sorted(nodes) == list(range(len(ROTATION.graph)))
    assert drawing["grouped_layers"] == []
    for mark in drawing["marks"]:
        assert mark["visits"] == pytest.approx(ROTATION.visits[mark["node"]])
        assert ROTATION.graph.node(mark["word"]) == mark["node"]


@pytest.mark.parametrize("most", [60, 2_000])
def test_flow_is_conserved_between_marks_and_groups(most):
    drawing = draw(ROTATION, lay_out(ROTATION, most))
    marks, edges = drawing["marks"], np.array(drawing["edges"])
    visits = np.array([mark["visits"] for mark in marks])
    inflow = np.bincount(edges[:, 1].astype(int), edges[:, 2], len(marks))
    layers = np.array([mark["layer"] for mark in marks])
    assert inflow[layers > 0] == pytest.approx(visits[layers > 0])
    assert np.bincount(layers, visits) == pytest.approx(np.ones(7))


def test_large_layers_are_grouped_and_the_drawing_says_so():
    layout = lay_out(ROTATION, 60)
    drawing = draw(ROTATION, layout)
    assert len(drawing["marks"]) <= 60
    assert drawing["grouped_layers"] == [3, 4, 5, 6]
    sizes = np.bincount([m["layer"] for m in drawing["marks"] for _ in range(m.get("count", 1))])
    assert tuple(sizes) == ROTATION.graph.layer_sizes
    for number, mark in enumerate(drawing["marks"]):
        assert (layout.marks == number).sum() == mark.get("count", 1)


def test_places_are_within_the_layer_and_differ():
    places = lay_out(ROTATION).places
    for depth in range(7):
        layer = places[ROTATION.graph.depths == depth]
        assert len(set(layer)) == layer.size and (layer > 0).all() and (layer < 1).all()


def test_merged_words_lead_to_their_node():
    graph = easee.unroll(easee.Equivalences(["a", "b", "c"], ["a b ~ b a", "c c ~"]), 4)
    merged = MergedWords(graph)
    for node in range(len(graph)):
        words = merged.labels(node, 100)
        assert len(words) == merged.count(node)
        assert all(graph.node(list(word)) == node for word in words)  # names are single letters
    assert merged.labels(0, 100) == ["cc"]


def test_a_finite_graph_ends_before_its_depth():
    policy = easee.compile(easee.power("a", 3), 9)
    drawing = draw(policy, lay_out(policy))
    assert [mark["layer"] for mark in drawing["marks"]] == [0, 1, 2]
    assert drawing["marks"][-1]["end"]
