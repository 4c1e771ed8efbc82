"""DoorKey over epsilon and learning rate: whether Figure 4a depends on one setting."""

from itertools import product
from typing import Any

import numpy as np

from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.figure import Figure, Measured, Row, Run, runs_of
from easee.experiments.harness.learning_curves import finals
from easee.experiments.harness.plots import panels
from easee.experiments.harness.rows import count_seeds
from easee.experiments.harness.statistics import cell, improvement_interval, mean_interval
from easee.experiments.tabular import doorkey
from easee.experiments.tabular.doorkey import EPISODES, SETTINGS, TAIL, TIES
from easee.viz.style import METHODS

EPSILONS = (0.05, 0.1, 0.2, 0.5)
RATES = (0.05, 0.1, 0.3)
LABELS = {
    "uniform": "epsilon-greedy",
    "easee/6/random": f"EASEE, depth 6, {TIES['random']}",
    "easee/6/explore": f"EASEE, depth 6, {TIES['explore']}",
    "zeta/random": METHODS["zeta"].name,
}


def arm(name: str, epsilon: float, rate: float) -> str:
    """Return the name of an arm of DoorKey's figure with other settings."""
    return f"{name}@{epsilon}/{rate}"


# Unlike in DoorKey's figure, epsilon-greedy breaks its ties itself: same behaviour, other draws.
BASE = doorkey.ARMS | {"uniform": doorkey.ARMS["uniform"] | {"ties": "random"}}
ARMS = {
    arm(name, epsilon, rate): BASE[name] | {"epsilon": epsilon, "learning_rate": rate}
    for name, epsilon, rate in product(LABELS, EPSILONS, RATES)
}


def measure(run: Run) -> Measured:
    """Learn once; return the mean reward of every ten of the last episodes."""
    return [point for point in doorkey.measure(run) if point[0] > EPISODES - TAIL]


def ends(rows: list[Row], name: str, epsilon: float, rate: float) -> list[float]:
    """Return the mean reward of every seed in the last episodes."""
    return list(finals(rows, arm(name, epsilon, rate), EPISODES - TAIL).values())


def table(rows: list[Row]) -> list[list[str]]:
    """Return a line for each pair of settings."""
    lines = [["epsilon", "learning rate", *LABELS.values(), "improvement, ties explored"]]
    for epsilon, rate in product(EPSILONS, RATES):
        rewards = {name: ends(rows, name, epsilon, rate) for name in LABELS}
        if all(rewards.values()):
            means = [cell(mean_interval(values)) for values in rewards.values()]
            improvement = improvement_interval(rewards["easee/6/explore"], rewards["uniform"])
            lines.append([str(epsilon), str(rate), *means, cell(improvement)])
    return lines


def draw(rows: list[Row]) -> dict[str, Any]:
    """Draw the rewards of each arm as a map, with their values."""
    figure, maps, _ = panels(len(LABELS), height=2.7, sharex=True, sharey=True)
    for axes, (name, label) in zip(maps, LABELS.items(), strict=True):
        means = np.full((len(EPSILONS), len(RATES)), np.nan)
        for (i, epsilon), (j, rate) in product(enumerate(EPSILONS), enumerate(RATES)):
            rewards = ends(rows, name, epsilon, rate)
            if rewards:
                means[i, j] = np.mean(rewards)
                colour = "w" if means[i, j] < 0.5 else "k"
                axes.text(j, i, f"{means[i, j]:.2f}", ha="center", va="center", color=colour)
        axes.imshow(means, vmin=0, vmax=1, cmap="viridis", aspect="auto", origin="lower")
        look = METHODS[name.partition("/")[0]]
        axes.set_title(label.replace(", ties", ",\nties"), color=look.colour)
        axes.set_xticks(range(len(RATES)), RATES)
        axes.set_yticks(range(len(EPSILONS)), EPSILONS)
    figure.supxlabel("learning rate")
    figure.supylabel("epsilon")
    seeds = count_seeds(rows)
    figure.suptitle(f"DoorKey: mean reward of the last {TAIL} episodes, {seeds} layouts")
    return {"sensitivity": figure}


FIGURE = Figure(
    name="sensitivity",
    title="DoorKey over epsilon and learning rate",
    runs=runs_of(ARMS),
    seeds=15,
    backends=one_by_one(measure),
    draw=draw,
    table=table,
    config={"discount": SETTINGS["discount"], "episodes": EPISODES},
)
