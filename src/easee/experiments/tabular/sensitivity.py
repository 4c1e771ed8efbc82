"""Does DoorKey's figure hang on one setting? The same over epsilon and learning rate."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from easee.experiments.harness.figure import Figure, Measured, Row, Run
from easee.experiments.harness.learning_curves import cell, finals
from easee.experiments.harness.statistics import improvement_interval, mean_interval
from easee.experiments.tabular import doorkey
from easee.experiments.tabular.doorkey import EPISODES, EXPLORERS, SETTINGS, TAIL, TIES
from easee.viz.files import pyplot, save

EPSILONS = (0.05, 0.1, 0.2, 0.5)
RATES = (0.05, 0.1, 0.3)
ARMS = {
    "uniform": "epsilon-greedy",
    "easee/6/random": f"EASEE, depth 6, {TIES['random']}",
    "easee/6/explore": f"EASEE, depth 6, {TIES['explore']}",
    "zeta/random": "temporally extended, µ = 2",
}


def runs(seeds: int) -> list[Run]:
    """Return every arm with every setting."""
    found = []
    for name in ARMS:
        explorer, _, ties = name.rpartition("/")
        kind = EXPLORERS[explorer or name][1] | {"ties": ties if explorer else "random"}
        for epsilon in EPSILONS:
            for rate in RATES:
                settings = SETTINGS | kind | {"epsilon": epsilon, "learning_rate": rate}
                found += [Run(arm(name, epsilon, rate), s, settings) for s in range(seeds)]
    return found


def measure(run: Run) -> Measured:
    """Learn once; return the mean reward of every ten of the last episodes."""
    return [point for point in doorkey.measure(run) if point[0] > EPISODES - TAIL]


def arm(name: str, epsilon: float, rate: float) -> str:
    """Name an arm with a setting."""
    return f"{name}@{epsilon}/{rate}"


def ends(rows: list[Row], name: str, epsilon: float, rate: float) -> list[float]:
    """Return every seed's mean reward of the last episodes."""
    return finals(rows, arm(name, epsilon, rate), EPISODES - TAIL)


def table(rows: list[Row]) -> list[list[str]]:
    """Return a line for each setting, and one for all of them together."""
    lines = [["epsilon", "learning rate", *ARMS.values(), "improvement, ties explored"]]
    for epsilon in EPSILONS:
        for rate in RATES:
            found = {name: ends(rows, name, epsilon, rate) for name in ARMS}
            if all(found.values()):
                means = [cell(mean_interval(values)) for values in found.values()]
                better = improvement_interval(found["easee/6/explore"], found["uniform"])
                lines.append([str(epsilon), str(rate), *means, cell(better)])
    return lines


def plot(rows: list[Row], folder: Path) -> list[Path]:
    """Draw the rewards as a map for each arm, with their values."""
    plt = pyplot()
    figure, panels = plt.subplots(1, len(ARMS), figsize=(13, 4), layout="constrained")
    for axes, (name, label) in zip(panels, ARMS.items(), strict=True):
        values = np.full((len(EPSILONS), len(RATES)), np.nan)
        for i, epsilon in enumerate(EPSILONS):
            for j, rate in enumerate(RATES):
                found = ends(rows, name, epsilon, rate)
                if found:
                    values[i, j] = np.mean(found)
                    dark = values[i, j] < 0.5
                    text = f"{values[i, j]:.2f}"
                    axes.text(j, i, text, ha="center", va="center", color="w" if dark else "k")
        axes.imshow(values, vmin=0, vmax=1, cmap="viridis", aspect="auto", origin="lower")
        axes.set_title(label.replace(", ties", ",\nties"), fontsize=10)
        axes.set_xticks(range(len(RATES)), [str(rate) for rate in RATES])
        axes.set_yticks(range(len(EPSILONS)), [str(epsilon) for epsilon in EPSILONS])
        axes.set_xlabel("learning rate")
    panels[0].set_ylabel("epsilon")
    seeds = len({row.seed for row in rows})
    figure.suptitle(f"DoorKey: mean reward of the last {TAIL} episodes, {seeds} layouts")
    return [save(figure, folder / "sensitivity.png")]


FIGURE = Figure(
    name="sensitivity",
    title="DoorKey over epsilon and learning rate",
    runs=runs,
    seeds=15,
    measure=measure,
    plot=plot,
    table=table,
    config={"discount": SETTINGS["discount"], "episodes": EPISODES},
)
