"""From environment to agent without human knowledge: discover, compile, explore, learn.

On RotationGrid: coverage with the discovered prior at depth 30. On DoorKey: Q-learning with the
discovered prior beside the paper's. The number of steps that discovery took is reported too.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from easee.agents.q_learning import learn
from easee.envs.grids import RotationGrid
from easee.experiments.coverage.simulation import SIZE, STEPS, unique_states, walk
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.explorers import generator, make_explorer
from easee.experiments.harness.figure import Figure, Measured, Row, Run, runs_of
from easee.experiments.harness.learning_curves import binned, cell, draw_curves, finals
from easee.experiments.harness.plots import BASELINE_FIRST, bare, error_bars, subplots
from easee.experiments.harness.statistics import improvement_interval, mean_interval, ratio_interval
from easee.experiments.tabular.doorkey import BINS, EPISODES, SETTINGS, TAIL, layout
from easee.explorers.base import BaseExplorer
from easee.explorers.easee import Explorer
from easee.policy import ExplorationPolicy, compile
from easee.priors import DOORKEY_ACTIONS
from easee.priors.equivalences import Equivalences
from easee.probing.discover import Discovery, discover
from easee.viz.files import save

WALKS = 100
LIMIT = 100  # steps of an episode of RotationGrid
COVERAGE_LABELS = {
    "grid/uniform": "uniform actions",
    "grid/zeta": "temporally extended, µ = 2",
    "grid/discovered": "EASEE, depth 30, discovered prior",
    "grid/known": "EASEE, depth 30, complete prior",
}
LEARNING_LABELS = {
    "door/uniform": "epsilon-greedy",
    "door/discovered": "EASEE, depth 6, discovered prior",
    "door/known": "EASEE, depth 6, the paper's prior",
}
ARMS: dict[str, dict[str, Any]] = {
    "grid/uniform": {"explorer": "uniform"},
    "grid/zeta": {"explorer": "zeta"},
    "grid/discovered": {"explorer": "discovered"},
    "grid/known": {"explorer": "easee", "prior": "rotation-grid-complete", "depth": 30},
    "door/uniform": {"explorer": "uniform"},
    "door/discovered": {"explorer": "discovered"},
    "door/known": {"explorer": "easee", "prior": "doorkey", "depth": 6},
}
STATES, COST = "unique states", "steps of discovery"


def measure(run: Run) -> Measured:
    """Discover a prior if the arm needs one, then explore or learn."""
    if run.arm.startswith("grid/"):
        # Discovery on the grid takes few steps, so every seed discovers its own prior.
        discovery = discover_grid(run.seed) if run.arm == "grid/discovered" else None
        n_actions = len(RotationGrid.action_names)
        explorer = _explorer(run, n_actions, discovery, depth=30, n_envs=WALKS)
        seen = unique_states(walk(RotationGrid, explorer, STEPS, SIZE))
        rows: Measured = [(WALKS, STATES, float(seen))]
        step = WALKS
    else:
        discovery = discover_doorkey() if run.arm == "door/discovered" else None
        explorer = _explorer(run, len(DOORKEY_ACTIONS), discovery, depth=6)
        seed = int(generator(run).integers(2**31))
        learned = learn(layout(run.seed), explorer, episodes=EPISODES, seed=seed, **SETTINGS)
        episodes = range(1, EPISODES + 1)
        rows = binned(episodes, learned.rewards, total=EPISODES, bins=BINS)
        step = EPISODES
    return rows if discovery is None else [*rows, (step, COST, float(discovery.env_steps))]


def _explorer(
    run: Run, n_actions: int, discovery: Discovery | None, *, depth: int, n_envs: int = 1
) -> BaseExplorer:
    if discovery is None:
        return make_explorer(run, n_actions, n_envs)
    policy = _compiled(str(discovery.equivalences), depth)
    return Explorer(policy, n_envs, generator(run))


@lru_cache(maxsize=16)
def _compiled(prior: str, depth: int) -> ExplorationPolicy:
    return compile(Equivalences.parse(prior), depth)


def discover_grid(seed: int) -> Discovery:
    """Discover the prior of RotationGrid."""
    from gymnasium.wrappers import TimeLimit

    return discover(TimeLimit(RotationGrid(SIZE), LIMIT), seed=seed)


@lru_cache(maxsize=1)
def discover_doorkey() -> Discovery:
    """Discover the prior of DoorKey over many layouts; the same for all runs."""
    from easee.envs.doorkey import DoorKey

    return discover(DoorKey(), seed=1)


def values(rows: list[Row], arm: str, metric: str = STATES) -> list[float]:
    """Return the values of a metric in an arm."""
    return [row.value for row in rows if row.arm == arm and row.metric == metric]


def table(rows: list[Row]) -> list[list[str]]:
    """Return the result of each arm, and the cost of discovery."""
    lines = [["task", "exploration", "result", "against uniform", "steps of discovery"]]
    base = values(rows, "grid/uniform")
    for arm, label in COVERAGE_LABELS.items():
        states = values(rows, arm)
        if states and base:
            ratio = cell(ratio_interval(states, base))
            result = f"{np.mean(states):,.0f} states"
            lines.append(["RotationGrid", label, result, f"{ratio} times", _cost(rows, arm)])
    base = finals(rows, "door/uniform", EPISODES - TAIL)
    for arm, label in LEARNING_LABELS.items():
        rewards = finals(rows, arm, EPISODES - TAIL)
        if rewards and base:
            better = "-" if arm == "door/uniform" else cell(improvement_interval(rewards, base))
            result = f"{cell(mean_interval(rewards))} mean reward"
            lines.append(["DoorKey", label, result, f"better: {better}", _cost(rows, arm)])
    return lines


def _cost(rows: list[Row], arm: str) -> str:
    steps = values(rows, arm, COST)
    return f"{np.mean(steps):,.0f}" if steps else "-"


def plot(rows: list[Row], folder: Path) -> list[Path]:
    """Draw coverage as bars and learning as curves."""
    figure, (left, right) = subplots(1, 2, size=(12, 4.4))
    base = values(rows, "grid/uniform")
    shown = [arm for arm in COVERAGE_LABELS if values(rows, arm)]
    for i, (arm, colour) in enumerate(zip(shown, BASELINE_FIRST, strict=False)):
        ratio = ratio_interval(values(rows, arm), base)
        left.barh(i, ratio.value, xerr=error_bars([ratio]), color=colour, height=0.6)
        left.text(ratio.high + 0.08, i, f"{ratio.value:.2f}", va="center")
    left.set_yticks(range(len(shown)), [COVERAGE_LABELS[arm] for arm in shown])
    left.invert_yaxis()
    left.set_xlabel("unique states / uniform actions")
    left.set_title(f"RotationGrid, {WALKS} episodes of {STEPS} steps", fontsize=11)
    bare(left)
    draw_curves(right, rows, LEARNING_LABELS)
    right.set_ylim(0, 1)
    right.set_xlabel("episode")
    right.set_ylabel("mean reward")
    right.set_title("Q-learning on DoorKey", fontsize=11)
    right.legend(frameon=False, fontsize=9)
    return [save(figure, folder / "discovery.png")]


FIGURE = Figure(
    name="discovery",
    title="no human knowledge: discover, compile, explore, learn",
    runs=runs_of(ARMS),
    seeds=15,
    backends=one_by_one(measure),
    plot=plot,
    table=table,
    config=SETTINGS | {"steps": STEPS, "walks": WALKS, "episodes": EPISODES},
)
