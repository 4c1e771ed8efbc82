import pytest

import easee

pytest.importorskip("matplotlib")


def test_dollar_signs_in_names_are_drawn_literally(tmp_path):
    from easee.viz import graph as draw

    omega = easee.commute("$x", "$\\frac{") | easee.commute("日", "本")
    draw.draw_graph(easee.compile(omega, 2), tmp_path / "graph.png")
    assert (tmp_path / "graph.png").stat().st_size > 0
