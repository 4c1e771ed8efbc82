"""Beyond Figure 3: deep graphs with the complete priors, against baselines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from easee.experiments.coverage.simulation import GRIDS, SIZE, STATES, STEPS, measure
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.figure import Figure, Row, runs_of
from easee.experiments.harness.learning_curves import cell
from easee.experiments.harness.plots import COLOURS, GREY, bare, curve, subplots
from easee.experiments.harness.rows import group
from easee.experiments.harness.statistics import Estimate, ratio_interval
from easee.viz.files import save

DEPTHS = (1, 2, 4, 6, 8, 10, 15, 20, 30, 40, 50, 70, 100)
PRIORS = {"CardinalGrid": "cardinal-grid", "RotationGrid": "rotation-grid-complete"}
BASELINES = {
    "uniform": "uniform actions",
    "tabu": "tabu: never undo the last action",
    "zeta": "temporally extended, µ = 2",
}
WEIGHTINGS = {False: "EASEE, all layers count", True: "EASEE, only the last layer counts"}
EPISODES = 100


def easee_arm(depth: int, last_only: bool) -> str:
    """Return the name of an arm that explores with EASEE, without the grid."""
    return f"easee{'-last' if last_only else ''}/{depth}"


def _arms() -> dict[str, dict[str, Any]]:
    """Return all baselines, and every depth with both weightings, on both grids."""
    arms: dict[str, dict[str, Any]] = {}
    for grid, prior in PRIORS.items():
        common = {"grid": grid, "episodes": [EPISODES], "prior": prior}
        arms |= {f"{grid}/{kind}": common | {"explorer": kind} for kind in BASELINES}
        for last_only in WEIGHTINGS:
            for depth in DEPTHS:
                easee = {"explorer": "easee", "depth": depth, "last_only": last_only}
                arms[f"{grid}/{easee_arm(depth, last_only)}"] = common | easee
    return arms


def ratios(rows: list[Row], grid: str) -> dict[str, Estimate]:
    """Return the ratio to uniform actions by arm, without the grid."""
    values = {key[0]: list(by_seed.values()) for key, by_seed in group(rows).items()}
    uniform = values.get(f"{grid}/uniform")
    return {
        arm.removeprefix(f"{grid}/"): ratio_interval(states, uniform)
        for arm, states in values.items()
        if uniform and arm.startswith(f"{grid}/")
    }


def table(rows: list[Row]) -> list[list[str]]:
    """Return the ratios, one line for each arm."""
    lines = [["exploration", *GRIDS]]
    by_grid = {grid: ratios(rows, grid) for grid in GRIDS}
    labels = BASELINES | {
        easee_arm(depth, last_only): f"{label}, depth {depth}"
        for last_only, label in WEIGHTINGS.items()
        for depth in DEPTHS
    }
    for arm, label in labels.items():
        estimates = [by_grid[grid].get(arm) for grid in GRIDS]
        if any(estimates):
            lines.append([label, *map(cell, estimates)])
    return lines


def plot(rows: list[Row], folder: Path) -> list[Path]:
    """Draw one picture for each grid."""
    return [_plot_grid(rows, grid, folder) for grid in GRIDS]


def _plot_grid(rows: list[Row], grid: str, folder: Path) -> Path:
    figure, axes = subplots(size=(8, 5))
    by_arm = ratios(rows, grid)
    for colour, (last_only, label) in zip(COLOURS, WEIGHTINGS.items(), strict=False):
        depths = [depth for depth in DEPTHS if easee_arm(depth, last_only) in by_arm]
        estimates = [by_arm[easee_arm(depth, last_only)] for depth in depths]
        curve(axes, depths, estimates, color=colour, marker="o", label=label)
    styles = zip(("-", "--", "-."), (GREY, *COLOURS[3:]), strict=False)
    for (kind, label), (style, colour) in zip(BASELINES.items(), styles, strict=False):
        if kind in by_arm:
            value, low, high = by_arm[kind]
            axes.axhline(value, color=colour, linestyle=style, linewidth=1.4, label=label)
            axes.axhspan(low, high, color=colour, alpha=0.12, linewidth=0)
    uniform = [row.value for row in rows if row.arm == f"{grid}/uniform"]
    if uniform:
        most = min(STATES[grid], EPISODES * STEPS)
        ceiling = most * len(uniform) / sum(uniform)
        axes.axhline(ceiling, color="black", linewidth=1, linestyle=":")
        what = "states" if most == STATES[grid] else "steps"
        axes.text(1, ceiling, f" ceiling: {most:,} {what}", va="bottom", fontsize=9)
    axes.set_xscale("log")
    bare(axes)
    axes.set_xticks(DEPTHS, [str(depth) for depth in DEPTHS])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("depth of the local-dynamics graph")
    axes.set_ylabel("unique states / uniform actions")
    axes.set_title(f"{grid}: coverage in {EPISODES} episodes of {STEPS} steps")
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(0, 0.93))
    return save(figure, folder / f"{grid.lower()}.png")


FIGURE = Figure(
    name="depth",
    title="coverage against depth with the complete priors, against baselines",
    runs=runs_of(_arms()),
    seeds=20,
    backends=one_by_one(measure),
    plot=plot,
    table=table,
    config={"steps": STEPS, "size": list(SIZE), "episodes": EPISODES},
)
