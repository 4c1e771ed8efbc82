import re
import subprocess
import sys

import numpy as np
import pytest

import easee
from easee import priors
from easee.viz.construction import Step, construction

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.patches import FancyArrowPatch  # noqa: E402

from easee.viz import graph as draw  # noqa: E402
from easee.viz.files import blank  # noqa: E402
from easee.viz.layout import lattice_points, lay_out  # noqa: E402

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


def picture_texts(path):
    """Return the texts of an SVG picture in which texts are not drawn as paths."""
    return re.findall(r">([^<>\n]+)</text>", path.read_text())


@pytest.fixture
def texts_of(tmp_path):
    def draw_texts(omega, depth, **options):
        with matplotlib.rc_context({"svg.fonttype": "none"}):
            draw.draw_graph(easee.compile(omega, depth), tmp_path / "graph.svg", **options)
        return picture_texts(tmp_path / "graph.svg")

    return draw_texts


def test_edges_are_labelled_and_widths_and_colours_explained(texts_of):
    omega = easee.noop("wait") | easee.Equivalences(["go", "stay"], ["stay ~ "])
    texts = texts_of(omega, 2, pruned=True)
    assert texts.count("go") == 3  # two edges and a node
    assert texts.count("wait, stay") == 2  # a loop for both actions, at each inner node
    assert any("width: flow, the share of visits" in text for text in texts)
    assert any("colour: visits" in text for text in texts)
    assert any("pruned" in text for text in texts)
    assert not any("pruned" in text for text in texts_of(omega, 2))


def test_boxes_do_not_overlap():
    for prior, depth in (("doorkey", 2), ("cardinal-grid", 4)):
        graph = easee.unroll(priors.get(prior), depth)
        labels = [" ".join(graph.word(node)) or "Λ" for node in range(len(graph))]
        layout = lay_out(graph, labels, 9)
        low, high = layout.centres - layout.sizes / 2, layout.centres + layout.sizes / 2
        apart = (high[:, None] < low[None]).any(axis=-1)
        assert (apart | apart.T | np.eye(len(graph), dtype=bool)).all()


def test_arrows_end_at_boxes():
    """The distance from the tip of an arrow to its box is within the width of the box's frame."""
    policy = easee.compile(priors.get("rotation-grid"), 2)
    graph = policy.graph
    layout = lay_out(graph, ["x"] * len(graph), 9)
    figure = blank(*layout.extent)
    panel = draw._panel(figure, graph, layout, 0, 0)
    head = int(graph.successors[0, 0])
    panel.draw_edge(0, head, "k", width=5.0)
    figure.draw_without_rendering()
    arrow = next(p for p in panel.axes.patches if isinstance(p, FancyArrowPatch))
    paths = arrow._get_path_in_displaycoord()[0]  # type: ignore[attr-defined]
    tip = max(float(path.vertices[:, 0].max()) for path in paths) / figure.dpi
    left = layout.centres[head, 0] - layout.sizes[head, 0] / 2
    assert -0.12 < tip - left < 0.02  # a mitred tip of a wide line goes beyond its path


@pytest.mark.parametrize(
    ("omega", "is_lattice"),
    [
        (priors.get("cardinal-grid"), True),
        (priors.get("catcher"), True),
        (priors.get("rotation-grid"), False),
        (easee.Equivalences(["a", "b"]), False),
        (easee.commute_all("a", "b", "c"), False),
        (easee.inverse("a", "b"), False),
    ],
)
def test_graphs_that_are_lattices_in_the_plane_are_drawn_as_such(omega, is_lattice):
    graph = easee.unroll(omega, 3)
    points = lattice_points(graph)
    assert (points is not None) == is_lattice
    if points is not None:
        tails, actions = np.nonzero(graph.successors >= 0)
        steps = points[graph.successors[tails, actions]] - points[tails]
        for action in range(len(graph.actions)):  # each action is the same step everywhere
            assert len(np.unique(steps[actions == action], axis=0)) == 1


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
    assert "pip install '.[plot]'" in run.stdout
