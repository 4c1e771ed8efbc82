"""The pictures of the experiments, drawn from committed results."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from easee.experiments.coverage import heatmap
from easee.experiments.deep import dqn
from easee.experiments.hard import ppo_sensitivity
from easee.experiments.harness.figure import Row
from easee.experiments.harness.store import Store
from easee.experiments.priors import prior_accuracy, wrong_priors
from easee.experiments.registry import FIGURES
from easee.viz.style import METHODS

pytest.importorskip("matplotlib")
Image = pytest.importorskip("PIL.Image")

RESULTS, DOCS = (Path(__file__).parents[2] / folder for folder in ("results", "docs"))
MOST_BYTES = 500_000


def committed(name):
    """Return a figure and its committed rows."""
    figure = FIGURES[name].population or FIGURES[name]
    return figure, Store(figure, RESULTS / (figure.folder or name)).read().rows


def draw(name, rows):
    (figure,) = FIGURES[name].draw(rows).values()
    return figure


def texts(axes):
    return [text.get_text() for text in axes.texts]


@pytest.mark.parametrize(
    "name", [name for name in FIGURES if (RESULTS / name / "runs.csv").exists()]
)
def test_one_arm_can_be_drawn(name):
    figure, rows = committed(name)
    few = [row for row in rows if row.arm == rows[0].arm and row.seed < 2]
    pictures = figure.draw(few)
    assert pictures and all(picture.axes for picture in pictures.values())


def test_committed_vector_graphics_are_small():
    files = list(RESULTS.glob("*/*.svg"))
    assert len(files) >= 19
    assert {
        file.name: file.stat().st_size for file in files if file.stat().st_size > MOST_BYTES
    } == {}


def test_a_picture_is_saved_as_png_and_svg(tmp_path):
    figure, rows = committed("boxing")
    paths = figure.plot(rows, tmp_path)
    assert [path.name for path in paths] == ["boxing.png", "boxing.svg"]
    first = paths[1].read_bytes()
    assert b"<svg" in first and figure.plot(rows, tmp_path)[1].read_bytes() == first


def test_a_panel_of_doorkey_has_two_bands():
    picture = draw("doorkey", [row for row in committed("doorkey")[1] if row.seed < 3])
    assert len(picture.axes) == 8
    for axes in picture.axes:
        assert len(axes.collections) == 2
        assert axes.get_lines()[0].get_color() == METHODS["uniform"].colour


def test_few_seeds_are_drawn_as_runs_and_many_as_intervals():
    figure, rows = committed("catcher")
    many, few = (
        figure.draw([row for row in rows if row.seed < seeds])["catcher"].axes
        for seeds in (dqn.FEW + 1, dqn.FEW)
    )
    assert [axes.get_title() for axes in few][0] == "epsilon-greedy"
    few = [axes for axes in few if axes.axison]
    assert all(len(axes.collections) == 2 for axes in many)
    assert len(many) == 2 and len(few) == 3 and not any(axes.collections for axes in few)
    assert len(few[1].get_lines()) == dqn.FEW + 2  # every run, and two means


def test_lines_are_labelled_at_their_ends():
    figure, rows = committed("depth")
    (axes,) = figure.draw(rows)["cardinalgrid"].axes
    assert axes.get_legend() is None
    assert {"uniform actions", "temporally extended,\nµ = 2"} <= set(texts(axes))
    assert axes.get_ylim()[1] < 8 < 13  # the ceiling is a sentence, not a line
    assert "ceiling: 13.2 (10,000 states)" in texts(axes)


def test_differences_are_between_runs_with_the_same_seed():
    name = wrong_priors.arm
    rows = [
        Row("wrong", name("doorkey", explorer, share=0.2), seed, 300, "mean reward", value)
        for explorer, values in (("uniform", (0.1, 0.5, 0.3)), ("easee", (0.3, 0.7)))
        for seed, value in enumerate(values)
    ]
    gains = wrong_priors.differences(rows, "doorkey")
    assert list(gains) == [0.2] and list(gains[0.2]) == ["easee"]
    assert gains[0.2]["easee"] == pytest.approx((0.2, 0.2, 0.2))
    assert wrong_priors.differences(rows, "coverage") == {}


def test_relations_that_never_fail_share_a_line():
    picture = draw("holding", committed("holding")[1])
    labels = [text.get_text() for text in picture.axes[0].get_yticklabels()]
    assert "CardinalGrid: all 8 relations" in labels and "right up ~ up right" not in labels
    assert "down down ~ down" in labels
    assert picture.axes[0].get_legend() is None  # it is above the data
    assert prior_accuracy._split("Boxing, screen") == ("Boxing", "screen")
    assert prior_accuracy._split("DoorKey, stock MiniGrid") == ("DoorKey, stock MiniGrid", "")


def test_the_animation_counts_cells_and_is_small():
    module = runpy.run_path(str(DOCS / "animation.py"))
    middle = 50 * 100 + 50
    counts = np.bincount([middle, middle, middle + 1], minlength=10_000).reshape(100, 100)
    pixels = module["colours"](counts)
    assert pixels.shape == (100, 100, 3) and (pixels != 255).any(axis=2).sum() == 2
    assert (pixels[49, 50] != 255).any() and (pixels[48, 50] != 255).any()  # one cell higher
    walks = {arm: np.full((101, 2), middle) for arm in heatmap.ARMS}
    assert module["frame"](walks, 3).size == (860, 524)
    with Image.open(DOCS / "images/exploration.gif") as gif:
        assert gif.n_frames == 101 and gif.info["loop"] == 0
    assert (DOCS / "images/exploration.gif").stat().st_size < 1_000_000


def test_the_sensitivity_of_ppo_is_drawn_from_any_arms():
    arms = [f"goal-31/{ppo_sensitivity.PLAIN}/0.1", "goal-31/floor 0.1/0.1", "doorkey/plain/0.03"]
    rows = [
        Row("hard-ppo-sensitivity", arm, seed, step, "success", 0.1 * seed)
        for arm in arms
        for seed in range(2)
        for step in (4_000, 200_000)
    ]
    panels = draw("hard-ppo-sensitivity", rows).axes
    assert [len(axes.get_lines()) for axes in panels] == [2, 1, 0]
    assert panels[1].get_lines()[0].get_color() == METHODS["plain"].colour
