"""How pictures look: the name, colour, line and marker of every method, and the fonts.

A method looks the same in all pictures. Colours are told apart by colour-blind readers (after Okabe
and Ito), and line and marker are a second cue, also in greyscale. EASEE is blue; several variants
of it in one picture are shades of blue.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from easee.viz.files import require_matplotlib

WIDTH = 8.0  # inches, of every picture, so that fonts have the same size on a slide
SMALL = 11.5  # points, of labels within a picture; the least that holds at half a slide
_FONTS: dict[Any, Any] = {
    "font.size": 13,
    "axes.titlesize": 13.5,
    "axes.labelsize": 13,
    "figure.titlesize": 14.5,
    "figure.labelsize": 12.5,
    "legend.fontsize": 12,
    "xtick.labelsize": 12,
    "ytick.labelsize": 12,
}
_LINES: dict[Any, Any] = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "lines.linewidth": 2.2,
    "lines.markersize": 6.5,
}
Line = str | tuple[int, tuple[float, ...]]  # a line style of matplotlib


@dataclass(frozen=True)
class Look:
    """How a method is drawn, and what it is called."""

    name: str
    colour: str
    line: Line = "-"
    marker: str = "o"

    @property
    def style(self) -> dict[str, Any]:
        """Colour and line, as arguments of matplotlib's `plot`."""
        return {"color": self.colour, "linestyle": self.line}

    def called(self, name: str) -> Look:
        """Return the same look with another name."""
        return replace(self, name=name)


_BASELINE = Look("uniform actions", "#707070", (0, (3, 1.2)), "s")
_EASEE = Look("EASEE", "#0072b2")
METHODS = {
    "uniform": _BASELINE,
    "epsilon-greedy": _BASELINE.called("epsilon-greedy"),
    "plain": _BASELINE.called("PPO"),
    "useful": Look("same knowledge, uniform moves", "#000000", (0, (1, 1)), "P"),
    "tabu": Look("tabu: never undo the last action", "#8a6d1b", (0, (1, 1.6)), "X"),
    "zeta": Look("temporally extended, µ = 2", "#e08e00", (0, (6, 1, 1.2, 1)), "^"),
    "count": Look("count bonus", "#009e73", (0, (7, 1.5)), "v"),
    "rnd": Look("random network distillation", "#c766a0", (0, (4, 1, 1, 1, 1, 1)), "D"),
    "easee": _EASEE,
    "usual": _EASEE.called("EASEE, usual prior"),
    "exact": Look("EASEE, exact prior", "#4aaae4", marker="<"),
    "discovered": Look("EASEE, discovered prior", "#a4133c", (0, (12, 1.5)), ">"),
}
_DARKEST, _LIGHTEST = (0, 45, 98), (138, 199, 236)  # red, green and blue of the shades
_MARKERS = "odhpv<*"


def names(*methods: str, **other: str) -> dict[str, str]:
    """Return the names of methods, and other names for some of them.

    >>> names("uniform", "count", uniform="epsilon-greedy")
    {'uniform': 'epsilon-greedy', 'count': 'count bonus'}
    """
    return {method: other.get(method, METHODS[method].name) for method in methods}


def shades(variants: Sequence[str]) -> list[Look]:
    """Return how variants of EASEE are drawn, from a light blue to a dark one.

    >>> [look.colour for look in shades(["depth 4", "depth 6", "depth 8"])]
    ['#8ac7ec', '#457aa7', '#002d62']
    """
    steps = max(len(variants) - 1, 1)
    return [
        Look(name, _mixed(i / steps if len(variants) > 1 else 1.0), marker=_MARKERS[i % 7])
        for i, name in enumerate(variants)
    ]


def _mixed(share: float) -> str:
    """Return the colour at a share of the way from the lightest to the darkest shade."""
    ends = zip(_LIGHTEST, _DARKEST, strict=True)
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in ends)


def darker(colour: str) -> str:
    """Return a darker tone of a colour, for text.

    >>> darker("#ff8000")
    '#c66300'
    """
    return "#" + "".join(f"{int(int(colour[i : i + 2], 16) * 0.78):02x}" for i in (1, 3, 5))


def styled() -> AbstractContextManager[None]:
    """Return a context in which pictures are drawn and saved with our fonts and lines.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    require_matplotlib()
    import matplotlib

    return matplotlib.rc_context(_FONTS | _LINES)
