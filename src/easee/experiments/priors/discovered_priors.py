"""End to end with no human knowledge: discover, compile, explore, learn.

On RotationGrid: coverage with the prior that was discovered, at depth 30. On DoorKey: Q-learning
with the discovered prior beside the paper's. What discovery itself cost is reported beside it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from easee.agents.q_learning import learn
from easee.envs.grids import RotationGrid
from easee.experiments.coverage.common import SIZE, STEPS
from easee.experiments.coverage.simulation import unique_states, walk
from easee.experiments.harness.explorers import generator, make_explorer
from easee.experiments.harness.figure import Figure, Measured, Row, Run
from easee.experiments.harness.learning_curves import binned, cell, draw_curves, finals
from easee.experiments.harness.plots import COLOURS, GREY, bare
from easee.experiments.harness.statistics import improvement_interval, mean_interval, ratio_interval
from easee.experiments.tabular.doorkey import BINS, EPISODES, SETTINGS, TAIL, layout
from easee.explorers.base import BaseExplorer
from easee.explorers.easee import Explorer
from easee.policy import ExplorationPolicy, compile
from easee.priors import DOORKEY_ACTIONS
from easee.probing.discover import Discovery, discover
from easee.viz.files import pyplot, save

WALKS = 100
LIMIT = 100  # steps of an episode of RotationGrid
Arms = dict[str, tuple[str, dict[str, Any]]]
COVERAGE: Arms = {
    "grid/uniform": ("uniform actions", {"explorer": "uniform"}),
    "grid/zeta": ("temporally extended, µ = 2", {"explorer": "zeta"}),
    "grid/discovered": ("EASEE, depth 30, discovered prior", {"explorer": "discovered"}),
    "grid/known": (
        "EASEE, depth 30, complete prior",
        {"explorer": "easee", "prior": "rotation-grid-complete", "depth": 30},
    ),
}
LEARNING: Arms = {
    "door/uniform": ("epsilon-greedy", {"explorer": "uniform"}),
    "door/discovered": ("EASEE, depth 6, discovered prior", {"explorer": "discovered"}),
    "door/known": (
        "EASEE, depth 6, the paper's prior",
        {"explorer": "easee", "prior": "doorkey", "depth": 6},
    ),
}
STATES, REWARD, COST = "unique states", "reward", "steps of discovery"


def runs(seeds: int) -> list[Run]:
    """Return all arms."""
    arms = (COVERAGE | LEARNING).items()
    return [Run(name, seed, each) for name, (_, each) in arms for seed in range(seeds)]


def measure(run: Run) -> Measured:
    """Discover where the arm asks for it, then explore or learn."""
    if run.arm.startswith("grid/"):
        # On the grid every seed discovers for itself; its steps are few.
        found = discover_grid(run.seed) if run.arm == "grid/discovered" else None
        explorer = _explorer(run, len(RotationGrid.action_names), found, depth=30, n_envs=WALKS)
        seen = unique_states(walk(RotationGrid, explorer, STEPS, SIZE))
        rows: Measured = [(WALKS, STATES, float(seen))]
        step = WALKS
    else:
        found = discover_doorkey() if run.arm == "door/discovered" else None
        explorer = _explorer(run, len(DOORKEY_ACTIONS), found, depth=6)
        seed = int(generator(run).integers(2**31))
        learned = learn(layout(run.seed), explorer, episodes=EPISODES, seed=seed, **SETTINGS)
        episodes = range(1, EPISODES + 1)
        rows = binned(episodes, learned.rewards, total=EPISODES, bins=BINS)
        step = EPISODES
    return rows if found is None else [*rows, (step, COST, float(found.env_steps))]


def _explorer(
    run: Run, n_actions: int, found: Discovery | None, *, depth: int, n_envs: int = 1
) -> BaseExplorer:
    if found is None:
        return make_explorer(run, n_actions, n_envs)
    return Explorer(_compiled(str(found.equivalences), found, depth), n_envs, generator(run))


_POLICIES: dict[tuple[str, int], ExplorationPolicy] = {}


def _compiled(text: str, found: Discovery, depth: int) -> ExplorationPolicy:
    """Compile a discovered prior, once."""
    if (text, depth) not in _POLICIES:
        _POLICIES[text, depth] = compile(found.equivalences, depth)
    return _POLICIES[text, depth]


def discover_grid(seed: int) -> Discovery:
    """Return what is discovered on RotationGrid."""
    from gymnasium.wrappers import TimeLimit

    return discover(TimeLimit(RotationGrid(SIZE), LIMIT), seed=seed)


@lru_cache(maxsize=1)
def discover_doorkey() -> Discovery:
    """Return what is discovered on DoorKey, over many layouts; the same for all runs."""
    from easee.envs.doorkey import DoorKey

    return discover(DoorKey(), seed=1)


def values(rows: list[Row], name: str, metric: str = STATES) -> list[float]:
    """Return an arm's values of a metric."""
    return [row.value for row in rows if row.arm == name and row.metric == metric]


def table(rows: list[Row]) -> list[list[str]]:
    """Return what each arm came to, and what discovery cost."""
    lines = [["task", "exploration", "result", "against uniform", "steps of discovery"]]
    base = values(rows, "grid/uniform")
    for name, (label, _) in COVERAGE.items():
        found = values(rows, name)
        if found and base:
            ratio = cell(ratio_interval(found, base))
            result = f"{np.mean(found):,.0f} states"
            lines.append(["RotationGrid", label, result, f"{ratio} times", _cost(rows, name)])
    base = finals(rows, "door/uniform", EPISODES - TAIL)
    for name, (label, _) in LEARNING.items():
        found = finals(rows, name, EPISODES - TAIL)
        if found and base:
            better = cell(improvement_interval(found, base)) if name != "door/uniform" else "-"
            result = f"{cell(mean_interval(found))} mean reward"
            lines.append(["DoorKey", label, result, f"better: {better}", _cost(rows, name)])
    return lines


def _cost(rows: list[Row], name: str) -> str:
    found = values(rows, name, COST)
    return f"{np.mean(found):,.0f}" if found else "-"


def plot(rows: list[Row], folder: Path) -> list[Path]:
    """Draw coverage as bars and learning as curves."""
    plt = pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.4), layout="constrained")
    base = values(rows, "grid/uniform")
    shown = [name for name in COVERAGE if values(rows, name)]
    for i, name in enumerate(shown):
        ratio = ratio_interval(values(rows, name), base)
        error = [[ratio.value - ratio.low], [ratio.high - ratio.value]]
        colour = GREY if name == "grid/uniform" else COLOURS[i - 1]
        left.barh(i, ratio.value, xerr=error, color=colour, height=0.6)
        left.text(ratio.high + 0.08, i, f"{ratio.value:.2f}", va="center")
    left.set_yticks(range(len(shown)), [COVERAGE[name][0] for name in shown])
    left.invert_yaxis()
    left.set_xlabel("unique states / uniform actions")
    left.set_title(f"RotationGrid, {WALKS} episodes of {STEPS} steps", fontsize=11)
    bare(left)
    labels = {name: label for name, (label, _) in LEARNING.items()}
    draw_curves(right, rows, labels, baseline="door/uniform")
    right.set_ylim(0, 1)
    right.set_xlabel("episode")
    right.set_ylabel("mean reward")
    right.set_title("Q-learning on DoorKey", fontsize=11)
    right.legend(frameon=False, fontsize=9)
    return [save(figure, folder / "discovery.png")]


FIGURE = Figure(
    name="discovery",
    title="no human knowledge: discover, compile, explore, learn",
    runs=runs,
    seeds=15,
    measure=measure,
    plot=plot,
    table=table,
    config=SETTINGS | {"steps": STEPS, "walks": WALKS, "episodes": EPISODES},
)
