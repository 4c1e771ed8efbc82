"""Where the nodes of a graph are drawn, in inches: in layers, or on a lattice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from easee.errors import ArgumentError
from easee.graph import LocalGraph
from easee.viz.files import require_matplotlib

MAX_NODES = 400  # larger graphs are unreadable
ARROW_ROOM = 0.85  # between the boxes of two layers
LATTICE_ROOM = 0.42  # between neighbouring boxes of a lattice
ROW = 0.16  # between the boxes of a layer
PADDING = 0.07  # between a label and its box
COMPASS = {"right": (1, 0), "left": (-1, 0), "up": (0, 1), "down": (0, -1)}
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Layout:
    """Centres (n, 2) and sizes (n, 2) of the boxes, the size of the picture, and its kind."""

    centres: Floats
    sizes: Floats
    extent: tuple[float, float]
    lattice: bool = False


def lay_out(
    graph: LocalGraph, labels: Sequence[str], font_size: float, *, lattice: bool = True
) -> Layout:
    """Place the nodes: on a lattice if the graph is one in the plane, otherwise in layers."""
    if len(graph) > MAX_NODES:
        raise ArgumentError(
            f"the graph has {len(graph):,} nodes, and at most {MAX_NODES} can be drawn: "
            "lower the depth"
        )
    sizes = np.array([_label_size(label, font_size) for label in labels]) + 2 * PADDING
    points = lattice_points(graph) if lattice else None
    if points is None:
        centres = _layers(graph, sizes)
    else:
        steps = sizes.max(axis=0) + LATTICE_ROOM
        # Wide labels leave room for long vertical arrows only if rows are apart as well.
        centres = points * (steps[0], max(steps[1], 0.6 * steps[0]))
    corner = (centres - sizes / 2).min(axis=0) - (0.25, 0.45)
    extent = (centres + sizes / 2).max(axis=0) - corner + (0.25, 0.45)
    return Layout(centres - corner, sizes, (extent[0], extent[1]), points is not None)


def lattice_points(graph: LocalGraph) -> Floats | None:
    """Return coordinates (n, 2) in which each action is a fixed step in the plane, if there are.

    That is so if the actions commute and have two directions up to inverses, as four moves of a
    grid. Otherwise the result is None.

    >>> from easee.graph import unroll
    >>> from easee.priors import get
    >>> lattice_points(unroll(get("cardinal-grid"), 2))[:5].tolist()
    [[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    >>> lattice_points(unroll(get("rotation-grid"), 3)) is None
    True
    """
    k = len(graph.actions)
    counts = np.zeros((len(graph), k), int)
    for node in range(1, len(graph)):
        for action in graph.word(node):
            counts[node, graph.actions.index(action)] += 1
    tails, actions = np.nonzero(graph.successors >= 0)
    heads = graph.successors[tails, actions]
    rows = np.unique(counts[tails] + np.eye(k, dtype=int)[actions] - counts[heads], axis=0)
    steps = _steps(rows, graph.actions)
    if steps is None:
        return None
    points = counts @ steps
    distinct = np.unique(np.round(points, 9), axis=0)
    return points if len(distinct) == len(graph) and graph.depth else None


def _steps(rows: NDArray[np.int_], actions: Sequence[str]) -> Floats | None:
    """Return the steps (k, 2) of actions that solve rows @ steps = 0, if there are two directions.

    Two of the actions are free. Those named right and up go right and up.
    """
    order = sorted(range(len(actions)), key=lambda i: actions[i] in ("right", "up"))
    pivots: dict[int, list[Fraction]] = {}
    for row in rows.tolist():
        values = [Fraction(x) for x in row]
        for column, pivot in pivots.items():
            values = [x - values[column] * y for x, y in zip(values, pivot, strict=True)]
        column = next((i for i in order if values[i]), -1)
        if column >= 0:
            values = [x / values[column] for x in values]
            for other, pivot in pivots.items():
                pairs = zip(pivot, values, strict=True)
                pivots[other] = [x - pivot[column] * y for x, y in pairs]
            pivots[column] = values
    free = [i for i in range(len(actions)) if i not in pivots]
    if len(free) != 2:
        return None
    steps = np.zeros((len(actions), 2))
    for i, unit in zip(free, ((1, 0), (0, 1)), strict=True):
        steps[i] = COMPASS.get(actions[i], unit)
    if abs(np.linalg.det(steps[free])) < 0.5:  # both along the same axis
        steps[free] = np.eye(2)
    for column, pivot in pivots.items():
        steps[column] = sum(-float(pivot[i]) * steps[i] for i in free)
    return steps


def _layers(graph: LocalGraph, sizes: Floats) -> Floats:
    """Return centres in columns by depth, from left to right; y follows the average parent."""
    centres = np.zeros((len(graph), 2))
    tails, actions = np.nonzero(graph.forward)
    heads = graph.successors[tails, actions]
    row = sizes[:, 1].max() + ROW
    x = sizes[0, 0] / 2
    for depth in range(1, graph.depth + 1):
        layer = np.flatnonzero(graph.depths == depth)
        if not layer.size:
            break
        previous = sizes[graph.depths == depth - 1, 0].max()
        x += (previous + sizes[layer, 0].max()) / 2 + ARROW_ROOM
        parents = [-centres[tails[heads == node], 1].mean() for node in layer]
        order = layer[np.argsort(np.round(parents, 9), kind="stable")]
        # Centre each layer, first word on top, and spread narrow layers so that trees fan out.
        spacing = row * (1 + 0.6 * (max(graph.layer_sizes) / layer.size - 1))
        centres[order, 1] = spacing * ((layer.size - 1) / 2 - np.arange(layer.size))
        centres[layer, 0] = x
    return centres


def _label_size(label: str, font_size: float) -> tuple[float, float]:
    """Return the width and height of a label in inches."""
    require_matplotlib()
    from matplotlib.textpath import TextPath

    width = TextPath((0, 0), label, size=font_size).get_extents().width if label.strip() else 0.0
    return max(width, 0.6 * font_size) / 72, 1.1 * font_size / 72
