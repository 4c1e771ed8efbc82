"""`hard-search`: the choice of DQN's hyperparameters and of the rivals' parameters.

The learner is chosen for epsilon-greedy exploration, on the smallest goal grid, by its mean success
over training. The rivals' own parameters are then chosen the same way. EASEE has none.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from easee.experiments.hard.measures import measure_arms
from easee.experiments.hard.tasks import BINS, LEARNER, TASKS
from easee.experiments.hard.training import BACKEND
from easee.experiments.harness.figure import Figure, Row, runs_of
from easee.experiments.harness.plots import points
from easee.experiments.harness.rows import count_seeds, seeds_text
from easee.experiments.harness.statistics import cell, mean_interval
from easee.viz.files import subplots
from easee.viz.style import METHODS, WIDTH

TASK = TASKS["goal-31"]
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


def _arms() -> dict[str, dict[str, Any]]:
    common = {"task": TASK.name, "steps": TASK.steps, "explorer": "uniform"}
    learners = {f"uniform/{name}": common | {"learner": v} for name, v in LEARNERS.items()}
    return learners | {f"rival/{name}": common | settings for name, settings in RIVALS.items()}


def table(task_steps: int, rows: list[Row]) -> list[list[str]]:
    """Return a line for each setting, the best first."""
    arms = measure_arms(rows, task_steps)
    lines = [["setting", "seeds", "success, whole training", "success, last tenth"]]
    order = sorted(arms, key=lambda arm: (arm.startswith("rival/"), -sum(arms[arm].whole)))
    for arm in order:
        runs = arms[arm]
        means = (cell(mean_interval(values)) for values in (runs.whole, runs.last))
        lines.append([_setting(arm), str(len(runs.whole)), *means])
    return lines


def draw(name: str, task_steps: int, rows: list[Row]) -> dict[str, Any]:
    """Draw the mean success over training of each setting."""
    arms = measure_arms(rows, task_steps)
    figure, axes = subplots(figsize=(WIDTH, 1 + 0.27 * len(arms)))
    for place, arm in enumerate(arms):
        look = METHODS.get(_setting(arm).partition(",")[0], METHODS["uniform"])
        points(axes, [place], [mean_interval(arms[arm].whole)], look, across=True)
    axes.set_yticks(
        range(len(arms)), [_setting(arm).replace("zeta", "temporally extended") for arm in arms]
    )
    axes.set(xlim=(0, None), ylim=(len(arms) - 0.5, -0.5))
    axes.grid(axis="x", color="#dddddd", linewidth=0.8)
    seeds = seeds_text(count_seeds(rows), intervals=True)
    figure.supxlabel(f"mean success over training on {TASK.name}, {seeds}")
    return {name: figure}


def _setting(arm: str) -> str:
    return arm.partition("/")[2]


FIGURE = Figure(
    name="hard-search",
    title=f"hyperparameters of DQN and of the rivals on {TASK.name}",
    runs=runs_of(_arms()),
    seeds=10,
    backends={"population": BACKEND},
    draw=partial(draw, "hard-search", TASK.steps),
    table=partial(table, TASK.steps),
    config={"learner": dict(LEARNER), "bins": BINS, "steps": TASK.steps},
)
