"""Figure 3 of the paper: pure exploration on both grids.

(a, b) unique states over 100 episodes relative to uniform actions, for every prior and depth.
(c, d) unique states against the number of episodes, at depth 4.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from easee.experiments.coverage.common import METRIC, SIZE, STEPS, measure
from easee.experiments.harness.figure import Figure, Row, Run
from easee.experiments.harness.plots import COLOURS, GREY, bare, curve
from easee.experiments.harness.statistics import Estimate, mean_interval, ratio_interval
from easee.experiments.harness.store import group
from easee.viz.files import pyplot, save

PRIORS = {
    "CardinalGrid": {
        "cardinal-right-left": "→← commute",
        "cardinal-all-commute": "all commute (six pairs)",
        "cardinal-one-inverse": "all commute, →← ~ Λ",
        "cardinal-grid": "all commute, →← ~ ↑↓ ~ Λ",
        "cardinal-all-commute-printed": "two pairs, as printed",
        "cardinal-both-inverses-printed": "two pairs, as printed, →← ~ ↑↓ ~ Λ",
    },
    "RotationGrid": {
        "rotation-one-inverse": "↷↶ ~ Λ",
        "rotation-both-inverses": "↷↶ ~ ↶↷ ~ Λ",
        "rotation-grid": "↷↶ ~ ↶↷ ~ Λ, ↷↷ ~ ↶↶",
        "rotation-grid-complete": "the complete prior",
    },
}
DEPTHS = range(1, 9)
EPISODES = (1, 10, 100, 1000)
BAR_DEPTH = 4


def runs(seeds: int) -> list[Run]:
    """Return every prior at every depth, and uniform actions, for each seed."""
    found = []
    for grid, sets in PRIORS.items():
        for seed in range(seeds):
            base = {"grid": grid, "explorer": "uniform", "episodes": EPISODES}
            found.append(Run(f"{grid}/uniform", seed, base))
            for prior in sets:
                for depth in DEPTHS:
                    episodes = EPISODES if depth == BAR_DEPTH else (100,)
                    settings = {
                        "grid": grid,
                        "explorer": "easee",
                        "prior": prior,
                        "depth": depth,
                        "episodes": episodes,
                    }
                    found.append(Run(arm(grid, prior, depth), seed, settings))
    return found


def arm(grid: str, prior: str, depth: int) -> str:
    """Name an arm."""
    return f"{grid}/{prior}/{depth}"


def ratios(rows: list[Row]) -> dict[tuple[str, str, int], Estimate]:
    """Return by (grid, prior, depth) the ratio to uniform over 100 episodes."""
    values = group(rows)
    found = {}
    for grid, sets in PRIORS.items():
        uniform = values.get((f"{grid}/uniform", METRIC, 100))
        for prior in sets:
            for depth in DEPTHS:
                ours = values.get((arm(grid, prior, depth), METRIC, 100))
                if ours and uniform:
                    found[grid, prior, depth] = ratio_interval(
                        list(ours.values()), list(uniform.values())
                    )
    return found


def table(rows: list[Row]) -> list[list[str]]:
    """Return the ratios as a table."""
    found = ratios(rows)
    depths = sorted({depth for _, _, depth in found})
    lines = [["ratio to uniform at depth", *map(str, depths)]]
    for grid, sets in PRIORS.items():
        for prior, label in sets.items():
            cells = [found.get((grid, prior, depth)) for depth in depths]
            if any(cells):
                ratio = [f"{e.value:.2f}" if e else "-" for e in cells]
                lines.append([f"{grid}: {label}", *ratio])
    return lines


def plot(rows: list[Row], folder: Path) -> list[Path]:
    """Draw the four panels."""
    plt = pyplot()
    figure, grid = plt.subplots(2, 2, figsize=(12, 8.6), layout="constrained")
    found = ratios(rows)
    for panel, (name, axes) in zip("ab", zip(PRIORS, grid[0], strict=True), strict=True):
        _ratio_panel(axes, name, found)
        axes.set_title(f"({panel}) {name}: 100 episodes, relative to uniform")
    for panel, (name, axes) in zip("cd", zip(PRIORS, grid[1], strict=True), strict=True):
        _bar_panel(axes, name, rows)
        axes.set_title(f"({panel}) {name}: unique states, EASEE at depth {BAR_DEPTH}")
    seeds = len({row.seed for row in rows})
    figure.suptitle(
        f"Figure 3: 100 x 100 grids, 100 steps an episode, {seeds} seeds, 95% intervals"
    )
    return [save(figure, folder / "fig3.png")]


def _ratio_panel(axes: Any, name: str, found: dict[tuple[str, str, int], Estimate]) -> None:
    for colour, (prior, label) in zip(COLOURS, PRIORS[name].items(), strict=False):
        depths = [d for d in DEPTHS if (name, prior, d) in found]
        estimates = [found[name, prior, d] for d in depths]
        style = ":" if "printed" in label else "--" if "complete" in label else "-"
        curve(axes, depths, estimates, color=colour, marker="o", linestyle=style, label=label)
    axes.axhline(1.0, color=GREY, linewidth=1)
    bare(axes)
    axes.set_xlabel("depth")
    axes.set_ylabel("unique states / uniform")
    axes.legend(frameon=False, fontsize=9)


def _bar_panel(axes: Any, name: str, rows: list[Row]) -> None:
    values = group(rows)
    arms = {"uniform": f"{name}/uniform"}
    arms |= {
        label: arm(name, prior, BAR_DEPTH)
        for prior, label in PRIORS[name].items()
        if "printed" not in label
    }
    width = 0.8 / len(arms)
    for i, (colour, (label, key)) in enumerate(zip((GREY, *COLOURS), arms.items(), strict=False)):
        estimates = [
            mean_interval(list(values[key, METRIC, n].values()))
            for n in EPISODES
            if (key, METRIC, n) in values
        ]
        x = [j + (i - (len(arms) - 1) / 2) * width for j in range(len(estimates))]
        errors = [
            [e.value - e.low for e in estimates],
            [e.high - e.value for e in estimates],
        ]
        axes.bar(
            x, [e.value for e in estimates], width, yerr=errors, color=colour, label=label,
            error_kw={"linewidth": 0.8},
        )  # fmt: skip
    axes.set_yscale("log")
    bare(axes)
    axes.set_xticks(range(len(EPISODES)), [f"{n:,}" for n in EPISODES])
    axes.set_xlabel("episodes")
    axes.set_ylabel("unique states")
    axes.legend(frameon=False, fontsize=8)


FIGURE = Figure(
    name="fig3",
    title="pure exploration of both grids: every prior and depth (the paper's Figure 3)",
    runs=runs,
    seeds=20,
    measure=measure,
    plot=plot,
    table=table,
    config={"steps": STEPS, "size": list(SIZE), "episodes": list(EPISODES)},
)
