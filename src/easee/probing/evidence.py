"""What was seen of a relation in an environment: counts, and cases where it broke."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from easee.errors import ArgumentError
from easee.probing.significance import interval
from easee.viz.files import pyplot, save


@dataclass(frozen=True)
class Counterexample:
    """A state from which two words lead to different ones.

    Attributes:
        start: the observation there.
        left: the observation after the left side.
        right: the observation after the right side.
        pictures: what the environment renders at the three, or None.
    """

    start: Any
    left: Any
    right: Any
    pictures: tuple[Any, Any, Any] | None = None

    def save(self, path: str | Path, title: str = "") -> Path:
        """Write the three pictures side by side.

        Raises:
            ArgumentError: the environment rendered none.
        """
        if self.pictures is None or isinstance(self.pictures[0], str):
            raise ArgumentError(
                'there are no pictures: make the environment with render_mode="rgb_array"'
            )
        plt = pyplot()
        figure, panels = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
        names = ("before", "after the left side", "after the right side")
        for axes, image, name in zip(panels, self.pictures, names, strict=True):
            axes.imshow(image)
            axes.set_title(name, fontsize=10)
            axes.set_axis_off()
        figure.suptitle(title)
        return save(figure, Path(path))


@dataclass(frozen=True)
class RelationCheck:
    """What was seen of one relation.

    Attributes:
        left: its left side, names of actions.
        right: its right side.
        trials: in how many states both sides were tried.
        violations: in how many of them they came out differently.
        inconclusive: in how many more an episode was cut off before the end of a word.
        counterexamples: a few of the violations.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    trials: int
    violations: int
    inconclusive: int = 0
    counterexamples: tuple[Counterexample, ...] = ()

    @property
    def rate(self) -> float:
        """The share of violations."""
        return self.violations / self.trials if self.trials else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper and Pearson's 95% interval of the rate."""
        return interval(self.violations, self.trials)

    def __str__(self) -> str:
        return f"{' '.join(self.left) or 'Λ'} ~ {' '.join(self.right) or 'Λ'}"
