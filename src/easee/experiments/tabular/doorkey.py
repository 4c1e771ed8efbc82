"""Figure 4a: Q-learning on DoorKey, epsilon-greedy against EASEE and temporally extended repeats.

Tie-breaking matters most. Until the goal is found for the first time all values are zero, so an
agent that breaks ties at random walks at random, whatever epsilon is. Both readings are shown: ties
at random, and ties left to the explorer.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from easee.agents.q_learning import learn
from easee.envs.table import Table, tabulate
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.explorers import agent_seed, make_explorer
from easee.experiments.harness.figure import Figure, Measured, Row, Run, runs_of
from easee.experiments.harness.learning_curves import binned, draw_against, summary
from easee.experiments.harness.rows import count_seeds
from easee.explorers.base import BaseExplorer
from easee.priors import DOORKEY_ACTIONS
from easee.viz.files import subplots
from easee.viz.style import METHODS, SMALL, WIDTH

EPISODES = 300
TAIL = 100  # episodes at the end that the table is about
BINS = 30
SETTINGS: dict[str, Any] = {"epsilon": 0.1, "learning_rate": 0.1, "discount": 0.99}
EASEE: dict[str, Any] = {"explorer": "easee", "prior": "doorkey"}
EXPLORERS: dict[str, tuple[str, dict[str, Any]]] = {
    "uniform": ("epsilon-greedy", {"explorer": "uniform"}),
    **{f"easee/{d}": (f"EASEE, depth {d}", EASEE | {"depth": d}) for d in (4, 6, 8)},
    "zeta": (METHODS["zeta"].name, {"explorer": "zeta"}),
}
TIES = {"random": "ties at random", "explore": "ties left to the explorer"}


def arm(explorer: str, ties: str) -> str:
    """Return the name of an arm; for uniform actions both ways to break ties are the same."""
    return explorer if explorer == "uniform" else f"{explorer}/{ties}"


ARMS = {
    arm(name, ties): SETTINGS | explorer | {"ties": ties}
    for ties in TIES
    for name, (_, explorer) in EXPLORERS.items()
}
runs = runs_of(ARMS)


def measure(run: Run) -> Measured:
    """Learn once; return the mean reward of every ten episodes."""
    return curve(rewards(run, layout(run.seed)))


def rewards(run: Run, world: Table, explorer: BaseExplorer | None = None) -> NDArray[np.float64]:
    """Learn once, by default with the explorer of the run; return the reward of each episode."""
    if explorer is None:
        explorer = make_explorer(run, len(DOORKEY_ACTIONS))
    options = SETTINGS | {k: v for k, v in run.settings.items() if k in (*SETTINGS, "ties")}
    return learn(world, explorer, episodes=EPISODES, seed=agent_seed(run), **options).rewards


def curve(rewards: NDArray[np.float64]) -> Measured:
    """Return the mean reward of every ten episodes."""
    return binned(range(1, EPISODES + 1), rewards, total=EPISODES, bins=BINS)


@lru_cache(maxsize=64)
def layout(seed: int) -> Table:
    """Return DoorKey with the layout of a seed, as a table."""
    from easee.envs.doorkey import DoorKey

    return tabulate(DoorKey(), seed=seed)


def labels(ties: str) -> dict[str, str]:
    """Return the labels of the arms with one way to break ties."""
    return {arm(name, ties): label for name, (label, _) in EXPLORERS.items()}


def table(rows: list[Row]) -> list[list[str]]:
    """Return the final rewards of each arm."""
    arms = labels("random")
    for name, label in labels("explore").items():
        arms.setdefault(name, f"{label}, {TIES['explore']}")
    what = f"mean reward, last {TAIL} episodes"
    return summary(rows, arms, baseline="uniform", after=EPISODES - TAIL, what=what, paired=True)


def draw(rows: list[Row]) -> dict[str, Any]:
    """Draw each explorer beside epsilon-greedy, in one row of panels for each way to break ties."""
    others = [name for name in EXPLORERS if name != "uniform"]
    shape = len(TIES), len(others)
    figure, grid = subplots(*shape, figsize=(WIDTH, 5.8), sharex=True, sharey=True)
    for line, (ties, title) in zip(grid, TIES.items(), strict=True):
        for axes, name in zip(line, others, strict=True):
            look = METHODS[name.partition("/")[0]].called(EXPLORERS[name][0].replace(" ", "\n", 1))
            draw_against(axes, rows, arm(name, ties), look)
            axes.set(ylim=(0, 1), xticks=(0, EPISODES // 2, EPISODES))
        line[0].set_ylabel(title, fontsize=SMALL)
    for axes in grid[1]:
        axes.set_title("")
    figure.supxlabel("episode")
    figure.supylabel("mean reward")
    title = f"Q-learning on DoorKey, beside epsilon-greedy (grey)\n{count_seeds(rows)} layouts"
    figure.suptitle(f"{title}, 95% intervals")
    return {"doorkey": figure}


FIGURE = Figure(
    name="doorkey",
    title="Figure 4a: Q-learning on DoorKey",
    runs=runs,
    seeds=15,
    backends=one_by_one(measure),
    draw=draw,
    table=table,
    config=SETTINGS | {"episodes": EPISODES, "bins": BINS},
)
