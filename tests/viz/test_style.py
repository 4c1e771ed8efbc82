from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from easee.viz.style import METHODS, darker, names, shades, styled

SAME = {"epsilon-greedy": "uniform", "plain": "uniform", "usual": "easee"}  # drawn alike


def rgb(colour):
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])


def grey(colour):
    return rgb(colour) @ [0.299, 0.587, 0.114]


def test_two_methods_differ_in_colour_and_without_colour():
    looks = [METHODS[method] for method in METHODS if method not in SAME]
    for one, two in combinations(looks, 2):
        assert np.linalg.norm(rgb(one.colour) - rgb(two.colour)) > 60, (one, two)
        assert one.marker != two.marker
        assert one.line != two.line or abs(grey(one.colour) - grey(two.colour)) > 40, (one, two)


def test_one_method_has_one_look():
    for method, other in SAME.items():
        assert METHODS[method].called("x") == METHODS[other].called("x")


def test_names_can_be_replaced():
    assert names("zeta", "plain", plain="A2C") == {
        "zeta": "temporally extended, µ = 2",
        "plain": "A2C",
    }


@pytest.mark.parametrize("count", [1, 2, 6])
def test_shades_get_darker_and_have_different_markers(count):
    looks = shades([f"depth {i}" for i in range(count)])
    tones = [grey(look.colour) for look in looks]
    assert all(light - dark > 20 for light, dark in zip(tones, tones[1:], strict=False))
    assert len({look.marker for look in looks}) == len(looks) == count
    assert grey(darker(looks[0].colour)) < tones[0]


def test_style_is_local():
    matplotlib = pytest.importorskip("matplotlib")
    before = dict(matplotlib.rcParams)
    with styled():
        assert matplotlib.rcParams["font.size"] > before["font.size"]
    assert dict(matplotlib.rcParams) == before


labels = st.lists(st.tuples(st.floats(-1, 2), st.floats(0.01, 0.3)), min_size=1, max_size=8)


@given(labels)
def test_spread_labels_do_not_overlap_and_keep_their_order(pairs):
    pytest.importorskip("matplotlib")
    from easee.viz.labels import spread

    centres, heights = zip(*pairs, strict=True)
    moved = spread(centres, heights)
    order = sorted(range(len(pairs)), key=lambda i: (moved[i], centres[i]))
    assert [centres[i] for i in order] == sorted(centres)
    for below, above in zip(order, order[1:], strict=False):
        assert moved[above] - moved[below] >= (heights[above] + heights[below]) / 2 - 1e-6
    if all(abs(a - b) >= 0.31 for a, b in combinations(centres, 2)):
        assert moved == pytest.approx(centres)
