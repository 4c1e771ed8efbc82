"""Beyond Figure 3: deep graphs with the complete priors, against baselines."""

import re
from typing import Any

from easee.experiments.coverage import simulation
from easee.experiments.coverage.simulation import EPISODES, GRIDS, SIZE, STATES, STEPS, ratios
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.figure import Figure, Row, runs_of
from easee.experiments.harness.plots import curve, level
from easee.experiments.harness.rows import values_by_arm
from easee.experiments.harness.statistics import Estimate, cell
from easee.viz.files import subplots
from easee.viz.labels import label_lines, label_ticks
from easee.viz.style import METHODS, SMALL, WIDTH, names

DEPTHS = (1, 2, 4, 6, 8, 10, 15, 20, 30, 40, 50, 70, 100)
PRIORS = {"CardinalGrid": "cardinal-grid", "RotationGrid": "rotation-grid-complete"}
BASELINES = names("uniform", "tabu", "zeta")
WEIGHTINGS = {"easee": "EASEE, all layers count", "easee-last": "EASEE, only the last layer counts"}
LOOKS = {"easee": METHODS["easee"], "easee-last": METHODS["exact"]}


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
    figure, axes = subplots(figsize=(WIDTH, 5))
    for weighting, label in WEIGHTINGS.items():
        arms = {depth: f"{grid}/{weighting}/{depth}" for depth in DEPTHS}
        found = {depth: by_arm[arm] for depth, arm in arms.items() if arm in by_arm}
        look = LOOKS[weighting].called(_wrapped(label))
        if found:
            curve(axes, [*found], [*found.values()], look)
    for kind, label in BASELINES.items():
        if f"{grid}/{kind}" in by_arm:
            level(axes, by_arm[f"{grid}/{kind}"], METHODS[kind].called(_wrapped(label)))
    label_ticks(axes, [depth for depth in DEPTHS if depth not in (8, 15, 40, 70)])
    axes.set(
        ylim=(0, None),
        xlabel="depth of the local-dynamics graph",
        ylabel="unique states / uniform actions",
        title=f"{grid}: coverage in {EPISODES} episodes of {STEPS} steps",
    )
    axes.text(0.02, 0.97, _ceiling(rows, grid), transform=axes.transAxes, va="top",
              fontsize=SMALL)  # fmt: skip
    label_lines(axes)
    return figure


def _wrapped(label: str) -> str:
    """Return a label in two lines."""
    return re.sub("[,:] ", ",\n", label)


def _ceiling(rows: list[Row], grid: str) -> str:
    """Return a sentence about the largest possible ratio, which is far above the curves."""
    uniform = values_by_arm(rows).get(f"{grid}/uniform")
    if not uniform:
        return ""
    most = min(STATES[grid], EPISODES * STEPS)
    unit = "states" if most == STATES[grid] else "steps"
    return f"ceiling: {most * len(uniform) / sum(uniform):.1f} ({most:,} {unit})"


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
