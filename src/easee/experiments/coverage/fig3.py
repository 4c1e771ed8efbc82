"""Figure 3 of the paper: pure exploration on both grids.

(a, b) unique states over 100 episodes relative to uniform actions, for every prior and depth.
(c, d) the same against the number of episodes, at depth 4.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from easee.experiments.coverage import simulation
from easee.experiments.coverage.simulation import SIZE, STEPS, measure, ratios
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.figure import Figure, Row, Run
from easee.experiments.harness.plots import curve
from easee.experiments.harness.rows import seeds_of_arms, values_by_arm
from easee.viz.files import subplots
from easee.viz.style import METHODS, SMALL, WIDTH, Look, shades

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
PRINTED = {  # the priors as printed in the paper, and those that its text describes
    "cardinal-all-commute-printed": "cardinal-all-commute",
    "cardinal-both-inverses-printed": "cardinal-grid",
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
    """Draw the four panels, and under each grid what its lines are."""
    figure, panels = subplots(2, 2, figsize=(WIDTH, 9))
    for letters, grid, (above, below) in zip(("ac", "bd"), PRIORS, panels.T, strict=True):
        _draw_depths(above, grid, rows)
        _draw_episodes(below, grid, rows)
        above.set_title(f"({letters[0]}) {grid}, {simulation.EPISODES} episodes")
        below.set_title(f"({letters[1]}) {grid}, depth {BAR_DEPTH}")
        below.locator_params(axis="y", nbins=5, steps=[1, 2, 5, 10])
        handles = above.get_legend_handles_labels()
        below.legend(*handles, loc="upper left", bbox_to_anchor=(-0.2, -0.3), fontsize=SMALL)
    for axes in panels[:, 0]:
        axes.set_ylabel("unique states / uniform")
    seeds = seeds_of_arms(rows)
    figure.suptitle(f"Figure 3: 100 x 100 grids, 100 steps an episode\n{seeds}")
    return {"fig3": figure}


def looks(grid: str) -> dict[str, Look]:
    """Return how each prior is drawn: darker with more relations, dotted as printed."""
    right = [prior for prior in PRIORS[grid] if not prior.endswith("-printed")]
    by_prior = dict(zip(right, shades([PRIORS[grid][prior] for prior in right]), strict=True))
    for prior, corrected in PRINTED.items():
        if corrected in by_prior:
            dotted = replace(by_prior[corrected], line=(0, (1, 1.2)), marker="")
            by_prior[prior] = dotted.called(PRIORS[grid][prior])
    return by_prior


def _draw_depths(axes: Any, grid: str, rows: list[Row]) -> None:
    by_arm = ratios(rows)
    axes.axhline(1.0, label=METHODS["uniform"].name, **METHODS["uniform"].style)
    for prior, look in looks(grid).items():
        depths = [depth for depth in DEPTHS if arm(grid, prior, depth) in by_arm]
        estimates = [by_arm[arm(grid, prior, depth)] for depth in depths]
        curve(axes, depths, estimates, look)
    axes.set(xlabel="depth", xticks=DEPTHS[1::2])


def _draw_episodes(axes: Any, grid: str, rows: list[Row]) -> None:
    by_arm = {n: ratios(rows, n) for n in EPISODES}
    axes.axhline(1.0, **METHODS["uniform"].style)
    for prior, look in looks(grid).items():
        name = arm(grid, prior, BAR_DEPTH)
        found = {i: by_arm[n][name] for i, n in enumerate(EPISODES) if name in by_arm[n]}
        if prior not in PRINTED:
            curve(axes, [*found], [*found.values()], look)
    uniform = (values_by_arm(rows, step=n).get(f"{grid}/uniform", [np.nan]) for n in EPISODES)
    states = [f"{n:,}\n({np.mean(seen):,.0f})" for n, seen in zip(EPISODES, uniform, strict=True)]
    axes.set_xticks(range(len(EPISODES)), states)
    axes.set_xlabel("episodes (states that uniform sees)")


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
