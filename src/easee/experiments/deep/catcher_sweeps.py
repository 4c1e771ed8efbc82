"""Beyond Figure 4b: Catcher over the depth of EASEE's graph, and over the width of the field."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from easee.experiments.deep.dqn import POPULATION, config_of, last_tenth, unfinished
from easee.experiments.deep.population_backend import do_together
from easee.experiments.deep.sb3_backend import measure
from easee.experiments.deep.tasks import CATCHER
from easee.experiments.harness.figure import Figure, Row, Run
from easee.experiments.harness.learning_curves import cell, finals, plot_learning, summary
from easee.experiments.harness.plots import COLOURS, GREY, bare, points
from easee.experiments.harness.statistics import improvement_interval, mean_interval
from easee.viz.files import pyplot, save

DEPTHS = (5, 10, 20, 30)
WIDTHS = (20, 40, 60, 80)
SEEDS = 10
WHAT = "mean reward, last tenth"
APART = 1.5  # between explorers in the picture over the width

Settings = dict[str, Any]


def _easee(depth: int) -> Settings:
    return {"explorer": "easee", "prior": CATCHER.prior, "depth": depth}


def _figure(
    name: str,
    title: str,
    arms: dict[str, Settings],
    plot: Callable[[list[Row], Path, int], list[Path]],
    table: Callable[[list[Row], int], list[list[str]]],
    steps: int = CATCHER.paper_steps,
) -> Figure:
    base = {"task": CATCHER.name, "steps": steps}
    full = steps == CATCHER.paper_steps
    return Figure(
        name=name,
        title=title,
        runs=lambda seeds: [Run(a, s, base | arms[a]) for s in range(seeds) for a in arms],
        seeds=SEEDS,
        measure=measure,
        plot=lambda rows, folder: plot(rows, folder, steps),
        table=lambda rows: table(rows, steps),
        config=config_of(CATCHER, steps, POPULATION),
        folder=name if full else f"{name}-{steps}",
        steps=steps,
        resized=lambda n: _figure(name, title, arms, plot, table, n),
        together=do_together,
    )


# --- depth ------------------------------------------------------------------------------------

DEPTH_ARMS = {"uniform": {"explorer": "uniform"}} | {f"easee/{d}": _easee(d) for d in DEPTHS}
DEPTH_LABELS = {"uniform": "epsilon-greedy"} | {f"easee/{d}": f"EASEE, depth {d}" for d in DEPTHS}


def depth_table(rows: list[Row], steps: int) -> list[list[str]]:
    """Return a line for each depth."""
    return summary(rows, DEPTH_LABELS, baseline="uniform", after=last_tenth(rows, steps), what=WHAT)


def depth_plot(rows: list[Row], folder: Path, steps: int) -> list[Path]:
    """Draw the learning curves of all depths."""
    seeds = len({row.seed for row in rows})
    return [
        plot_learning(
            rows,
            folder / "catcher-depth.png",
            arms=DEPTH_LABELS,
            baseline="uniform",
            title=f"DQN on Catcher over the depth of the graph, {seeds} seeds, 95% intervals",
            caption=unfinished(rows, steps),
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


def ends(rows: list[Row], steps: int) -> dict[int, dict[str, list[float]]]:
    """Return every seed's mean reward at the end, by width and exploration; what there is."""
    after = last_tenth(rows, steps)
    found = {
        width: {kind: finals(rows, f"{kind}/{width}", after) for kind in KINDS} for width in WIDTHS
    }
    return {width: kinds for width, kinds in found.items() if any(kinds.values())}


def width_table(rows: list[Row], steps: int) -> list[list[str]]:
    """Return a line for each width."""
    lines = [["field", *KINDS.values(), "EASEE's probability of improvement"]]
    for width, found in ends(rows, steps).items():
        better = "-"
        if found["easee"] and found["uniform"]:
            better = cell(improvement_interval(found["easee"], found["uniform"]))
        cells = [cell(mean_interval(values)) if values else "-" for values in found.values()]
        lines.append([f"{width} x {width // 2}", *cells, better])
    return lines


def width_plot(rows: list[Row], folder: Path, steps: int) -> list[Path]:
    """Draw where training ends over the width of the field."""
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    colours = iter(COLOURS)
    found = ends(rows, steps)
    for i, (kind, label) in enumerate(KINDS.items()):
        widths = [width for width, kinds in found.items() if kinds[kind]]
        beside = [width + (i - 1) * APART for width in widths]
        estimates = [mean_interval(found[width][kind]) for width in widths]
        colour = GREY if kind == "uniform" else next(colours)
        points(axes, beside, estimates, color=colour, label=label)
    bare(axes)
    axes.set_xticks(WIDTHS, [f"{width} x {width // 2}" for width in WIDTHS])
    axes.set_xlabel("field; an episode has as many steps as it is high")
    axes.set_ylabel(WHAT)
    axes.set_ylim(-1, 1)
    axes.legend(frameon=False, fontsize=9)
    seeds = len({row.seed for row in rows})
    axes.set_title(f"DQN on Catcher after {steps:,} steps, {seeds} seeds, 95% intervals")
    return [save(figure, folder / "catcher-width.png")]


FIGURES = [
    _figure(
        "catcher-depth",
        "DQN on Catcher over the depth of the graph",
        DEPTH_ARMS,
        depth_plot,
        depth_table,
    ),
    _figure(
        "catcher-width",
        "DQN on Catcher over the width of the field",
        WIDTH_ARMS,
        width_plot,
        width_table,
    ),
]
