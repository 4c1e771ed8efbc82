"""Figure 3 of the paper: pure exploration on both grids.

(a, b) unique states over 100 episodes relative to uniform actions, for every prior and depth.
(c, d) unique states against the number of episodes, at depth 4.
"""

from typing import Any

from easee.experiments.coverage import simulation
from easee.experiments.coverage.simulation import SIZE, STEPS, measure, ratios
from easee.experiments.harness import plots
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.figure import Figure, Row, Run
from easee.experiments.harness.rows import count_seeds, seeds_text, values_by_arm
from easee.experiments.harness.statistics import Estimate, mean_interval
from easee.viz.files import subplots

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


def arm(grid: str, prior: str, depth: int) -> str:
    """Return the name of an arm."""
    return f"{grid}/{prior}/{depth}"


def _arms(grid: str) -> dict[str, dict[str, Any]]:
    """Return uniform actions, and every prior at every depth."""
    common = {"grid": grid, "episodes": EPISODES}
    arms: dict[str, dict[str, Any]] = {f"{grid}/uniform": common | {"explorer": "uniform"}}
    for prior in PRIORS[grid]:
        for depth in DEPTHS:
            easee = common | {"explorer": "easee", "prior": prior, "depth": depth}
            few = {} if depth == BAR_DEPTH else {"episodes": (simulation.EPISODES,)}
            arms[arm(grid, prior, depth)] = easee | few
    return arms


def runs(seeds: int) -> list[Run]:
    """Return all arms of one grid for each seed, then those of the other."""
    return [
        Run(name, seed, settings)
        for grid in PRIORS
        for seed in range(seeds)
        for name, settings in _arms(grid).items()
    ]


def table(rows: list[Row]) -> list[list[str]]:
    """Return the ratios, one line for each prior."""
    by_arm = ratios(rows)
    depths = [d for d in DEPTHS if any(name.endswith(f"/{d}") for name in by_arm)]
    lines = [["ratio to uniform at depth", *map(str, depths)]]
    for grid, priors in PRIORS.items():
        for prior, label in priors.items():
            estimates = [by_arm.get(arm(grid, prior, depth)) for depth in depths]
            if any(estimates):
                cells = [f"{e.value:.2f}" if e else "-" for e in estimates]
                lines.append([f"{grid}: {label}", *cells])
    return lines


def draw(rows: list[Row]) -> dict[str, Any]:
    """Draw the four panels."""
    figure, (above, below) = subplots(2, 2, figsize=(12, 8.6))
    by_arm = ratios(rows)
    for letter, grid, axes in zip("ab", PRIORS, above, strict=True):
        _draw_ratios(axes, grid, by_arm)
        axes.set_title(f"({letter}) {grid}: 100 episodes, relative to uniform")
    for letter, grid, axes in zip("cd", PRIORS, below, strict=True):
        _draw_bars(axes, grid, rows)
        axes.set_title(f"({letter}) {grid}: unique states, EASEE at depth {BAR_DEPTH}")
    seeds = count_seeds(rows)
    title = f"Figure 3: 100 x 100 grids, 100 steps an episode, {seeds_text(seeds, intervals=True)}"
    figure.suptitle(title)
    return {"fig3": figure}


def _draw_ratios(axes: Any, grid: str, by_arm: dict[str, Estimate]) -> None:
    for colour, (prior, label) in zip(plots.COLOURS, PRIORS[grid].items(), strict=False):
        depths = [depth for depth in DEPTHS if arm(grid, prior, depth) in by_arm]
        estimates = [by_arm[arm(grid, prior, depth)] for depth in depths]
        style = ":" if "printed" in label else "--" if "complete" in label else "-"
        plots.curve(axes, depths, estimates, color=colour, marker="o", linestyle=style, label=label)
    axes.axhline(1.0, color=plots.GREY, linewidth=1)
    plots.finish(axes, xlabel="depth", ylabel="unique states / uniform", legend=9)


def _draw_bars(axes: Any, grid: str, rows: list[Row]) -> None:
    states = [values_by_arm(rows, step=episodes) for episodes in EPISODES]
    arms = {"uniform": f"{grid}/uniform"} | {
        label: arm(grid, prior, BAR_DEPTH)
        for prior, label in PRIORS[grid].items()
        if "printed" not in label
    }
    width = 0.8 / len(arms)
    bars = zip(plots.BASELINE_FIRST, arms.items(), strict=False)
    for i, (colour, (label, name)) in enumerate(bars):
        estimates = [mean_interval(by_arm[name]) for by_arm in states if name in by_arm]
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
    axes.set_xticks(range(len(EPISODES)), [f"{n:,}" for n in EPISODES])
    plots.finish(axes, xlabel="episodes", ylabel="unique states", legend=8)


FIGURE = Figure(
    name="fig3",
    title="pure exploration of both grids: every prior and depth (the paper's Figure 3)",
    runs=runs,
    seeds=20,
    backends=one_by_one(measure),
    draw=draw,
    table=table,
    config={"steps": STEPS, "size": list(SIZE), "episodes": list(EPISODES)},
)
