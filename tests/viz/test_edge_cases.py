import pytest

import easee

matplotlib = pytest.importorskip("matplotlib")


def test_dollar_signs_in_names_are_drawn_literally(tmp_path):
    from easee.viz import graph as draw

    omega = easee.commute("$x", "$\\frac{") | easee.commute("日", "本")
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        draw.draw_graph(easee.compile(omega, 2), tmp_path / "graph.svg")
    text = (tmp_path / "graph.svg").read_text()
    assert all(f">{name}</text>" in text for name in omega.actions)
