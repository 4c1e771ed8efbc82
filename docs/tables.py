"""The tables of the documentation that are made from results, and that of the ready-made priors.

    python docs/tables.py

Each table stands between the comments `<!-- table: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import easee
from easee import priors
from easee.experiments.deep import catcher_readings, dqn
from easee.experiments.deep.tasks import CATCHER, READINGS
from easee.experiments.hard import depth, ppo_sensitivity
from easee.experiments.hard.comparison import Comparison, steps_to_success
from easee.experiments.hard.figure import COMPARISON as DQN
from easee.experiments.hard.measures import Runs
from easee.experiments.hard.ppo_figure import COMPARISON as PPO
from easee.experiments.harness.figure import Figure, Row
from easee.experiments.harness.learning_curves import finals
from easee.experiments.harness.statistics import cell, mean_interval
from easee.experiments.harness.store import Store
from easee.experiments.registry import FIGURES

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "docs/learning.md",
    "docs/paper_learning.md",
    "docs/policy_gradients.md",
    "docs/priors.md",
)
DEPTHS = (6, 20)  # at which the graphs of the ready-made priors are counted
MAX_NODES = 1_000_000
LEAST = 0.05  # success below which no method is marked as the best


@dataclass(frozen=True)
class Measure:
    """A measure of the runs of an arm: how it is shown, and a value that is larger if better."""

    show: Callable[[Runs, int], str]
    rank: Callable[[Runs], tuple[float, ...]]


STEPS = Measure(steps_to_success, lambda runs: (-runs.median_steps, runs.share_solved))
LAST = Measure(
    lambda runs, steps: cell(mean_interval(runs.last)),
    lambda runs: (round(fmean(runs.last), 2) if fmean(runs.last) >= LEAST else 0.0,),
)
SHORT = ("uniform", "useful", "zeta", "count", "rnd", "usual")


PRIORS = {  # of `hard-depth`
    depth.BASELINE: "epsilon-greedy",
    "rotation-one-inverse": "1 relation",
    "rotation-both-inverses": "2 relations",
    "rotation-grid": "3 relations, the paper's",
    "rotation-grid-complete": "5 relations, complete on an open grid",
}


def table(comparison: Comparison, measure: Measure, methods: Iterable[str] = ()) -> str:
    """Return a table with a line for each task and a column for each method."""
    names = list(methods or comparison.labels)
    rows = _rows(comparison.figure())
    header = ["task", "steps of training", *(comparison.labels[name] for name in names)]
    lines = [header, ["---", "--:", *["---"] * len(names)]]
    for task, arms in comparison.measure(rows):
        steps = comparison.steps[task.name]
        arms = {name: runs for name, runs in arms.items() if name in names}
        ranks = {name: measure.rank(runs) for name, runs in arms.items()}
        best = max(ranks.values())
        cells = dict.fromkeys(names, "as epsilon-greedy")  # see `explorers_of`
        cells |= dict.fromkeys(comparison.methods[task.name], "not run")
        for name, runs in arms.items():
            bold = "**" if ranks[name] == best > min(ranks.values()) else ""
            cells[name] = f"{bold}{measure.show(runs, steps)}{bold}"
        lines.append([task.title, f"{steps:,}", *(cells[name] for name in names)])
    return markdown(lines)


def means_table(comparison: Comparison) -> str:
    """Return a table of the means over the tasks, with a line for each method."""
    figure = comparison.figure()
    means = [line for line in figure.table(_rows(figure)) if line[0].startswith("mean of")]
    header = [
        f"{means[0][0]}, {figure.seeds} seeds each",
        "success, last tenth",
        "success, whole training",
    ]
    return markdown([header, ["---"] * 3, *([line[1], *line[3:5]] for line in means)])


def depth_table() -> str:
    """Return a table with a line for each prior and depth of `hard-depth`."""
    header, *lines = depth.table(_rows(depth.FIGURE))
    named = [[PRIORS[prior], *cells] for prior, *cells in lines]
    return markdown([header, ["---"] * len(header), *named])


def readings_table() -> str:
    """Return a table with a line for each reading of the paper's Catcher.

    The first reading is that of `easee run catcher`, which has more seeds.
    """
    steps = CATCHER.paper_steps
    found = catcher_readings.ends(_rows(catcher_readings.FIGURE), steps)
    catcher = _rows(FIGURES["catcher"].for_backend("population"))
    after = dqn.last_tenth(catcher, steps)
    first, *others = READINGS
    found[first] = {arm: finals(catcher, arm, after) for arm in catcher_readings.EXPLORERS}
    explorers = [label for label, _ in catcher_readings.EXPLORERS.values()]
    header = ["convolutions, first update", "seeds", *explorers, f"beats {explorers[0]}"]
    lines = [[*header, "difference"], ["---", "--:", *["---"] * 4]]
    for reading in (first, *others):
        if reading in found:
            count = str(len(found[reading]["easee"]))
            lines.append([reading, count, *catcher_readings.compare(found[reading])])
        else:
            lines.append([reading, "not run", *["-"] * 4])
    return markdown(lines)


def sensitivity_table(task: str) -> str:
    """Return a table with a line for each coefficient of PPO on a task, and a column per arm."""
    _, *lines = ppo_sensitivity.table(_rows(ppo_sensitivity.FIGURE))
    cells = {(arm, c): last for name, arm, c, last, *_ in lines if name == task}
    plain, fading = ppo_sensitivity.PLAIN, ppo_sensitivity.FADING
    arms = sorted({arm for arm, _ in cells}, key=lambda arm: (arm != plain, arm == fading, arm))
    titles = ["PPO" if arm == plain else arm for arm in arms]
    table = [["coefficient", *titles], ["---"] * (len(arms) + 1)]
    for c in dict.fromkeys(c for _, c in cells):
        table.append([c, *(cells[arm, c] for arm in arms)])
    return markdown(table)


def _rows(figure: Figure) -> list[Row]:
    return Store(figure, ROOT / "results" / (figure.folder or figure.name)).read().rows


def priors_table() -> str:
    """Return a table with a line for each ready-made prior."""
    nodes = [f"nodes, depth {depth}" for depth in DEPTHS]
    lines = [["prior", "actions", "relations", "description", *nodes]]
    lines.append(["---", "--:", "--:", "---", *["--:"] * len(DEPTHS)])
    for name in priors.names():
        omega = priors.get(name)
        counts = [_nodes(omega, depth) for depth in DEPTHS]
        numbers = [str(len(omega.actions)), str(len(omega))]
        lines.append([f"`{name}`", *numbers, priors.describe(name), *counts])
    return markdown(lines)


def _nodes(omega: easee.Equivalences, depth: int) -> str:
    try:
        return f"{len(easee.unroll(omega, depth, max_nodes=MAX_NODES)):,}"
    except easee.GraphTooLargeError:
        return "over a million"


def markdown(lines: list[list[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


TABLES: dict[str, Callable[[], str]] = {
    "hard, in short": lambda: table(DQN, STEPS, SHORT),
    "hard, steps": lambda: table(DQN, STEPS),
    "hard, last tenth": lambda: table(DQN, LAST),
    "hard, means": lambda: means_table(DQN),
    "hard-depth": depth_table,
    "catcher-readings": readings_table,
    "priors": priors_table,
    "hard-ppo, steps": lambda: table(PPO, STEPS),
    "hard-ppo, last tenth": lambda: table(PPO, LAST),
    "hard-ppo, means": lambda: means_table(PPO),
    "hard-ppo-sensitivity, DoorKey": lambda: sensitivity_table("doorkey"),
    "hard-ppo-sensitivity, DoorKey-8x8": lambda: sensitivity_table("MiniGrid-DoorKey-8x8-v0"),
}


def with_tables(page: str) -> str:
    """Return the text of a page with its tables made again."""

    def made(found: re.Match[str]) -> str:
        return f"<!-- table: {found[1]} -->\n\n{TABLES[found[1]]()}\n\n<!-- end -->"

    text = (ROOT / page).read_text()
    return re.sub(r"<!-- table: ([^\n]*) -->\n.*?<!-- end -->", made, text, flags=re.DOTALL)


if __name__ == "__main__":
    for page in PAGES:
        (ROOT / page).write_text(with_tables(page))
