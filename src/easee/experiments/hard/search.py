"""`hard-search`, `hard-search-minigrid`: DQN's hyperparameters and the rivals' parameters.

The learner is chosen for epsilon-greedy exploration, on the smallest goal grid, by its mean success
over training. The rivals' own parameters are then chosen the same way. EASEE has none. The same
settings are compared on a stock MiniGrid, with convolutions, to see whether the choice holds there;
with EASEE, too, to see whether its lead depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from easee.experiments.hard.measures import measure_arms
from easee.experiments.hard.tasks import BINS, LEARNER, TASKS, HardTask
from easee.experiments.hard.training import BACKEND
from easee.experiments.harness.figure import Backend, Figure, Row, runs_of
from easee.experiments.harness.plots import points
from easee.experiments.harness.rows import count_seeds, seeds_text
from easee.experiments.harness.statistics import cell, mean_interval
from easee.viz.files import subplots
from easee.viz.style import METHODS, WIDTH, Look

SEARCHES = {"hard-search": TASKS["goal-31"], "hard-search-minigrid": TASKS["MiniGrid-Unlock-v0"]}
# Each learner differs from `LEARNER` in one or two settings.
LEARNERS: dict[str, dict[str, Any]] = {
    "chosen": {},
    "learning rate 3e-4": {"learning_rate": 3e-4},
    "learning rate 3e-3": {"learning_rate": 3e-3},
    "one-step returns": {"n_steps": 1},
    "three-step returns": {"n_steps": 3},
    "ten-step returns": {"n_steps": 10},
    "not double": {"double": False},
    "no layer norm": {"layer_norm": False},
    "target every 500 steps": {"target_update_interval": 500},
    "target every 5,000 steps": {"target_update_interval": 5_000},
    "update every 4 steps": {"train_freq": 4},
    "annealing over a fifth": {"exploration_fraction": 0.2},
    "plain DQN, learning rate 1e-4": {
        "n_steps": 1, "double": False, "layer_norm": False, "learning_rate": 1e-4,
    },
}  # fmt: skip
RIVALS: dict[str, dict[str, Any]] = {
    **{f"zeta, mu {mu}": {"explorer": "zeta", "mu": mu} for mu in (1.5, 2.0, 2.5, 3.0)},
    **{
        f"count, weight {w}": {"explorer": "count", "weight": w} for w in (0.001, 0.003, 0.01, 0.03)
    },
    **{f"rnd, weight {w}": {"explorer": "rnd", "weight": w} for w in (0.001, 0.003, 0.01, 0.03)},
}


def _arms(task: HardTask) -> dict[str, dict[str, Any]]:
    common = {"task": task.name, "steps": task.steps, "explorer": "uniform"}
    explorers = ("uniform", "usual") if task.convolutions else ("uniform",)
    learners = {
        f"{explorer}/{name}": common | {"explorer": explorer, "learner": learner}
        for explorer in explorers
        for name, learner in LEARNERS.items()
    }
    return learners | {f"rival/{name}": common | settings for name, settings in RIVALS.items()}


def table(steps: int, rows: list[Row]) -> list[list[str]]:
    """Return a line for each setting, the best first."""
    arms = measure_arms(rows, steps)
    lines = [["setting", "seeds", "success, whole training", "success, last tenth"]]
    order = sorted(arms, key=lambda arm: (arm.startswith("rival/"), -sum(arms[arm].whole)))
    for arm in order:
        runs = arms[arm]
        means = (cell(mean_interval(values)) for values in (runs.whole, runs.last))
        lines.append([_setting(arm), str(len(runs.whole)), *means])
    return lines


def draw(name: str, task: str, steps: int, rows: list[Row]) -> dict[str, Any]:
    """Draw the mean success over training of each setting."""
    arms = measure_arms(rows, steps)
    figure, axes = subplots(figsize=(WIDTH, 1 + 0.27 * len(arms)))
    for place, arm in enumerate(arms):
        points(axes, [place], [mean_interval(arms[arm].whole)], _look(arm), across=True)
    axes.set_yticks(
        range(len(arms)), [_setting(arm).replace("zeta", "temporally extended") for arm in arms]
    )
    axes.set(xlim=(0, None), ylim=(len(arms) - 0.5, -0.5))
    axes.grid(axis="x", color="#dddddd", linewidth=0.8)
    seeds = seeds_text(count_seeds(rows), intervals=True)
    figure.supxlabel(f"mean success over training on {task}, {seeds}")
    return {name: figure}


def _setting(arm: str) -> str:
    kind, _, setting = arm.partition("/")
    return f"EASEE, {setting}" if kind == "usual" else setting


def _look(arm: str) -> Look:
    kind, _, setting = arm.partition("/")
    return METHODS.get(kind, METHODS.get(setting.partition(",")[0], METHODS["uniform"]))


def search_figure(
    name: str,
    learner: str,
    task: HardTask,
    steps: int,
    arms: Mapping[str, dict[str, Any]],
    *,
    backend: Backend,
    base: Mapping[str, Any],
) -> Figure:
    """Return the figure of a search: settings of a learner that differ from `base`, as arms."""
    return Figure(
        name=name,
        title=f"hyperparameters of {learner} and of the rivals on {task.name}",
        runs=runs_of(arms),
        seeds=10,
        backends={"population": backend},
        draw=partial(draw, name, task.name, steps),
        table=partial(table, steps),
        config={"learner": dict(base), "bins": BINS, "steps": steps},
    )


FIGURES = [
    search_figure(name, "DQN", task, task.steps, _arms(task), backend=BACKEND, base=LEARNER)
    for name, task in SEARCHES.items()
]
