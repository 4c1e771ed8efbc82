import subprocess
import sys

import pytest

pytest.importorskip("matplotlib")

NO_SIDE_EFFECTS = """
import os, sys
environment = dict(os.environ)
import easee
assert not {"matplotlib", "torch"} & set(sys.modules)

import matplotlib
matplotlib.use("pdf")
matplotlib.rcParams.update({"lines.linewidth": 7.0, "svg.hashsalt": "mine"})
settings = dict(matplotlib.rcParams)

from easee.viz.files import save, subplots
from easee.viz.graph import draw_graph
for suffix in ("svg", "png", "pdf"):
    draw_graph(easee.compile(easee.commute("a", "b"), 2), f"graph.{suffix}")
    figure, panels = subplots(1, 2, figsize=(4, 2), layout="constrained", sharey=True)
    panels[0].plot([0, 1])
    save(figure, f"figure.{suffix}")

assert not {"matplotlib.pyplot", "torch"} & set(sys.modules)
assert matplotlib.get_backend() == "pdf"
assert dict(matplotlib.rcParams) == settings
assert dict(os.environ) == environment

import matplotlib.pyplot as plt
assert plt.get_fignums() == []
"""


@pytest.mark.slow
def test_plotting_changes_no_global_state(tmp_path):
    command = [sys.executable, "-c", NO_SIDE_EFFECTS]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert len(list(tmp_path.iterdir())) == 6


def test_open_pyplot_figures_survive(tmp_path):
    code = (
        "import matplotlib.pyplot as plt; plt.switch_backend('svg'); mine = plt.figure()\n"
        "from easee.viz.files import save, subplots\n"
        "save(subplots()[0], 'figure.png')\n"
        "assert plt.get_backend() == 'svg' and plt.get_fignums() == [1] and plt.gcf() is mine\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
