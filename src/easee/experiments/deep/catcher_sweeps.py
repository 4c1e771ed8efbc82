"""Beyond Figure 4b: Catcher over the depth of EASEE's graph, and over the width of the field.

Both need `--backend population`.
"""

from typing import Any

from easee.experiments.deep import dqn
from easee.experiments.deep.dqn import LABELS, Comparison, easee_arm
from easee.experiments.deep.tasks import CATCHER
from easee.experiments.harness.figure import Row
from easee.experiments.harness.learning_curves import finals
from easee.experiments.harness.plots import add_legend, grouped_points
from easee.experiments.harness.rows import count_seeds, seeds_text
from easee.experiments.harness.statistics import cell, improvement_interval, mean_interval
from easee.viz.files import subplots
from easee.viz.style import WIDTH

DEPTHS = (5, 10, 20, 30)
WIDTHS = (20, 40, 60, 80)
SIZES = {dqn.POPULATION: (CATCHER.paper_steps, 10)}


class WidthSweep(Comparison):
    """Final rewards over the width of the field; the names of arms are "EXPLORER/WIDTH"."""

    def ends(self, rows: list[Row], steps: int) -> dict[int, dict[str, list[float]]]:
        """Return the final mean reward of every seed, by width and explorer."""
        after = dqn.last_tenth(rows, steps)
        rewards = {
            w: {kind: list(finals(rows, f"{kind}/{w}", after).values()) for kind in self.labels}
            for w in WIDTHS
        }
        return {width: by_kind for width, by_kind in rewards.items() if any(by_kind.values())}

    def table(self, steps: int, rows: list[Row]) -> list[list[str]]:
        """Return a line for each width."""
        lines = [["field", *self.labels.values(), "EASEE's probability of improvement"]]
        for width, by_kind in self.ends(rows, steps).items():
            easee, uniform = by_kind["easee"], by_kind["uniform"]
            improvement = improvement_interval(easee, uniform) if easee and uniform else None
            means = [mean_interval(values) if values else None for values in by_kind.values()]
            lines.append([_field(width), *map(cell, [*means, improvement])])
        return lines

    def draw(self, steps: int, rows: list[Row]) -> dict[str, Any]:
        """Draw the final rewards of each explorer."""
        figure, axes = subplots(figsize=(WIDTH, 5))
        means = {
            _field(width): {kind: mean_interval(ends) for kind, ends in by_kind.items() if ends}
            for width, by_kind in self.ends(rows, steps).items()
        }
        grouped_points(axes, means, self.looks())
        axes.set(xlabel="width x height of the field", ylabel=dqn.LAST_TENTH)
        add_legend(figure, [axes], self.labels.values())
        seeds = count_seeds(rows)
        axes.set_title(f"DQN on Catcher after {steps:,} steps, {seeds_text(seeds, intervals=True)}")
        return {self.name: figure}


def _field(width: int) -> str:
    return f"{width} x {width // 2}"


def _wide(kind: str, width: int) -> dict[str, Any]:
    """Return the settings of an explorer on a field; EASEE's depth is the height of the field."""
    explorer = easee_arm(CATCHER, width // 2) if kind == "easee" else {"explorer": kind}
    return explorer | {"env": {"width": width, "height": width // 2}}


FIGURES = [
    Comparison(
        name="catcher-depth",
        title="DQN on Catcher over the depth of the graph",
        task=CATCHER,
        arms={"uniform": {"explorer": "uniform"}}
        | {f"easee/{depth}": easee_arm(CATCHER, depth) for depth in DEPTHS},
        labels={"uniform": LABELS["uniform"]}
        | {f"easee/{depth}": f"EASEE, depth {depth}" for depth in DEPTHS},
        sizes=SIZES,
    ).figure(),
    WidthSweep(
        name="catcher-width",
        title="DQN on Catcher over the width of the field",
        task=CATCHER,
        arms={f"{kind}/{width}": _wide(kind, width) for width in WIDTHS for kind in LABELS},
        labels=LABELS | {"easee": "EASEE, depth = height"},
        sizes=SIZES,
    ).figure(),
]
