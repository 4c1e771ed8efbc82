"""Beyond Figure 4b: Catcher over the depth of EASEE's graph, and over the width of the field."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from easee.experiments.curves import cell, finals, plot_learning, summary
from easee.experiments.dqn import POPULATION, config_of
from easee.experiments.pictures import COLOURS, GREY, bare, curve
from easee.experiments.population import do_together
from easee.experiments.runs import Figure, Row, Run
from easee.experiments.statistics import improvement_interval, mean_interval
from easee.experiments.tasks import CATCHER
from easee.experiments.with_sb3 import measure
from easee.plotting import pyplot, save

STEPS = CATCHER.paper_steps
DEPTHS = (5, 10, 20, 30)
WIDTHS = (20, 40, 60, 80)
SEEDS = 10
BASE = {"task": CATCHER.name, "steps": STEPS}
WHAT = "mean reward, last tenth"

Settings = dict[str, Any]


def _easee(depth: int) -> Settings:
    return {"explorer": "easee", "prior": CATCHER.prior, "depth": depth}


def _runs(arms: dict[str, Settings]) -> Callable[[int], list[Run]]:
    return lambda seeds: [
        Run(arm, seed, BASE | settings) for seed in range(seeds) for arm, settings in arms.items()
    ]


def _last(rows: list[Row], arm: str) -> list[float]:
    return finals(rows, arm, round(0.9 * STEPS))


# --- depth ------------------------------------------------------------------------------------

DEPTH_ARMS = {"uniform": {"explorer": "uniform"}} | {f"easee/{d}": _easee(d) for d in DEPTHS}
DEPTH_LABELS = {"uniform": "epsilon-greedy"} | {f"easee/{d}": f"EASEE, depth {d}" for d in DEPTHS}


def depth_table(rows: list[Row]) -> list[list[str]]:
    """Return a line for each depth."""
    after = round(0.9 * STEPS)
    return summary(rows, DEPTH_LABELS, baseline="uniform", after=after, what=WHAT)


def depth_plot(rows: list[Row], folder: Path) -> list[Path]:
    """Draw the learning curves of all depths."""
    seeds = len({row.seed for row in rows})
    return [
        plot_learning(
            rows,
            folder / "catcher-depth.png",
            arms=DEPTH_LABELS,
            baseline="uniform",
            title=f"DQN on Catcher over the depth of the graph, {seeds} seeds, 95% intervals",
            limits=CATCHER.rewards,
        )
    ]


# --- width ------------------------------------------------------------------------------------

KINDS = {
    "uniform": "epsilon-greedy",
    "easee": "EASEE, depth = height",
    "zeta": "temporally extended, µ = 2",
}


def _wide(kind: str, width: int) -> Settings:
    explorer = _easee(width // 2) if kind == "easee" else {"explorer": kind}
    return explorer | {"width": width}


WIDTH_ARMS = {f"{kind}/{w}": _wide(kind, w) for w in WIDTHS for kind in KINDS}


def width_table(rows: list[Row]) -> list[list[str]]:
    """Return a line for each width."""
    lines = [["field", *KINDS.values(), "EASEE's probability of improvement"]]
    for width in WIDTHS:
        found = {kind: _last(rows, f"{kind}/{width}") for kind in KINDS}
        better = "-"
        if found["easee"] and found["uniform"]:
            better = cell(improvement_interval(found["easee"], found["uniform"]))
        cells = [cell(mean_interval(values)) if values else "-" for values in found.values()]
        if any(found.values()):
            lines.append([f"{width} x {width // 2}", *cells, better])
    return lines


def width_plot(rows: list[Row], folder: Path) -> list[Path]:
    """Draw where training ends over the width of the field."""
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    colours = iter(COLOURS)
    for kind, label in KINDS.items():
        ends = {width: _last(rows, f"{kind}/{width}") for width in WIDTHS}
        widths = [width for width, values in ends.items() if values]
        colour = GREY if kind == "uniform" else next(colours)
        estimates = [mean_interval(ends[width]) for width in widths]
        curve(axes, widths, estimates, color=colour, label=label, marker="o")
    bare(axes)
    axes.set_xticks(WIDTHS, [f"{width} x {width // 2}" for width in WIDTHS])
    axes.set_xlabel("field; an episode has as many steps as it is high")
    axes.set_ylabel(WHAT)
    axes.set_ylim(-1, 1)
    axes.legend(frameon=False, fontsize=9)
    seeds = len({row.seed for row in rows})
    axes.set_title(f"DQN on Catcher after {STEPS:,} steps, {seeds} seeds, 95% intervals")
    return [save(figure, folder / "catcher-width.png")]


CONFIG = config_of(CATCHER, STEPS, POPULATION)
FIGURES = [
    Figure(
        name="catcher-depth",
        title="DQN on Catcher over the depth of the graph",
        runs=_runs(DEPTH_ARMS),
        seeds=SEEDS,
        measure=measure,
        plot=depth_plot,
        table=depth_table,
        config=CONFIG,
        together=do_together,
    ),
    Figure(
        name="catcher-width",
        title="DQN on Catcher over the width of the field",
        runs=_runs(WIDTH_ARMS),
        seeds=SEEDS,
        measure=measure,
        plot=width_plot,
        table=width_table,
        config=CONFIG,
        together=do_together,
    ),
]
