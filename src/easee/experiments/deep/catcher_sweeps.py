"""Beyond Figure 4b: Catcher over the depth of EASEE's graph, and over the width of the field.

Only populations do these figures.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from easee.experiments.deep.dqn import (
    LABELS,
    LAST_TENTH,
    POPULATION,
    Comparison,
    last_tenth,
    unfinished,
)
from easee.experiments.deep.tasks import CATCHER
from easee.experiments.harness.figure import Row
from easee.experiments.harness.learning_curves import cell, finals, plot_learning, summary
from easee.experiments.harness.plots import BASELINE_FIRST, bare, points, subplots
from easee.experiments.harness.rows import count_seeds
from easee.experiments.harness.statistics import improvement_interval, mean_interval
from easee.viz.files import save

DEPTHS = (5, 10, 20, 30)
WIDTHS = (20, 40, 60, 80)
SIZES = {POPULATION: (CATCHER.paper_steps, 10)}
APART = 1.5  # distance between explorers in the picture over the width

Settings = dict[str, Any]


def _easee(depth: int) -> Settings:
    return {"explorer": "easee", "prior": CATCHER.prior, "depth": depth}


# --- depth ------------------------------------------------------------------------------------

DEPTH_ARMS = {"uniform": {"explorer": "uniform"}} | {f"easee/{d}": _easee(d) for d in DEPTHS}
DEPTH_LABELS = {"uniform": "epsilon-greedy"} | {f"easee/{d}": f"EASEE, depth {d}" for d in DEPTHS}


def depth_table(rows: list[Row], steps: int) -> list[list[str]]:
    """Return a line for each depth."""
    after = last_tenth(rows, steps)
    return summary(rows, DEPTH_LABELS, baseline="uniform", after=after, what=LAST_TENTH)


def depth_plot(rows: list[Row], folder: Path, steps: int) -> list[Path]:
    """Draw the learning curves of all depths."""
    title = f"DQN on Catcher over the depth of the graph, {count_seeds(rows)} seeds, 95% intervals"
    path = folder / "catcher-depth.png"
    caption = unfinished(rows, steps)
    return [plot_learning(rows, path, arms=DEPTH_LABELS, title=title, caption=caption)]


# --- width ------------------------------------------------------------------------------------

KINDS = LABELS | {"easee": "EASEE, depth = height"}


def _wide(kind: str, width: int) -> Settings:
    explorer = _easee(width // 2) if kind == "easee" else {"explorer": kind}
    return explorer | {"env": {"width": width, "height": width // 2}}


WIDTH_ARMS = {f"{kind}/{w}": _wide(kind, w) for w in WIDTHS for kind in KINDS}


def ends(rows: list[Row], steps: int) -> dict[int, dict[str, list[float]]]:
    """Return the final mean reward of every seed, by width and explorer, for existing widths."""
    after = last_tenth(rows, steps)
    rewards = {
        width: {kind: finals(rows, f"{kind}/{width}", after) for kind in KINDS} for width in WIDTHS
    }
    return {width: by_kind for width, by_kind in rewards.items() if any(by_kind.values())}


def width_table(rows: list[Row], steps: int) -> list[list[str]]:
    """Return a line for each width."""
    lines = [["field", *KINDS.values(), "EASEE's probability of improvement"]]
    for width, by_kind in ends(rows, steps).items():
        improvement = "-"
        if by_kind["easee"] and by_kind["uniform"]:
            improvement = cell(improvement_interval(by_kind["easee"], by_kind["uniform"]))
        means = [cell(mean_interval(values)) if values else "-" for values in by_kind.values()]
        lines.append([f"{width} x {width // 2}", *means, improvement])
    return lines


def width_plot(rows: list[Row], folder: Path, steps: int) -> list[Path]:
    """Draw the final rewards over the width of the field."""
    figure, axes = subplots(size=(8, 5))
    rewards = ends(rows, steps)
    for i, ((kind, label), colour) in enumerate(zip(KINDS.items(), BASELINE_FIRST, strict=False)):
        widths = [width for width, by_kind in rewards.items() if by_kind[kind]]
        shifted = [width + (i - 1) * APART for width in widths]
        estimates = [mean_interval(rewards[width][kind]) for width in widths]
        points(axes, shifted, estimates, color=colour, label=label)
    bare(axes)
    axes.set_xticks(WIDTHS, [f"{width} x {width // 2}" for width in WIDTHS])
    axes.set_xlabel("size of the field; the height is the number of steps of an episode")
    axes.set_ylabel(LAST_TENTH)
    axes.set_ylim(-1, 1)
    axes.legend(frameon=False, fontsize=9)
    seeds = count_seeds(rows)
    axes.set_title(f"DQN on Catcher after {steps:,} steps, {seeds} seeds, 95% intervals")
    return [save(figure, folder / "catcher-width.png")]


FIGURES = [
    Comparison(
        name="catcher-depth",
        title="DQN on Catcher over the depth of the graph",
        task=CATCHER,
        arms=DEPTH_ARMS,
        sizes=SIZES,
        plot=depth_plot,
        table=depth_table,
    ).figure(),
    Comparison(
        name="catcher-width",
        title="DQN on Catcher over the width of the field",
        task=CATCHER,
        arms=WIDTH_ARMS,
        sizes=SIZES,
        plot=width_plot,
        table=width_table,
    ).figure(),
]
