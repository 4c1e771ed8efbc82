"""From environment to agent without human knowledge: discover, compile, explore, learn.

On RotationGrid: coverage with the discovered prior at depth 30. On DoorKey: Q-learning with the
discovered prior beside the paper's. The number of steps that discovery took is reported too.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from easee.envs.grids import RotationGrid
from easee.experiments.coverage import simulation
from easee.experiments.coverage.simulation import SIZE, STEPS
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.explorers import generator, make_explorer
from easee.experiments.harness.figure import Figure, Measured, Row, Run, runs_of
from easee.experiments.harness.learning_curves import draw_against, finals
from easee.experiments.harness.plots import bars
from easee.experiments.harness.rows import values_by_arm
from easee.experiments.harness.statistics import Estimate, cell, improvement_interval, mean_interval
from easee.experiments.tabular import doorkey
from easee.experiments.tabular.doorkey import EPISODES, SETTINGS, TAIL
from easee.explorers.base import BaseExplorer
from easee.explorers.easee import Explorer
from easee.policy import ExplorationPolicy, compile
from easee.priors import DOORKEY_ACTIONS
from easee.priors.equivalences import Equivalences
from easee.probing.discover import Discovery, discover
from easee.viz.files import blank
from easee.viz.style import METHODS, WIDTH, Look

WALKS = simulation.EPISODES
COVERAGE_LABELS = {
    "grid/uniform": METHODS["uniform"].name,
    "grid/zeta": METHODS["zeta"].name,
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
LOOKS = METHODS | {"known": METHODS["easee"]}  # by the last part of an arm
STATES, COST = simulation.METRIC, "steps of discovery"


def measure(run: Run) -> Measured:
    """Discover a prior if the arm needs one, then explore or learn."""
    discovers = run.settings["explorer"] == "discovered"
    if run.arm.startswith("grid/"):
        # Discovery on the grid takes few steps, so every seed discovers its own prior.
        discovery = discover_grid(run.seed) if discovers else None
        explorer = _explorer(run, len(RotationGrid.action_names), discovery, depth=30, n_envs=WALKS)
        seen = simulation.unique_states(simulation.walk(RotationGrid, explorer, STEPS, SIZE))
        rows: Measured = [(WALKS, STATES, float(seen))]
    else:
        discovery = discover_doorkey() if discovers else None
        explorer = _explorer(run, len(DOORKEY_ACTIONS), discovery, depth=6)
        rows = doorkey.curve(doorkey.rewards(run, doorkey.layout(run.seed), explorer))
    return rows if discovery is None else [*rows, (rows[-1][0], COST, float(discovery.env_steps))]


def _explorer(
    run: Run, n_actions: int, discovery: Discovery | None, *, depth: int, n_envs: int = 1
) -> BaseExplorer:
    if discovery is None:
        return make_explorer(run, n_actions, n_envs)
    return Explorer(_compiled(str(discovery.equivalences), depth), n_envs, generator(run))


@lru_cache(maxsize=16)
def _compiled(prior: str, depth: int) -> ExplorationPolicy:
    return compile(Equivalences.parse(prior), depth)


def discover_grid(seed: int) -> Discovery:
    """Discover the prior of RotationGrid."""
    from gymnasium.wrappers import TimeLimit

    return discover(TimeLimit(RotationGrid(SIZE), STEPS), seed=seed)


@lru_cache(maxsize=1)
def discover_doorkey() -> Discovery:
    """Discover the prior of DoorKey over many layouts; the same for all runs."""
    from easee.envs.doorkey import DoorKey

    return discover(DoorKey(), seed=1)


def table(rows: list[Row]) -> list[list[str]]:
    """Return the result of each arm, and the cost of discovery."""
    lines = [["task", "exploration", "result", "against uniform", "steps of discovery"]]
    states, costs = (values_by_arm(rows, metric=metric) for metric in (STATES, COST))
    cost = {arm: f"{np.mean(steps):,.0f}" for arm, steps in costs.items()}
    for arm, ratio in _ratios(rows).items():
        result, against = f"{np.mean(states[arm]):,.0f} states", f"{cell(ratio)} times"
        label = COVERAGE_LABELS[arm]
        lines.append(["RotationGrid", label, result, against, cost.get(arm, "-")])
    base = finals(rows, "door/uniform", EPISODES - TAIL)
    for arm, label in LEARNING_LABELS.items():
        rewards = finals(rows, arm, EPISODES - TAIL)
        if rewards and base:
            improvement = improvement_interval(rewards.values(), base.values())
            better = "-" if arm == "door/uniform" else cell(improvement)
            result = f"{cell(mean_interval(rewards.values()))} mean reward"
            lines.append(["DoorKey", label, result, f"better: {better}", cost.get(arm, "-")])
    return lines


def _ratios(rows: list[Row]) -> dict[str, Estimate]:
    """Return the ratio to uniform actions on the grid, in the order of the labels."""
    ratios = simulation.ratios(rows)
    return {arm: ratios[arm] for arm in COVERAGE_LABELS if arm in ratios}


def draw(rows: list[Row]) -> dict[str, Any]:
    """Draw coverage as bars, and below it each learning curve beside epsilon-greedy's."""
    figure, panels = _figure()
    ratios = _ratios(rows)
    looks = [_look(arm) for arm in ratios]
    bars(panels["grid"], range(len(ratios)), [*ratios.values()], looks)
    labels = [COVERAGE_LABELS[arm].replace("depth 30, ", "") for arm in ratios]
    panels["grid"].set_yticks(range(len(ratios)), labels)
    panels["grid"].invert_yaxis()
    panels["grid"].set_title(f"RotationGrid, {WALKS} episodes, EASEE at depth 30")
    panels["grid"].set_xlabel("unique states / uniform actions")
    for arm in ("door/discovered", "door/known"):
        look = _look(arm).called(LEARNING_LABELS[arm].replace("depth 6, ", ""))
        draw_against(panels[arm], rows, arm, look, baseline="door/uniform")
        panels[arm].set(ylim=(0, 1), xlabel="episode")
    panels["door/discovered"].set_ylabel("mean reward")
    return {"discovery": figure}


def _figure() -> tuple[Any, dict[str, Any]]:
    """Return a figure with a panel for the grid, and below it one for each learning curve."""
    figure = blank(WIDTH, 7)
    figure.set_layout_engine("constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1, 1.25))
    panels = {"grid": above.subplots()}
    panels["door/discovered"], panels["door/known"] = below.subplots(1, 2, sharey=True)
    below.suptitle("Q-learning on DoorKey, EASEE at depth 6, beside epsilon-greedy (grey)")
    return figure, panels


def _look(arm: str) -> Look:
    return LOOKS[arm.partition("/")[2]]


FIGURE = Figure(
    name="discovery",
    title="no human knowledge: discover, compile, explore, learn",
    runs=runs_of(ARMS),
    seeds=15,
    backends=one_by_one(measure),
    draw=draw,
    table=table,
    config=SETTINGS | {"steps": STEPS, "walks": WALKS, "episodes": EPISODES},
)
