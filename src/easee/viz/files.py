"""Matplotlib figures and image files, without global state: pyplot is never imported."""

import io
import os
import warnings
from pathlib import Path
from typing import Any

from easee._utils.extras import requires_extra
from easee._utils.files import replacing
from easee.errors import ArgumentError

# Without dates and versions, the same picture gives the same file.
_METADATA = {"svg": {"Date": None}, "png": {"Software": None}, "pdf": {"CreationDate": None}}


def subplots(
    rows: int = 1,
    columns: int = 1,
    *,
    figsize: tuple[float, float] | None = None,
    layout: Any = "constrained",
    **options: Any,
) -> tuple[Any, Any]:
    """Return a new figure and its axes, like `pyplot.subplots` but not registered with pyplot.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure = blank(*(figsize or (6.4, 4.8)))
    figure.set_layout_engine(layout)
    return figure, figure.subplots(rows, columns, **options)


def require_matplotlib() -> None:
    """Raise a MissingExtraError unless matplotlib is installed."""
    with requires_extra("plot", "matplotlib"):
        import matplotlib.figure  # noqa: F401


def blank(width: float, height: float) -> Any:
    """Return a new figure without axes, of a size in inches.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def save(figure: Any, path: str | os.PathLike[str], **options: Any) -> Path:
    """Write a picture atomically and return its path.

    Args:
        figure: matplotlib figure.
        path: an `.svg`, `.png` or `.pdf` file.
        options: further arguments of `savefig`.
    """
    import matplotlib

    target = Path(path)
    kind = target.suffix.lstrip(".").lower()
    if kind not in _METADATA:
        raise ArgumentError(f"expected a file ending in .svg, .png or .pdf, found {str(path)!r}")
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "easee"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the font may lack characters of a name
        figure.savefig(buffer, format=kind, metadata=_METADATA[kind], **({"dpi": 130} | options))
    with replacing(target) as file:
        file.write(buffer.getvalue())
    return target
