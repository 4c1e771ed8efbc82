"""Beyond Figure 3: deep graphs with the complete priors, against baselines."""

from typing import Any

from easee.experiments.coverage import simulation
from easee.experiments.coverage.simulation import EPISODES, GRIDS, SIZE, STATES, STEPS, ratios
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.figure import Figure, Row, runs_of
from easee.experiments.harness.plots import COLOURS, GREY, curve, finish
from easee.experiments.harness.rows import values_by_arm
from easee.experiments.harness.statistics import Estimate, cell
from easee.viz.files import subplots

DEPTHS = (1, 2, 4, 6, 8, 10, 15, 20, 30, 40, 50, 70, 100)
PRIORS = {"CardinalGrid": "cardinal-grid", "RotationGrid": "rotation-grid-complete"}
BASELINES = {
    "uniform": "uniform actions",
    "tabu": "tabu: never undo the last action",
    "zeta": "temporally extended, µ = 2",
}
WEIGHTINGS = {"easee": "EASEE, all layers count", "easee-last": "EASEE, only the last layer counts"}


def _arms() -> dict[str, dict[str, Any]]:
    """Return all baselines, and every depth with both weightings, on both grids."""
    arms: dict[str, dict[str, Any]] = {}
    for grid, prior in PRIORS.items():
        common = {"grid": grid, "episodes": [EPISODES], "prior": prior}
        arms |= {f"{grid}/{kind}": common | {"explorer": kind} for kind in BASELINES}
        for weighting in WEIGHTINGS:
            easee = {"explorer": "easee", "last_only": weighting == "easee-last"}
            for depth in DEPTHS:
                arms[f"{grid}/{weighting}/{depth}"] = common | easee | {"depth": depth}
    return arms


def table(rows: list[Row]) -> list[list[str]]:
    """Return the ratios, one line for each arm."""
    labels = BASELINES | {
        f"{weighting}/{depth}": f"{label}, depth {depth}"
        for weighting, label in WEIGHTINGS.items()
        for depth in DEPTHS
    }
    by_arm = ratios(rows)
    lines = [["exploration", *GRIDS]]
    for arm, label in labels.items():
        estimates = [by_arm.get(f"{grid}/{arm}") for grid in GRIDS]
        if any(estimates):
            lines.append([label, *map(cell, estimates)])
    return lines


def draw(rows: list[Row]) -> dict[str, Any]:
    """Draw one picture for each grid."""
    by_arm = ratios(rows)
    return {grid.lower(): _draw_grid(rows, by_arm, grid) for grid in GRIDS}


def _draw_grid(rows: list[Row], by_arm: dict[str, Estimate], grid: str) -> Any:
    figure, axes = subplots(figsize=(8, 5))
    for colour, (weighting, label) in zip(COLOURS, WEIGHTINGS.items(), strict=False):
        arms = {depth: f"{grid}/{weighting}/{depth}" for depth in DEPTHS}
        found = {depth: by_arm[arm] for depth, arm in arms.items() if arm in by_arm}
        curve(axes, [*found], [*found.values()], color=colour, marker="o", label=label)
    styles = zip(("-", "--", "-."), (GREY, *COLOURS[3:]), strict=False)
    for (kind, label), (style, colour) in zip(BASELINES.items(), styles, strict=False):
        if f"{grid}/{kind}" in by_arm:
            value, low, high = by_arm[f"{grid}/{kind}"]
            axes.axhline(value, color=colour, linestyle=style, linewidth=1.4, label=label)
            axes.axhspan(low, high, color=colour, alpha=0.12, linewidth=0)
    uniform = values_by_arm(rows).get(f"{grid}/uniform")
    if uniform:
        most = min(STATES[grid], EPISODES * STEPS)
        ceiling = most * len(uniform) / sum(uniform)
        axes.axhline(ceiling, color="black", linewidth=1, linestyle=":")
        unit = "states" if most == STATES[grid] else "steps"
        axes.text(1, ceiling, f" ceiling: {most:,} {unit}", va="bottom", fontsize=9)
    axes.set_xscale("log")
    axes.set_xticks(DEPTHS, [str(depth) for depth in DEPTHS])
    axes.minorticks_off()
    finish(
        axes,
        ylim=(0, None),
        xlabel="depth of the local-dynamics graph",
        ylabel="unique states / uniform actions",
        title=f"{grid}: coverage in {EPISODES} episodes of {STEPS} steps",
    )
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(0, 0.93))
    return figure


FIGURE = Figure(
    name="depth",
    title="coverage against depth with the complete priors, against baselines",
    runs=runs_of(_arms()),
    seeds=20,
    backends=one_by_one(simulation.measure),
    draw=draw,
    table=table,
    config={"steps": STEPS, "size": list(SIZE), "episodes": EPISODES},
)
