"""Pictures of local-dynamics graphs and of the policy on them (Figures 1 and 2 of the paper)."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from easee.errors import ArgumentError
from easee.graph import LocalGraph
from easee.policy import ExplorationPolicy
from easee.priors.equivalences import EMPTY, Equivalences
from easee.viz.construction import Step, construction
from easee.viz.files import pyplot, save

MOST_NODES = 400  # more than that nobody can read
_ARROWS = {
    "forward": "↑",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}
_TURNS = {"forward": "↑", "left": "↶", "right": "↷"}
_INK = "#222222"
_FADED = "#9aa0a6"


def draw_graph(
    policy: ExplorationPolicy, path: str | os.PathLike[str], *, pruned: bool = False
) -> None:
    """Draw a graph, layers from left to right, nodes coloured by how often they are visited.

    Args:
        policy: the policy and its graph.
        path: an `.svg`, `.png` or `.pdf` file to write.
        pruned: whether to show pruned edges too, dashed.
    """
    plt = pyplot()
    graph = policy.graph
    place = _positions(graph)
    figure, axes = plt.subplots(figsize=_size(graph))
    _draw_policy(axes, policy, place, pruned=pruned)
    _colour_bar(figure, axes, policy)
    axes.set_title(_headline(policy), fontsize=11, color=_INK)
    save(figure, path, bbox_inches="tight")


def draw_steps(graph: LocalGraph, path: str | os.PathLike[str]) -> None:
    """Draw the construction of a small graph step by step (the paper's Figure 2)."""
    plt = pyplot()
    steps = construction(graph)
    if len(steps) > 30:
        raise ArgumentError(
            f"the construction has {len(steps)} steps, and at most 30 can be read: lower the depth"
        )
    place = _positions(graph)
    columns = min(4, len(steps) + 1)
    rows = math.ceil((len(steps) + 1) / columns)
    figure, grid = plt.subplots(rows, columns, figsize=(2.9 * columns, 1.9 * rows), squeeze=False)
    for i, axes in enumerate(grid.flat):
        if i > len(steps):
            axes.set_axis_off()
            continue
        _draw_partial(axes, graph, place, steps[:i])
        axes.set_title(f"{i + 1}. {_caption(graph, steps[:i])}", fontsize=10, color=_INK)
    save(figure, path, bbox_inches="tight")


def draw_pipeline(
    omega: Equivalences, policy: ExplorationPolicy, path: str | os.PathLike[str]
) -> None:
    """Draw prior, graph and policy side by side (the paper's Figure 1)."""
    plt = pyplot()
    graph = policy.graph
    place = _positions(graph)
    width, height = _size(graph)
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(2.6 + 2 * width, height), width_ratios=[2.6, width, width]
    )
    _write_prior(left, omega)
    _draw_partial(middle, graph, place, construction(graph), mark_new=False)
    middle.set_title(f"local-dynamics graph, depth {graph.depth}", fontsize=11, color=_INK)
    _draw_policy(right, policy, place, pruned=False, probabilities=True)
    right.set_title("probabilities and visits", fontsize=11, color=_INK)
    _colour_bar(figure, right, policy)
    save(figure, path, bbox_inches="tight")


# --- parts ------------------------------------------------------------------------------------


def _positions(graph: LocalGraph) -> NDArray[np.float64]:
    """Place nodes (n, 2): x is the depth, y orders a layer by where its nodes come from."""
    if len(graph) > MOST_NODES:
        raise ArgumentError(
            f"the graph has {len(graph):,} nodes, and at most {MOST_NODES} can be drawn: "
            "lower the depth"
        )
    place = np.zeros((len(graph), 2))
    place[:, 0] = graph.depths
    tails, actions = np.nonzero(graph.forward)
    heads = graph.successors[tails, actions]
    for depth in range(1, graph.depth + 1):
        layer = np.flatnonzero(graph.depths == depth)
        if not layer.size:
            break
        came = [-place[tails[heads == node], 1].mean() for node in layer]
        order = layer[np.argsort(np.round(came, 9), kind="stable")]
        # Neighbours one apart, the layer as a whole around zero, the first word on top.
        place[order, 1] = (layer.size - 1) / 2 - np.arange(layer.size)
    return _stretched(place, graph)


def _stretched(place: NDArray[np.float64], graph: LocalGraph) -> NDArray[np.float64]:
    """Spread narrow layers, so that a tree looks like one."""
    widest = max(graph.layer_sizes)
    for depth, size in enumerate(graph.layer_sizes):
        if size > 1:
            room = 1 + 0.6 * (widest - size) / size
            place[graph.depths == depth, 1] *= room
    return place


def _size(graph: LocalGraph) -> tuple[float, float]:
    return 2.2 + 1.9 * graph.depth, min(40.0, max(3.2, 1.0 + 0.46 * max(graph.layer_sizes)))


def _radius(graph: LocalGraph) -> float:
    return 15.0 if max(graph.layer_sizes) <= 30 else 9.0


def _label(graph: LocalGraph, node: int) -> str:
    word = graph.word(node)
    if not word:
        return EMPTY
    symbols = [_symbol(graph.actions, name) for name in word]
    joined = "".join(symbols) if all(len(s) == 1 for s in symbols) else " ".join(symbols)
    return _plain(joined)


def _plain(text: str) -> str:
    """Return text that matplotlib shows as it is: a dollar would begin a formula."""
    return text.replace("$", r"\$")


def _symbol(actions: Sequence[str], name: str) -> str:
    """Return an arrow for the usual moves, curved ones where left and right turn."""
    if set(_TURNS) <= set(actions):
        return _TURNS.get(name, name)
    return _ARROWS.get(name, name) if {"left", "right"} <= set(actions) else name


def _draw_policy(
    axes: Any,
    policy: ExplorationPolicy,
    place: NDArray[np.float64],
    *,
    pruned: bool,
    probabilities: bool = False,
) -> None:
    graph = policy.graph
    tails, actions = np.nonzero(graph.forward)
    flow = policy.visits[tails] * policy.probabilities[tails, actions]
    heads = graph.successors[tails, actions]
    edges = zip(tails.tolist(), actions.tolist(), heads.tolist(), flow.tolist(), strict=True)
    for tail, action, head, mass in edges:
        _edge(axes, graph, place, tail, head, width=0.5 + 6.0 * mass / flow.max(), colour="#5f6b7a")
        if probabilities:
            share = policy.probabilities[tail, action]
            _edge_text(axes, place, tail, head, f"{share:.2f}".lstrip("0") if share < 1 else "1")
    if pruned:
        for tail, action in zip(*np.nonzero(~graph.forward & (graph.successors >= 0)), strict=True):
            _pruned_edge(axes, graph, place, tail, graph.successors[tail, action])
    _nodes(axes, graph, place, _relative(policy))
    _frame(axes, place)


def _relative(policy: ExplorationPolicy) -> NDArray[np.float64]:
    """Visits on a scale where 1 is what an even layer would give."""
    sizes = np.array(policy.graph.layer_sizes)
    relative: NDArray[np.float64] = policy.visits * sizes[policy.graph.depths]
    return relative


def _nodes(
    axes: Any, graph: LocalGraph, place: NDArray[np.float64], values: NDArray[np.float64] | None
) -> None:
    colours = _colours(values) if values is not None else ["white"] * len(graph)
    for node, (x, y) in enumerate(place):
        label = _label(graph, node)
        room = dict(boxstyle="round,pad=0.28", facecolor=colours[node], edgecolor=_INK, lw=0.8)
        axes.text(
            x, y, label, ha="center", va="center", fontsize=9 if _radius(graph) > 10 else 6,
            color=_ink_on(colours[node]), bbox=room, zorder=3,
        )  # fmt: skip


def _colours(values: NDArray[np.float64]) -> list[Any]:
    from matplotlib import colormaps

    top = max(2.0, float(values.max()))
    return [colormaps["YlGnBu"](0.08 + 0.8 * v / top) for v in values]


def _ink_on(colour: Any) -> str:
    if isinstance(colour, str):
        return _INK
    red, green, blue, _ = colour
    return _INK if 0.3 * red + 0.6 * green + 0.1 * blue > 0.5 else "white"


def _edge(
    axes: Any,
    graph: LocalGraph,
    place: NDArray[np.float64],
    tail: int,
    head: int,
    *,
    width: float,
    colour: str,
) -> None:
    axes.annotate(
        "", xy=place[head], xytext=place[tail], zorder=1,
        arrowprops=dict(
            arrowstyle="-|>", color=colour, lw=width, mutation_scale=9 + width,
            shrinkA=_radius(graph), shrinkB=_radius(graph),
        ),
    )  # fmt: skip


def _pruned_edge(
    axes: Any,
    graph: LocalGraph,
    place: NDArray[np.float64],
    tail: int,
    head: int,
    colour: str = _FADED,
) -> None:
    if tail == head:
        x, y = place[tail]
        axes.annotate(
            "", xy=(x + 0.12, y + 0.2), xytext=(x - 0.12, y + 0.2), zorder=0,
            arrowprops=dict(
                arrowstyle="-|>", color=colour, lw=1, ls="--", connectionstyle="arc3,rad=-1.6"
            ),
        )  # fmt: skip
        return
    axes.annotate(
        "", xy=place[head], xytext=place[tail], zorder=0,
        arrowprops=dict(
            arrowstyle="-|>", color=colour, lw=1, ls="--", connectionstyle="arc3,rad=0.35",
            shrinkA=_radius(graph), shrinkB=_radius(graph),
        ),
    )  # fmt: skip


def _edge_text(axes: Any, place: NDArray[np.float64], tail: int, head: int, text: str) -> None:
    x, y = 0.45 * place[head] + 0.55 * place[tail]
    axes.text(
        x, y, text, fontsize=8, ha="center", va="center", color=_INK, zorder=2,
        bbox=dict(boxstyle="round,pad=0.1", facecolor="white", edgecolor="none", alpha=0.85),
    )  # fmt: skip


def _draw_partial(
    axes: Any,
    graph: LocalGraph,
    place: NDArray[np.float64],
    steps: Sequence[Step],
    *,
    mark_new: bool = True,
) -> None:
    """Draw what the first steps of the construction have built."""
    gone = {(s.tail, s.action) for s in steps if s.pruned}
    known = sorted({0} | {s.head for s in steps})
    for step in steps:
        if step.pruned or (step.tail, step.action) in gone:
            continue
        last = mark_new and step is steps[-1]
        colour = "#c0392b" if last else "#5f6b7a"
        name = _symbol(graph.actions, graph.actions[step.action])
        if graph.forward[step.tail, step.action]:
            _edge(axes, graph, place, step.tail, step.head, width=1.4, colour=colour)
            _edge_text(axes, place, step.tail, step.head, _plain(name))
        elif mark_new:
            colour = colour if last else _FADED
            _pruned_edge(axes, graph, place, step.tail, step.head, colour)
    for node in known:
        axes.text(
            *place[node], str(node), ha="center", va="center", fontsize=9, color=_INK, zorder=3,
            bbox=dict(boxstyle="circle,pad=0.3", facecolor="#e8eef7", edgecolor=_INK, lw=0.8),
        )  # fmt: skip
    _frame(axes, place)


def _caption(graph: LocalGraph, steps: Sequence[Step]) -> str:
    if not steps:
        return "the empty word"
    step = steps[-1]
    edge = f"{step.tail} –{graph.actions[step.action]}→ {step.head}"
    if step.pruned:
        return _plain(f"prune {edge}")
    return _plain(edge if step.new else f"{edge}, already there")


def _write_prior(axes: Any, omega: Equivalences) -> None:
    lines = []
    for pair in omega.pairs:
        sides = [[_symbol(omega.actions, name) for name in side] for side in pair]
        lines.append(_plain(" ~ ".join(" ".join(side) or EMPTY for side in sides)))
    axes.text(0.5, 0.5, "\n".join(lines), fontsize=13, ha="center", va="center", linespacing=1.8)
    axes.set_title("equivalences", fontsize=11, color=_INK)
    axes.set_axis_off()


def _frame(axes: Any, place: NDArray[np.float64]) -> None:
    axes.set_xlim(place[:, 0].min() - 0.35, place[:, 0].max() + 0.45)
    axes.set_ylim(place[:, 1].min() - 0.7, place[:, 1].max() + 0.7)
    axes.set_axis_off()


def _colour_bar(figure: Any, axes: Any, policy: ExplorationPolicy) -> None:
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    top = max(2.0, float(_relative(policy).max()))
    shades = ListedColormap(colormaps["YlGnBu"](np.linspace(0.08, 0.88, 256)))
    scale = ScalarMappable(Normalize(0.0, top), shades)
    bar = figure.colorbar(scale, ax=axes, shrink=0.6, pad=0.02)
    bar.set_label("visits, relative to an even layer", fontsize=9, color=_INK)
    bar.outline.set_visible(False)


def _headline(policy: ExplorationPolicy) -> str:
    return (
        f"{len(policy.graph):,} nodes · entropy {policy.entropy:.4f} of at most "
        f"{policy.bound:.4f} · gap {policy.gap:.0e}"
    )
