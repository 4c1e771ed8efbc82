"""`hard-search`, `hard-search-minigrid`: DQN's hyperparameters and the rivals' parameters.

The learner is chosen for epsilon-greedy exploration by its mean success over training: on the
smallest goal grid among settings that differ in one value, and on a stock MiniGrid, which has
images, in four rounds of such changes. The rivals' own parameters are then chosen with that
learner. EASEE has none; on MiniGrid it is tried with some of the learners, to see whether its lead
depends on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from easee.experiments.hard.measures import measure_arms
from easee.experiments.hard.tasks import BINS, LEARNER, TASKS, HardTask
from easee.experiments.hard.training import BACKEND
from easee.experiments.harness.figure import Backend, Figure, Row, runs_of
from easee.experiments.harness.plots import points
from easee.experiments.harness.rows import seeds_of_arms
from easee.experiments.harness.statistics import cell, mean_interval
from easee.viz.files import subplots
from easee.viz.style import METHODS, WIDTH, Look

GOAL_GRID, MINIGRID = TASKS["goal-31"], TASKS["MiniGrid-Unlock-v0"]
STEPS = {GOAL_GRID.name: GOAL_GRID.steps, MINIGRID.name: 200_000}
FIRST = {GOAL_GRID.name: "chosen", MINIGRID.name: "as on goal grids"}  # what `LEARNER` is called
# Changes of `LEARNER`.
CHANGES: dict[str, dict[str, Any]] = {
    "learning rate 1e-4": {"learning_rate": 1e-4},
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
ROUND_1 = tuple(name for name in CHANGES if name != "learning rate 1e-4")
EVERY_4, RATE, BARE = "update every 4 steps", "learning rate 3e-4", "no layer norm"
ROUNDS = {  # on MiniGrid: the changes that are kept from the rounds before, and those to try
    (): ROUND_1,
    (EVERY_4,): (RATE,),
    (EVERY_4, RATE): (BARE, "one-step returns", "three-step returns"),
    (EVERY_4, RATE, BARE): (
        "learning rate 1e-4", "one-step returns", "ten-step returns", "not double",
    ),
}  # fmt: skip
WITH_EASEE = ((), (RATE,), (BARE,), (EVERY_4,))
RIVALS: dict[str, dict[str, Any]] = {
    **{f"zeta, mu {mu}": {"explorer": "zeta", "mu": mu} for mu in (1.5, 2.0, 2.5, 3.0, 4.0)},
    **{
        f"count, weight {w}": {"explorer": "count", "weight": w} for w in (0.001, 0.003, 0.01, 0.03)
    },
    **{f"rnd, weight {w}": {"explorer": "rnd", "weight": w} for w in (0.001, 0.003, 0.01, 0.03)},
}


def _arms(task: HardTask) -> dict[str, dict[str, Any]]:
    common = {"task": task.name, "steps": STEPS[task.name]}
    rounds = ROUNDS if task is MINIGRID else {(): ROUND_1}
    tried = [(), *((*kept, change) for kept, changes in rounds.items() for change in changes)]
    arms = [("uniform", changes) for changes in tried]
    if task is MINIGRID:
        arms += [("usual", changes) for changes in WITH_EASEE]
    learners = {
        f"{explorer}/{', '.join(changes) or FIRST[task.name]}": common
        | {"explorer": explorer, "learner": _learner(changes)}
        for explorer, changes in arms
    }
    rivals = {
        f"rival/{name}": common | settings | {"learner": dict(task.learner)}
        for name, settings in RIVALS.items()
    }
    return learners | rivals


def _learner(changes: Iterable[str]) -> dict[str, Any]:
    learner = dict(LEARNER)
    for change in changes:
        learner |= CHANGES[change]
    return learner


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
    seeds = seeds_of_arms(rows)
    figure.supxlabel(f"mean success over training on {task}, {seeds}")
    return {name: figure}


def _setting(arm: str) -> str:
    """Return what an arm is called; changes that are kept from earlier rounds are not repeated."""
    kind, _, setting = arm.partition("/")
    for number, kept in enumerate(ROUNDS, start=1):
        if kept and setting in {", ".join((*kept, change)) for change in ROUNDS[kept]}:
            setting = f"round {number}: {setting.removeprefix(', '.join(kept) + ', ')}"
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
    of_rivals: Mapping[str, Any] | None = None,
) -> Figure:
    """Return the figure of a search: settings of a learner that differ from `base`, as arms.

    The rivals are trained with the learner `of_rivals`, by default with `base`.
    """
    config = {"learner": dict(base), "bins": BINS, "steps": steps}
    if of_rivals is not None:
        config["learner of the rivals"] = dict(of_rivals)
    return Figure(
        name=name,
        title=f"hyperparameters of {learner} and of the rivals on {task.name}",
        runs=runs_of(arms),
        seeds=10,
        backends={"population": backend},
        draw=partial(draw, name, task.name, steps),
        table=partial(table, steps),
        config=config,
    )


FIGURES = [
    search_figure(
        name,
        "DQN",
        task,
        STEPS[task.name],
        _arms(task),
        backend=BACKEND,
        base=LEARNER,
        of_rivals=task.learner,
    )
    for name, task in (("hard-search", GOAL_GRID), ("hard-search-minigrid", MINIGRID))
]
