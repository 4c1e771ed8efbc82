"""What the pictures of all figures have in common."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from easee.errors import MissingExtraError
from easee.experiments.statistics import Estimate
from easee.files import replacing

COLOURS = ("#1d3557", "#e76f51", "#2a9d8f", "#e9a23b", "#7b4ea3", "#8d99ae", "#c1121f", "#588157")
GREY = "#6c757d"


def pyplot() -> Any:
    """Return matplotlib's pyplot, set up for files."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "font.size": 10})
    return plt


def curve(axes: Any, x: Sequence[float], estimates: Sequence[Estimate], **style: Any) -> None:
    """Draw values with a band for their intervals."""
    (line,) = axes.plot(x, [e.value for e in estimates], markersize=4, linewidth=1.6, **style)
    lows, highs = [e.low for e in estimates], [e.high for e in estimates]
    axes.fill_between(x, lows, highs, color=line.get_color(), alpha=0.18, linewidth=0)


def save(figure: Any, path: Path) -> Path:
    """Write a picture, all or nothing, and return its path."""
    import matplotlib.pyplot as plt

    buffer = io.BytesIO()
    # Without the version of matplotlib in it, the same picture gives the same file.
    figure.savefig(buffer, format="png", dpi=130, metadata={"Software": None})
    plt.close(figure)
    with replacing(path) as file:
        file.write(buffer.getvalue())
    return path
