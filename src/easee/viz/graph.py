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
from easee.viz.files import blank, save
from easee.viz.layout import Layout, lay_out
from easee.viz.symbols import symbol, word_label

MAX_STEPS = 30
MAX_LABELS = 80  # edges; with more, the labels of actions would cover the picture
MAX_TEXT = 14  # characters of a label of several actions
_INK = "#222222"
_EDGE = "#5f6b7a"
_PRUNED = "#9aa0a6"
_HIGHLIGHT = "#c0392b"
_WIDEST = 5.0  # points, of the edge with the largest flow
_TITLE = 0.45  # inches above a graph
_LEGEND = 0.4  # inches below a graph
_BAR = 1.1  # inches to the right of a graph, for the scale of colours


def draw_graph(
    policy: ExplorationPolicy, path: str | os.PathLike[str], *, pruned: bool = False
) -> None:
    """Draw a policy on its graph, with nodes coloured by visits.

    Layers go from left to right, or outwards from the middle if the graph is a lattice in the
    plane. The width of an arrow is its flow: the share of visits that pass along it.

    Args:
        policy: policy to draw.
        path: an `.svg`, `.png` or `.pdf` file to write.
        pruned: whether to show pruned edges, dashed.
    """
    graph = policy.graph
    size = _font_size(graph)
    layout = lay_out(graph, _labels(graph), size)
    width = max(layout.extent[0], 4.6)
    figure = blank(width + _BAR, layout.extent[1] + _TITLE + _LEGEND)
    panel = _panel(figure, graph, layout, (width - layout.extent[0]) / 2, _LEGEND)
    _draw_policy(panel, policy, pruned=pruned, actions=True)
    title = (
        f"{len(graph):,} nodes · entropy {policy.entropy:.4f} of at most {policy.bound:.4f} · "
        f"gap {policy.gap:.0e}"
    )
    panel.write_title(title)
    _draw_legend(figure, policy, pruned)
    save(figure, path, bbox_inches="tight")


def draw_steps(graph: LocalGraph, path: str | os.PathLike[str]) -> None:
    """Draw the construction of a small graph step by step (the paper's Figure 2).

    Args:
        graph: graph to draw.
        path: an `.svg`, `.png` or `.pdf` file to write.

    Raises:
        ArgumentError: the construction has too many steps to draw.
    """
    steps = construction(graph)
    if len(steps) > MAX_STEPS:
        raise ArgumentError(
            f"the construction has {len(steps)} steps, and at most {MAX_STEPS} can be drawn: "
            "lower the depth"
        )
    layout = lay_out(graph, _numbers(graph), 9, lattice=False)
    captions = [f"{i + 1}. {_caption(graph, steps[:i])}" for i in range(len(steps) + 1)]
    columns = min(4, len(captions))
    rows = math.ceil(len(captions) / columns)
    width, height = max(layout.extent[0], 2.9), layout.extent[1] + _TITLE
    figure = blank(width * columns, height * rows)
    for i, caption in enumerate(captions):
        left, bottom = width * (i % columns), height * (rows - 1 - i // columns)
        panel = _panel(figure, graph, layout, left, bottom)
        _draw_construction(panel, steps[:i], highlight_last=True)
        panel.write_title(caption, 10)
    save(figure, path, bbox_inches="tight")


def draw_pipeline(
    omega: Equivalences, policy: ExplorationPolicy, path: str | os.PathLike[str]
) -> None:
    """Draw prior, graph and policy side by side (the paper's Figure 1).

    Args:
        omega: the prior.
        policy: its policy.
        path: an `.svg`, `.png` or `.pdf` file to write.
    """
    graph, text_width = policy.graph, 2.6
    numbered = lay_out(graph, _numbers(graph), 9, lattice=False)
    named = lay_out(graph, _labels(graph), _font_size(graph), lattice=False)
    height = max(numbered.extent[1], named.extent[1])
    widths = text_width, numbered.extent[0], named.extent[0]
    figure = blank(sum(widths) + _BAR, height + _TITLE + _LEGEND)
    left = figure.add_axes(_share(figure, 0, _LEGEND, text_width, height))
    _write_prior(left, omega)
    left.set_title("equivalences", fontsize=11, color=_INK)
    middle = _panel(figure, graph, numbered, widths[0], _LEGEND + (height - numbered.extent[1]) / 2)
    _draw_construction(middle, construction(graph))
    middle.write_title(f"local-dynamics graph, depth {graph.depth}")
    bottom = _LEGEND + (height - named.extent[1]) / 2
    right = _panel(figure, graph, named, widths[0] + widths[1], bottom)
    _draw_policy(right, policy, probabilities=True)
    right.write_title("probabilities and visits")
    _draw_legend(figure, policy, False)
    save(figure, path, bbox_inches="tight")


@dataclass(frozen=True)
class _Panel:
    """Matplotlib axes in inches that show a graph."""

    axes: Any
    graph: LocalGraph
    layout: Layout
    boxes: dict[int, Any]  # the patches of the nodes

    def draw_edge(
        self, tail: int, head: int, colour: str, *, width: float = 1.0, pruned: bool = False
    ) -> None:
        """Draw an arrow between the boxes of two nodes, dashed and bent if it is pruned."""
        from matplotlib.patches import FancyArrowPatch

        start, end, bend = self._ends(tail, head, pruned)
        clipped = {} if tail == head else {"patchA": self._box(tail), "patchB": self._box(head)}
        self.axes.add_patch(
            FancyArrowPatch(
                tuple(start), tuple(end), arrowstyle="-|>", color=colour, lw=width,
                ls="--" if pruned else "-", connectionstyle=f"arc3,rad={bend}", shrinkA=0,
                shrinkB=0, mutation_scale=8 + 1.5 * width, joinstyle="miter",
                zorder=0 if pruned else 1, **clipped,
            )
        )  # fmt: skip

    def draw_edge_label(self, tail: int, head: int, label: str, *, pruned: bool = False) -> None:
        """Write a label onto an edge, closer to its tail, or above a loop."""
        start, end, bend = self._ends(tail, head, pruned)
        across = np.array([end[1] - start[1], start[0] - end[0]])
        share = 0.5 if pruned or self.layout.lattice else 0.42
        if tail == head:
            position = (start + end) / 2 + (0.0, 0.22)
        elif pruned:
            position = (start + end) / 2 + 0.5 * bend * across
        else:
            position = self._between(tail, head, share)
        style = dict(
            fontsize=9 if len(label) == 1 else 7, color=_PRUNED if pruned else _INK, zorder=2
        )
        box = dict(boxstyle="round,pad=0.08", facecolor="white", edgecolor="none", alpha=0.85)
        self._write(position, label, bbox=box, **style)

    def draw_node(self, node: int, label: str, fill: Any, *, size: float, ink: str = _INK) -> None:
        """Draw a node as a label in a filled box."""
        box = self._box(node)
        box.set(facecolor=fill, visible=True)
        self._write(self.layout.centres[node], label, fontsize=size, color=ink, zorder=4)

    def write_title(self, title: str, size: int = 11) -> None:
        """Write a title above the graph."""
        self.axes.set_title(title, fontsize=size, color=_INK)

    def _box(self, node: int) -> Any:
        """Return the patch of a node, invisible until the node is drawn."""
        from matplotlib.patches import FancyBboxPatch

        if node not in self.boxes:
            size = self.layout.sizes[node]
            corner = self.layout.centres[node] - size / 2
            self.boxes[node] = FancyBboxPatch(
                tuple(corner), size[0], size[1], boxstyle="round,pad=0,rounding_size=0.05",
                edgecolor=_INK, lw=0.8,
                zorder=3, visible=False,
            )  # fmt: skip
            self.axes.add_patch(self.boxes[node])
        return self.boxes[node]

    def _ends(
        self, tail: int, head: int, pruned: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return where an edge starts and ends, and its bend."""
        start, end = self.layout.centres[tail], self.layout.centres[head]
        if tail == head:
            half = self.layout.sizes[tail] / 2
            side = min(0.12, half[0])
            return start + (-side, half[1]), end + (side, half[1]), -1.3
        if start[0] == end[0] and not self.layout.lattice:  # within a layer: beside the others
            return start, end, 0.35 if start[1] > end[1] else -0.35
        return start, end, 0.3 if pruned else 0.0

    def _between(self, tail: int, head: int, share: float) -> NDArray[np.float64]:
        """Return a point of a straight edge outside its two boxes."""
        start, end = self.layout.centres[tail], self.layout.centres[head]
        way = np.abs(end - start)
        with np.errstate(divide="ignore"):
            inside = [min(self.layout.sizes[n] / 2 / way) for n in (tail, head)]
        point: NDArray[np.float64] = start + (inside[0] + share * (1 - sum(inside))) * (end - start)
        return point

    def _write(self, position: NDArray[np.float64], text: str, **style: Any) -> None:
        self.axes.text(*position, text, ha="center", va="center", **style)


def _panel(figure: Any, graph: LocalGraph, layout: Layout, left: float, bottom: float) -> _Panel:
    """Return a panel at a place in a figure, in inches."""
    axes = figure.add_axes(_share(figure, left, bottom, *layout.extent))
    axes.set(xlim=(0, layout.extent[0]), ylim=(0, layout.extent[1]))
    axes.set_axis_off()
    return _Panel(axes, graph, layout, {})


def _share(figure: Any, *inches: float) -> list[float]:
    """Return left, bottom, width and height as shares of a figure's size."""
    width, height = figure.get_size_inches()
    return [inches[0] / width, inches[1] / height, inches[2] / width, inches[3] / height]


def _font_size(graph: LocalGraph) -> float:
    return 6 if max(graph.layer_sizes) > 30 else 9


def _draw_policy(
    panel: _Panel,
    policy: ExplorationPolicy,
    *,
    pruned: bool = False,
    probabilities: bool = False,
    actions: bool = False,
) -> None:
    graph = policy.graph
    edges = _joined_edges(graph, graph.forward)
    flow = {edge: _flow(policy, edge[0], numbers) for edge, numbers in edges.items()}
    most = max(flow.values(), default=1.0)
    labelled = actions and len(edges) <= MAX_LABELS
    for (tail, head), numbers in edges.items():
        panel.draw_edge(tail, head, _EDGE, width=0.5 + _WIDEST * flow[tail, head] / most)
        if probabilities:
            share = float(policy.probabilities[tail, numbers].sum())
            label = f"{share:.2f}".lstrip("0") if share < 0.995 else "1"
            panel.draw_edge_label(tail, head, label)
        elif labelled:
            panel.draw_edge_label(tail, head, _action_label(graph, numbers))
    if pruned:
        for (tail, head), numbers in _joined_edges(
            graph, ~graph.forward & (graph.successors >= 0)
        ).items():
            panel.draw_edge(tail, head, _PRUNED, pruned=True)
            if labelled:
                panel.draw_edge_label(tail, head, _action_label(graph, numbers), pruned=True)
    scale = _visit_scale(policy)
    labels, size = _labels(graph), _font_size(graph)
    for node, fill in enumerate(scale.to_rgba(scale.get_array())):
        ink = _INK if fill[:3] @ (0.3, 0.6, 0.1) > 0.5 else "white"
        panel.draw_node(node, labels[node], fill, size=size, ink=ink)


def _joined_edges(graph: LocalGraph, chosen: NDArray[np.bool_]) -> dict[tuple[int, int], list[int]]:
    """Return the actions that lead from one node to another, of the chosen edges (n, k)."""
    edges: dict[tuple[int, int], list[int]] = {}
    for tail, action in np.argwhere(chosen).tolist():
        edges.setdefault((tail, int(graph.successors[tail, action])), []).append(action)
    return edges


def _flow(policy: ExplorationPolicy, tail: int, actions: list[int]) -> float:
    return float(policy.visits[tail] * policy.probabilities[tail, actions].sum())


def _action_label(graph: LocalGraph, actions: Sequence[int]) -> str:
    symbols = [symbol(graph.actions, graph.actions[action]) for action in actions]
    text = ", ".join(symbols)
    return (
        _escape(text) if len(text) <= MAX_TEXT or len(symbols) == 1 else f"{len(symbols)} actions"
    )


def _draw_legend(figure: Any, policy: ExplorationPolicy, pruned: bool) -> None:
    """Explain widths, dashes and colours."""
    from matplotlib.lines import Line2D

    graph = policy.graph
    edges = _joined_edges(graph, graph.forward)
    most = max((_flow(policy, edge[0], numbers) for edge, numbers in edges.items()), default=1.0)
    handles = [
        Line2D([], [], color=_EDGE, lw=0.5 + _WIDEST * share, label=f"{share * most:.0%}")
        for share in (1.0, 0.2)
    ]
    handles[0].set_label(f"width: flow, the share of visits along the edge; here {most:.0%}")
    if pruned:
        handles.append(Line2D([], [], color=_PRUNED, lw=1, ls="--", label="pruned: nothing new"))
    figure.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(0.01, 0.0), ncols=len(handles),
        fontsize=8, frameon=False, labelcolor=_INK,
    )  # fmt: skip
    width, height = figure.get_size_inches()
    tall = min(height - _TITLE - _LEGEND, 3.0)
    bottom = _LEGEND + (height - _TITLE - _LEGEND - tall) / 2
    axes = figure.add_axes(_share(figure, width - _BAR + 0.25, bottom, 0.18, tall))
    bar = figure.colorbar(_visit_scale(policy), cax=axes)
    bar.set_label(
        "colour: visits of a node,\n1 is the average of its layer", fontsize=8, color=_INK
    )
    bar.ax.tick_params(labelsize=8)
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
            label = symbol(graph.actions, graph.actions[step.action])
            panel.draw_edge_label(step.tail, step.head, _escape(label))
        else:
            panel.draw_edge(step.tail, step.head, highlight or _PRUNED, pruned=True)
    for node in sorted({0} | {step.head for step in steps}):
        panel.draw_node(node, str(node), "#e8eef7", size=9)


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
        sides = [[symbol(omega.actions, name) for name in side] for side in pair]
        lines.append(_escape(" ~ ".join(" ".join(side) or EMPTY for side in sides)))
    axes.text(0.5, 0.5, "\n".join(lines), fontsize=13, ha="center", va="center", linespacing=1.8)
    axes.set_axis_off()


def _labels(graph: LocalGraph) -> list[str]:
    """Return the shortest word of each node as its label."""
    labels = []
    for node in range(len(graph)):
        labels.append(_escape(word_label(graph.actions, graph.word(node))))
    return labels


def _numbers(graph: LocalGraph) -> list[str]:
    return list(map(str, range(len(graph))))


def _escape(text: str) -> str:
    """Escape dollar signs, which matplotlib would read as the start of a formula."""
    return text.replace("$", r"\$")
