"""Beyond Figure 3: deep graphs with the complete priors, against the rivals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from easee.experiments.coverage.common import COMPLETE, GRIDS, SIZE, STATES, STEPS, measure
from easee.experiments.harness.figure import Figure, Row, Run
from easee.experiments.harness.plots import COLOURS, GREY, bare, curve
from easee.experiments.harness.statistics import Estimate, ratio_interval
from easee.experiments.harness.store import group
from easee.viz.files import pyplot, save

DEPTHS = (1, 2, 4, 6, 8, 10, 15, 20, 30, 40, 50, 70, 100)
RIVALS = {
    "uniform": "uniform actions",
    "tabu": "tabu: never undo the last action",
    "zeta": "temporally extended, µ = 2",
}
OURS = {False: "EASEE, all layers count", True: "EASEE, only the last layer counts"}
EPISODES = 100


def runs(seeds: int) -> list[Run]:
    """Return every depth with both weightings, and the rivals, on both grids."""
    found = []
    for grid, prior in COMPLETE.items():
        common = {"grid": grid, "episodes": [EPISODES], "prior": prior}
        for kind in RIVALS:
            found += [
                Run(f"{grid}/{kind}", seed, common | {"explorer": kind}) for seed in range(seeds)
            ]
        for last_only in OURS:
            for depth in DEPTHS:
                easee = {"explorer": "easee", "depth": depth}
                settings = common | easee | {"last_only": last_only}
                found += [Run(arm(grid, depth, last_only), s, settings) for s in range(seeds)]
    return found


def arm(grid: str, depth: int, last_only: bool) -> str:
    """Name an arm."""
    return f"{grid}/easee{'-last' if last_only else ''}/{depth}"


def ratios(rows: list[Row], grid: str) -> dict[str, Estimate]:
    """Return by arm (without the grid) the ratio to uniform actions."""
    values = {key[0]: list(by_seed.values()) for key, by_seed in group(rows).items()}
    uniform = values.get(f"{grid}/uniform")
    return {
        name.removeprefix(f"{grid}/"): ratio_interval(found, uniform)
        for name, found in values.items()
        if uniform and name.startswith(f"{grid}/")
    }


def table(rows: list[Row]) -> list[list[str]]:
    """Return the ratios, one line an arm."""
    lines = [["exploration", *GRIDS]]
    found = {grid: ratios(rows, grid) for grid in GRIDS}
    names = {kind: label for kind, label in RIVALS.items()}
    for last_only, label in OURS.items():
        names |= {
            arm("", depth, last_only).removeprefix("/"): f"{label}, depth {depth}"
            for depth in DEPTHS
        }
    for name, label in names.items():
        cells = [found[grid].get(name) for grid in GRIDS]
        if any(cells):
            lines.append([label, *(_cell(estimate) for estimate in cells)])
    return lines


def _cell(estimate: Estimate | None) -> str:
    if estimate is None:
        return "-"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


def plot(rows: list[Row], folder: Path) -> list[Path]:
    """Draw one picture per grid."""
    return [_plot_grid(rows, grid, folder) for grid in GRIDS]


def _plot_grid(rows: list[Row], grid: str, folder: Path) -> Path:
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    found = ratios(rows, grid)
    for colour, (last_only, label) in zip(COLOURS, OURS.items(), strict=False):
        depths = [d for d in DEPTHS if arm("", d, last_only).removeprefix("/") in found]
        estimates = [found[arm("", d, last_only).removeprefix("/")] for d in depths]
        curve(axes, depths, estimates, color=colour, marker="o", label=label)
    for style, colour, kind in zip(("-", "--", "-."), (GREY, *COLOURS[3:]), RIVALS, strict=False):
        if kind in found:
            _rival_line(axes, found[kind], RIVALS[kind], style, colour)
    uniform = [row.value for row in rows if row.arm == f"{grid}/uniform"]
    if uniform:
        most = min(STATES[grid], EPISODES * STEPS)
        ceiling = most * len(uniform) / sum(uniform)
        axes.axhline(ceiling, color="black", linewidth=1, linestyle=":")
        what = "states" if most == STATES[grid] else "steps"
        axes.text(1, ceiling, f" ceiling: {most:,} {what}", va="bottom", fontsize=9)
    axes.set_xscale("log")
    bare(axes)
    axes.set_xticks(DEPTHS, [str(d) for d in DEPTHS])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("depth of the local-dynamics graph")
    axes.set_ylabel("unique states / uniform actions")
    axes.set_title(f"{grid}: coverage in {EPISODES} episodes of {STEPS} steps")
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(0, 0.93))
    return save(figure, folder / f"{grid.lower()}.png")


def _rival_line(axes: Any, estimate: Estimate, label: str, style: str, colour: str) -> None:
    axes.axhline(estimate.value, color=colour, linestyle=style, linewidth=1.4, label=label)
    axes.axhspan(estimate.low, estimate.high, color=colour, alpha=0.12, linewidth=0)


FIGURE = Figure(
    name="depth",
    title="coverage against depth with the complete priors, against the rivals",
    runs=runs,
    seeds=20,
    measure=measure,
    plot=plot,
    table=table,
    config={"steps": STEPS, "size": list(SIZE), "episodes": EPISODES},
)
