"""Figure 4a: Q-learning on DoorKey, epsilon-greedy against EASEE and temporally extended repeats.

How ties are broken decides most. Until the goal is found for the first time all values are zero, so
an agent that breaks ties at random walks at random, and epsilon only says how often it does so on
purpose. Both readings are shown: ties at random, and ties left to the explorer.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from easee.agents.q_learning import learn
from easee.envs.table import Table, tabulate
from easee.experiments.harness.explorers import generator, make_explorer
from easee.experiments.harness.figure import Figure, Measured, Row, Run
from easee.experiments.harness.learning_curves import binned, draw_curves, summary
from easee.priors import DOORKEY_ACTIONS
from easee.viz.files import pyplot, save

EPISODES = 300
TAIL = 100  # the episodes that the table is about
BINS = 30
SETTINGS: dict[str, Any] = {"epsilon": 0.1, "learning_rate": 0.1, "discount": 0.99}
DEPTHS = (4, 6, 8)
EXPLORERS: dict[str, tuple[str, dict[str, Any]]] = {
    "uniform": ("epsilon-greedy", {"explorer": "uniform"}),
    **{
        f"easee/{depth}": (
            f"EASEE, depth {depth}",
            {"explorer": "easee", "prior": "doorkey", "depth": depth},
        )
        for depth in DEPTHS
    },
    "zeta": ("temporally extended, µ = 2", {"explorer": "zeta"}),
}
TIES = {"random": "ties at random", "explore": "ties left to the explorer"}


def arm(explorer: str, ties: str) -> str:
    """Name an arm. Uniform actions are the same either way, so there is one arm of them."""
    return explorer if explorer == "uniform" else f"{explorer}/{ties}"


def runs(seeds: int) -> list[Run]:
    """Return every explorer with both ways to break ties; the seed is also the layout's."""
    settings = {
        arm(name, ties): SETTINGS | explorer | {"ties": ties}
        for ties in TIES
        for name, (_, explorer) in EXPLORERS.items()
    }
    return [Run(name, seed, each) for name, each in settings.items() for seed in range(seeds)]


def measure(run: Run) -> Measured:
    """Learn once; return the mean reward of every ten episodes."""
    settings = run.settings
    learned = learn(
        layout(run.seed),
        make_explorer(run, len(DOORKEY_ACTIONS)),
        episodes=EPISODES,
        epsilon=settings["epsilon"],
        learning_rate=settings["learning_rate"],
        discount=settings["discount"],
        ties=settings["ties"],
        seed=int(generator(run).integers(2**31)),
    )
    episodes = range(1, EPISODES + 1)
    return binned(episodes, learned.rewards, total=EPISODES, bins=BINS)


@lru_cache(maxsize=64)
def layout(seed: int) -> Table:
    """Return MiniGrid's world with the layout of a seed, as a table."""
    from easee.envs.doorkey import DoorKey

    return tabulate(DoorKey(), seed=seed)


def names(ties: str) -> dict[str, str]:
    """Return the arms with one way to break ties."""
    return {arm(name, ties): label for name, (label, _) in EXPLORERS.items()}


def table(rows: list[Row]) -> list[list[str]]:
    """Return where each arm ends."""
    arms = names("random")
    others = names("explore")
    arms |= {a: f"{label}, {TIES['explore']}" for a, label in others.items() if a != "uniform"}
    what = f"mean reward, last {TAIL} episodes"
    return summary(rows, arms, baseline="uniform", after=EPISODES - TAIL, what=what)


def plot(rows: list[Row], folder: Path) -> list[Path]:
    """Draw both ways to break ties side by side."""
    plt = pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", sharey=True)
    for axes, (ties, title) in zip(panels, TIES.items(), strict=True):
        draw_curves(axes, rows, names(ties), baseline="uniform")
        axes.set_title(title)
        axes.set_xlabel("episode")
    panels[0].set_ylabel("mean reward")
    panels[0].set_ylim(0, 1)
    panels[0].legend(frameon=False, fontsize=9, loc="upper left")
    seeds = len({row.seed for row in rows})
    figure.suptitle(f"Q-learning on DoorKey, {seeds} layouts, 95% intervals")
    return [save(figure, folder / "doorkey.png")]


FIGURE = Figure(
    name="doorkey",
    title="Figure 4a: Q-learning on DoorKey",
    runs=runs,
    seeds=15,
    measure=measure,
    plot=plot,
    table=table,
    config=SETTINGS | {"episodes": EPISODES, "bins": BINS},
)
