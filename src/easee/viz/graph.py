"""Pictures of local-dynamics graphs and policies (Figures 1 and 2 of the paper)."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from easee.errors import ArgumentError
from easee.graph import LocalGraph
from easee.policy import ExplorationPolicy
from easee.priors.equivalences import EMPTY, Equivalences
from easee.viz.construction import Step, construction
from easee.viz.files import save, subplots

MAX_NODES = 400  # larger graphs are unreadable
MAX_STEPS = 30
_ARROWS = {"forward": "↑", "up": "↑", "down": "↓", "left": "←", "right": "→"}
_TURNS = {"forward": "↑", "left": "↶", "right": "↷"}
_INK = "#222222"
_EDGE = "#5f6b7a"
_PRUNED = "#9aa0a6"
_HIGHLIGHT = "#c0392b"


def draw_graph(
    policy: ExplorationPolicy, path: str | os.PathLike[str], *, pruned: bool = False
) -> None:
    """Draw a policy on its graph, with layers from left to right and nodes coloured by visits.

    Args:
        policy: policy to draw.
        path: an `.svg`, `.png` or `.pdf` file to write.
        pruned: whether to show pruned edges, dashed.
    """
    graph = policy.graph
    positions = _positions(graph)
    figure, axes = subplots(figsize=_size(graph), layout=None)
    _draw_policy(_Panel(axes, graph, positions), policy, pruned=pruned)
    title = (
        f"{len(graph):,} nodes · entropy {policy.entropy:.4f} of at most {policy.bound:.4f} · "
        f"gap {policy.gap:.0e}"
    )
    axes.set_title(title, fontsize=11, color=_INK)
    save(figure, path, bbox_inches="tight")


def draw_steps(graph: LocalGraph, path: str | os.PathLike[str]) -> None:
    """Draw the construction of a small graph step by step (the paper's Figure 2)."""
    steps = construction(graph)
    if len(steps) > MAX_STEPS:
        raise ArgumentError(
            f"the construction has {len(steps)} steps, and at most {MAX_STEPS} can be drawn: "
            "lower the depth"
        )
    positions = _positions(graph)
    columns = min(4, len(steps) + 1)
    rows = math.ceil((len(steps) + 1) / columns)
    size = 2.9 * columns, 1.9 * rows
    figure, grid = subplots(rows, columns, figsize=size, layout=None, squeeze=False)
    for i, axes in enumerate(grid.flat):
        if i > len(steps):
            axes.set_axis_off()
            continue
        _draw_construction(_Panel(axes, graph, positions), steps[:i], highlight_last=True)
        axes.set_title(f"{i + 1}. {_caption(graph, steps[:i])}", fontsize=10, color=_INK)
    save(figure, path, bbox_inches="tight")


def draw_pipeline(
    omega: Equivalences, policy: ExplorationPolicy, path: str | os.PathLike[str]
) -> None:
    """Draw prior, graph and policy side by side (the paper's Figure 1)."""
    graph = policy.graph
    positions = _positions(graph)
    width, height = _size(graph)
    size, widths = (2.6 + 2 * width, height), [2.6, width, width]
    figure, (left, middle, right) = subplots(1, 3, figsize=size, layout=None, width_ratios=widths)
    _write_prior(left, omega)
    left.set_title("equivalences", fontsize=11, color=_INK)
    _draw_construction(_Panel(middle, graph, positions), construction(graph))
    middle.set_title(f"local-dynamics graph, depth {graph.depth}", fontsize=11, color=_INK)
    _draw_policy(_Panel(right, graph, positions), policy, probabilities=True)
    right.set_title("probabilities and visits", fontsize=11, color=_INK)
    save(figure, path, bbox_inches="tight")


@dataclass(frozen=True)
class _Panel:
    """Matplotlib axes that show a graph, with its nodes at `positions` (n, 2)."""

    axes: Any
    graph: LocalGraph
    positions: NDArray[np.float64]

    @property
    def crowded(self) -> bool:
        """Whether nodes must be small to fit into the largest layer."""
        return max(self.graph.layer_sizes) > 30

    def draw_edge(
        self, tail: int, head: int, colour: str, *, width: float = 1.0, pruned: bool = False
    ) -> None:
        """Draw an arrow between two nodes, dashed and bent if it is pruned."""
        start, end = self.positions[tail], self.positions[head]
        bend, margin = (0.35 if pruned else 0.0), (9.0 if self.crowded else 15.0)
        if tail == head:
            start, end, bend, margin = start + (-0.12, 0.2), end + (0.12, 0.2), -1.6, 2.0
        self.axes.annotate(
            "", xy=end, xytext=start, zorder=0 if pruned else 1,
            arrowprops=dict(
                arrowstyle="-|>", color=colour, lw=width, ls="--" if pruned else "-",
                connectionstyle=f"arc3,rad={bend}", mutation_scale=9 + width,
                shrinkA=margin, shrinkB=margin,
            ),
        )  # fmt: skip

    def draw_edge_label(self, tail: int, head: int, label: str) -> None:
        """Write a label onto an edge, closer to its tail."""
        position = 0.45 * self.positions[head] + 0.55 * self.positions[tail]
        box = dict(boxstyle="round,pad=0.1", facecolor="white", edgecolor="none", alpha=0.85)
        self._write(position, label, fontsize=8, color=_INK, bbox=box, zorder=2)

    def draw_node(
        self, node: int, label: str, fill: Any, *, shape: str, size: int = 9, ink: str = _INK
    ) -> None:
        """Draw a node as a label in a filled box."""
        box = dict(boxstyle=shape, facecolor=fill, edgecolor=_INK, lw=0.8)
        self._write(self.positions[node], label, fontsize=size, color=ink, bbox=box, zorder=3)

    def _write(self, position: NDArray[np.float64], text: str, **style: Any) -> None:
        self.axes.text(*position, text, ha="center", va="center", **style)

    def fit(self) -> None:
        """Fit the axes to the graph and hide their frame."""
        (left, bottom), (right, top) = self.positions.min(axis=0), self.positions.max(axis=0)
        self.axes.set(xlim=(left - 0.35, right + 0.45), ylim=(bottom - 0.7, top + 0.7))
        self.axes.set_axis_off()


def _positions(graph: LocalGraph) -> NDArray[np.float64]:
    """Return node coordinates (n, 2): x is the depth, y follows the average parent."""
    if len(graph) > MAX_NODES:
        raise ArgumentError(
            f"the graph has {len(graph):,} nodes, and at most {MAX_NODES} can be drawn: "
            "lower the depth"
        )
    positions = np.zeros((len(graph), 2))
    positions[:, 0] = graph.depths
    tails, actions = np.nonzero(graph.forward)
    heads = graph.successors[tails, actions]
    for depth in range(1, graph.depth + 1):
        layer = np.flatnonzero(graph.depths == depth)
        if not layer.size:
            break
        parents = [-positions[tails[heads == node], 1].mean() for node in layer]
        order = layer[np.argsort(np.round(parents, 9), kind="stable")]
        # Centre each layer, first word on top, and spread narrow layers so that trees fan out.
        spacing = 1 + 0.6 * (max(graph.layer_sizes) / layer.size - 1)
        positions[order, 1] = spacing * ((layer.size - 1) / 2 - np.arange(layer.size))
    return positions


def _size(graph: LocalGraph) -> tuple[float, float]:
    """Return the width and height of a picture in inches."""
    return 2.2 + 1.9 * graph.depth, min(40.0, max(3.2, 1.0 + 0.46 * max(graph.layer_sizes)))


def _draw_policy(
    panel: _Panel, policy: ExplorationPolicy, *, pruned: bool = False, probabilities: bool = False
) -> None:
    graph = policy.graph
    tails, actions = np.nonzero(graph.forward)
    shares = policy.probabilities[tails, actions]
    flow = policy.visits[tails] * shares
    columns = (tails, graph.successors[tails, actions], shares, 0.5 + 6.0 * flow / flow.max())
    for tail, head, share, width in zip(*(column.tolist() for column in columns), strict=True):
        panel.draw_edge(tail, head, _EDGE, width=width)
        if probabilities:
            label = f"{share:.2f}".lstrip("0") if share < 1 else "1"
            panel.draw_edge_label(tail, head, label)
    if pruned:
        for tail, action in np.argwhere(~graph.forward & (graph.successors >= 0)):
            panel.draw_edge(tail, graph.successors[tail, action], _PRUNED, pruned=True)
    scale = _visit_scale(policy)
    for node, fill in enumerate(scale.to_rgba(scale.get_array())):
        ink = _INK if fill[:3] @ (0.3, 0.6, 0.1) > 0.5 else "white"
        size = 6 if panel.crowded else 9
        label = _label(graph, node)
        panel.draw_node(node, label, fill, shape="round,pad=0.28", size=size, ink=ink)
    panel.fit()
    bar = panel.axes.figure.colorbar(scale, ax=panel.axes, shrink=0.6, pad=0.02)
    bar.set_label("visits, relative to an even layer", fontsize=9, color=_INK)
    bar.outline.set_visible(False)


def _visit_scale(policy: ExplorationPolicy) -> Any:
    """Return a colour scale of the nodes' visits, where 1 is the average of the layer."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    visits = policy.visits * np.array(policy.graph.layer_sizes)[policy.graph.depths]
    shades = ListedColormap(colormaps["YlGnBu"](np.linspace(0.08, 0.88, 256)))
    scale = ScalarMappable(Normalize(0.0, max(2.0, float(visits.max()))), shades)
    scale.set_array(visits)
    return scale


def _draw_construction(
    panel: _Panel, steps: Sequence[Step], *, highlight_last: bool = False
) -> None:
    """Draw the graph after these steps of its construction."""
    graph = panel.graph
    pruned = {(step.tail, step.action) for step in steps if step.pruned}
    for step in steps:
        if (step.tail, step.action) in pruned:
            continue
        highlight = _HIGHLIGHT if highlight_last and step is steps[-1] else None
        if graph.forward[step.tail, step.action]:
            panel.draw_edge(step.tail, step.head, highlight or _EDGE, width=1.4)
            symbol = _symbol(graph.actions, graph.actions[step.action])
            panel.draw_edge_label(step.tail, step.head, _escape(symbol))
        else:
            panel.draw_edge(step.tail, step.head, highlight or _PRUNED, pruned=True)
    for node in sorted({0} | {step.head for step in steps}):
        panel.draw_node(node, str(node), "#e8eef7", shape="circle,pad=0.3")
    panel.fit()


def _caption(graph: LocalGraph, steps: Sequence[Step]) -> str:
    if not steps:
        return "the empty word"
    step = steps[-1]
    edge = _escape(f"{step.tail} –{graph.actions[step.action]}→ {step.head}")
    if step.pruned:
        return f"prune {edge}"
    return edge if step.new else f"{edge}, already there"


def _write_prior(axes: Any, omega: Equivalences) -> None:
    lines = []
    for pair in omega.pairs:
        sides = [[_symbol(omega.actions, name) for name in side] for side in pair]
        lines.append(_escape(" ~ ".join(" ".join(side) or EMPTY for side in sides)))
    axes.text(0.5, 0.5, "\n".join(lines), fontsize=13, ha="center", va="center", linespacing=1.8)
    axes.set_axis_off()


def _label(graph: LocalGraph, node: int) -> str:
    symbols = [_symbol(graph.actions, name) for name in graph.word(node)]
    separator = "" if all(len(symbol) == 1 for symbol in symbols) else " "
    return _escape(separator.join(symbols)) or EMPTY


def _symbol(actions: Sequence[str], name: str) -> str:
    """Return an arrow for the usual moves, curved if left and right are turns."""
    if set(_TURNS) <= set(actions):
        return _TURNS.get(name, name)
    return _ARROWS.get(name, name) if {"left", "right"} <= set(actions) else name


def _escape(text: str) -> str:
    """Escape dollar signs, which matplotlib would read as the start of a formula."""
    return text.replace("$", r"\$")
