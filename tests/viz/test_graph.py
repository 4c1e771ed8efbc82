import subprocess
import sys

import numpy as np
import pytest

import easee
from easee import priors
from easee.viz.construction import Step, construction

matplotlib = pytest.importorskip("matplotlib")
from easee.viz import graph as draw  # noqa: E402

EXAMPLE = easee.Equivalences(["a1", "a2"], ["a1 a1 ~", "a2 a1 ~ a1 a2"])


def test_the_construction_equals_the_paper_s_figure_2():
    assert construction(easee.unroll(EXAMPLE, 2)) == [
        Step(0, 0, 1, new=True),
        Step(0, 1, 2, new=True),
        Step(1, 0, 0, new=False),  # a1 a1 ~ Λ
        Step(1, 1, 3, new=True),
        Step(2, 0, 3, new=False),  # a2 a1 ~ a1 a2
        Step(2, 1, 4, new=True),
        Step(1, 0, 0, new=False, pruned=True),
    ]


def test_nodes_and_edges_equal_those_of_the_paper_s_figure_1():
    graph = easee.unroll(priors.get("rotation-grid"), 3)
    assert graph.layer_sizes == (1, 3, 6, 13)
    turned = graph.node("left left")
    assert turned == graph.node("right right")
    incoming = np.argwhere(graph.successors == turned)
    assert [(graph.word(v), graph.actions[a]) for v, a in incoming] == [
        (("left",), "left"),
        (("right",), "right"),
    ]
    assert not graph.forward[graph.node("left"), graph.actions.index("right")]
    # After two turns only forward leads to a new node.
    assert graph.forward[turned].tolist() == [True, False, False]


@pytest.mark.parametrize(
    "suffix",
    ["svg", *(pytest.param(suffix, marks=pytest.mark.slow) for suffix in ("png", "pdf"))],
)
def test_pictures_are_written_in_every_format(tmp_path, suffix):
    omega = priors.get("rotation-grid")
    policy = easee.compile(omega, 3)
    draw.draw_graph(policy, tmp_path / f"graph.{suffix}", pruned=True)
    draw.draw_pipeline(omega, policy, tmp_path / f"pipeline.{suffix}")
    draw.draw_steps(easee.unroll(EXAMPLE, 2), tmp_path / f"steps.{suffix}")
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert len(sizes) == 3 and min(sizes) > 5000


def test_svg_shows_every_node_and_is_reproducible(tmp_path):
    policy = easee.compile(EXAMPLE, 2)
    paths = [tmp_path / "one.svg", tmp_path / "two.svg"]
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        for path in paths:
            draw.draw_graph(policy, path)
    text = paths[0].read_text()
    for node in range(len(policy.graph)):
        label = " ".join(policy.graph.word(node)) or "Λ"
        assert f">{label}</text>" in text
    assert text == paths[1].read_text()


def test_self_loops_can_be_drawn(tmp_path):
    policy = easee.compile(easee.noop("wait") | easee.Equivalences(["go"]), 2)
    draw.draw_graph(policy, tmp_path / "loop.png", pruned=True)
    draw.draw_graph(policy, tmp_path / "without.png")
    loop, without = ((tmp_path / f"{name}.png").read_bytes() for name in ("loop", "without"))
    assert loop != without


def test_graphs_with_empty_layers_can_be_drawn(tmp_path):
    policy = easee.compile(easee.power("flip", 2), 3)
    assert 0 in policy.graph.layer_sizes
    draw.draw_graph(policy, tmp_path / "flip.png")
    assert (tmp_path / "flip.png").stat().st_size > 5000


def test_too_large_graphs_and_unknown_formats_are_rejected(tmp_path):
    with pytest.raises(easee.ArgumentError, match="at most 400"):
        draw.draw_graph(easee.compile(priors.get("cardinal-grid"), 20), tmp_path / "x.png")
    with pytest.raises(easee.ArgumentError, match="at most 30"):
        draw.draw_steps(easee.unroll(priors.get("cardinal-grid"), 4), tmp_path / "x.png")
    with pytest.raises(easee.ArgumentError, match=".svg, .png or .pdf"):
        draw.draw_graph(easee.compile(EXAMPLE, 2), tmp_path / "x.bmp")
    assert not list(tmp_path.iterdir())


def test_missing_matplotlib_error_names_the_install_command():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import easee\nfrom easee.viz import graph as draw\n"
        "try: draw.draw_graph(easee.compile(easee.commute('a', 'b'), 2), 'x.png')\n"
        "except easee.MissingExtraError as error: print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'easee-rl[plot]'" in run.stdout
