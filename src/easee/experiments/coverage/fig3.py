"""Figure 3 of the paper: pure exploration on both grids.

(a, b) unique states over 100 episodes relative to uniform actions, for every prior and depth.
(c, d) unique states against the number of episodes, at depth 4.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from easee.experiments.coverage.simulation import METRIC, SIZE, STEPS, measure
from easee.experiments.harness import plots
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.figure import Figure, Row, Run
from easee.experiments.harness.rows import count_seeds, group
from easee.experiments.harness.statistics import Estimate, mean_interval, ratio_interval
from easee.viz.files import save

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


def _arms(grid: str) -> dict[str, dict[str, Any]]:
    """Return uniform actions, and every prior at every depth."""
    arms: dict[str, dict[str, Any]] = {
        f"{grid}/uniform": {"grid": grid, "explorer": "uniform", "episodes": EPISODES}
    }
    for prior in PRIORS[grid]:
        for depth in DEPTHS:
            arms[arm(grid, prior, depth)] = {
                "grid": grid,
                "explorer": "easee",
                "prior": prior,
                "depth": depth,
                "episodes": EPISODES if depth == BAR_DEPTH else (100,),
            }
    return arms


def runs(seeds: int) -> list[Run]:
    """Return all arms of one grid for each seed, then those of the other."""
    return [
        Run(name, seed, settings)
        for grid in PRIORS
        for seed in range(seeds)
        for name, settings in _arms(grid).items()
    ]


def arm(grid: str, prior: str, depth: int) -> str:
    """Return the name of an arm."""
    return f"{grid}/{prior}/{depth}"


def ratios(rows: list[Row]) -> dict[tuple[str, str, int], Estimate]:
    """Return the ratio to uniform actions over 100 episodes, by (grid, prior, depth)."""
    values = group(rows)
    estimates = {}
    for grid, priors in PRIORS.items():
        uniform = values.get((f"{grid}/uniform", METRIC, 100))
        for prior in priors:
            for depth in DEPTHS:
                states = values.get((arm(grid, prior, depth), METRIC, 100))
                if states and uniform:
                    estimates[grid, prior, depth] = ratio_interval(
                        list(states.values()), list(uniform.values())
                    )
    return estimates


def table(rows: list[Row]) -> list[list[str]]:
    """Return the ratios, one line for each prior."""
    estimates = ratios(rows)
    depths = sorted({depth for _, _, depth in estimates})
    lines = [["ratio to uniform at depth", *map(str, depths)]]
    for grid, priors in PRIORS.items():
        for prior, label in priors.items():
            cells = [estimates.get((grid, prior, depth)) for depth in depths]
            if any(cells):
                ratio = [f"{e.value:.2f}" if e else "-" for e in cells]
                lines.append([f"{grid}: {label}", *ratio])
    return lines


def plot(rows: list[Row], folder: Path) -> list[Path]:
    """Draw the four panels."""
    figure, panels = plots.subplots(2, 2, size=(12, 8.6))
    estimates = ratios(rows)
    for letter, grid, axes in zip("ab", PRIORS, panels[0], strict=True):
        _ratio_panel(axes, grid, estimates)
        axes.set_title(f"({letter}) {grid}: 100 episodes, relative to uniform")
    for letter, grid, axes in zip("cd", PRIORS, panels[1], strict=True):
        _bar_panel(axes, grid, rows)
        axes.set_title(f"({letter}) {grid}: unique states, EASEE at depth {BAR_DEPTH}")
    seeds = count_seeds(rows)
    figure.suptitle(
        f"Figure 3: 100 x 100 grids, 100 steps an episode, {seeds} seeds, 95% intervals"
    )
    return [save(figure, folder / "fig3.png")]


def _ratio_panel(axes: Any, grid: str, ratios: dict[tuple[str, str, int], Estimate]) -> None:
    for colour, (prior, label) in zip(plots.COLOURS, PRIORS[grid].items(), strict=False):
        depths = [depth for depth in DEPTHS if (grid, prior, depth) in ratios]
        estimates = [ratios[grid, prior, depth] for depth in depths]
        style = ":" if "printed" in label else "--" if "complete" in label else "-"
        plots.curve(axes, depths, estimates, color=colour, marker="o", linestyle=style, label=label)
    axes.axhline(1.0, color=plots.GREY, linewidth=1)
    plots.bare(axes)
    axes.set_xlabel("depth")
    axes.set_ylabel("unique states / uniform")
    axes.legend(frameon=False, fontsize=9)


def _bar_panel(axes: Any, grid: str, rows: list[Row]) -> None:
    values = group(rows)
    arms = {"uniform": f"{grid}/uniform"} | {
        label: arm(grid, prior, BAR_DEPTH)
        for prior, label in PRIORS[grid].items()
        if "printed" not in label
    }
    width = 0.8 / len(arms)
    bars = zip(plots.BASELINE_FIRST, arms.items(), strict=False)
    for i, (colour, (label, name)) in enumerate(bars):
        estimates = [
            mean_interval(list(values[name, METRIC, n].values()))
            for n in EPISODES
            if (name, METRIC, n) in values
        ]
        axes.bar(
            [j + (i - (len(arms) - 1) / 2) * width for j in range(len(estimates))],
            [e.value for e in estimates],
            width,
            yerr=plots.error_bars(estimates),
            color=colour,
            label=label,
            error_kw={"linewidth": 0.8},
        )
    axes.set_yscale("log")
    plots.bare(axes)
    axes.set_xticks(range(len(EPISODES)), [f"{n:,}" for n in EPISODES])
    axes.set_xlabel("episodes")
    axes.set_ylabel("unique states")
    axes.legend(frameon=False, fontsize=8)


FIGURE = Figure(
    name="fig3",
    title="pure exploration of both grids: every prior and depth (the paper's Figure 3)",
    runs=runs,
    seeds=20,
    backends=one_by_one(measure),
    plot=plot,
    table=table,
    config={"steps": STEPS, "size": list(SIZE), "episodes": list(EPISODES)},
)
