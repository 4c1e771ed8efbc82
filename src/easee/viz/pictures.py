"""Pictures that notebooks show."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from easee.policy import ExplorationPolicy
from easee.viz.graph import draw_graph


@dataclass(frozen=True)
class Picture:
    """A picture as SVG text, which a notebook shows.

    Attributes:
        svg: the text.
    """

    svg: str

    def __repr__(self) -> str:
        return f"Picture({len(self.svg):,} characters of SVG)"

    def _repr_svg_(self) -> str:
        return self.svg


def draw_policy(
    policy: ExplorationPolicy, path: str | os.PathLike[str] | None, *, pruned: bool
) -> Picture:
    """Draw a policy on its graph, into a file if there is a path, and return the picture.

    Args:
        policy: policy to draw.
        path: an `.svg`, `.png` or `.pdf` file to write, or None.
        pruned: whether to show pruned edges, dashed.
    """
    if path is not None:
        draw_graph(policy, path, pruned=pruned)
        if Path(path).suffix.lower() == ".svg":
            return Picture(Path(path).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "policy.svg")
        draw_graph(policy, file, pruned=pruned)
        return Picture(file.read_text(encoding="utf-8"))
