"""Setting matplotlib up and writing its pictures: one way for graphs and for figures."""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path
from typing import Any

from easee._utils.files import replacing
from easee.errors import ArgumentError, MissingExtraError

# Without dates and versions in it, the same picture gives the same file.
_METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
}


def pyplot() -> Any:
    """Return matplotlib's pyplot, set up for files."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "easee"
    return plt


def save(figure: Any, path: str | os.PathLike[str], **options: Any) -> Path:
    """Write a picture, all or nothing, close it, and return its path.

    Args:
        figure: of matplotlib.
        path: an `.svg`, `.png` or `.pdf` file.
        options: for `savefig`.
    """
    target = Path(path)
    kind = target.suffix.lstrip(".").lower()
    try:
        if kind not in _METADATA:
            raise ArgumentError(
                f"expected a file ending in .svg, .png or .pdf, found {str(path)!r}"
            )
        buffer = io.BytesIO()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph")  # a name in a script that the font lacks
            figure.savefig(buffer, format=kind, dpi=130, metadata=_METADATA[kind], **options)
    finally:
        pyplot().close(figure)
    with replacing(target) as file:
        file.write(buffer.getvalue())
    return target
