"""The evidence for and against a relation: counts and counterexamples."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

from easee._utils.tables import html_lines, html_table, text_table
from easee.errors import ArgumentError
from easee.probing.significance import interval

# Whether a relation holds in all states, fails in less than the share `USUAL` of them, in more, or
# in all of them.
VERDICTS = ("holds", "usually holds", "often fails", "never holds")
USUAL = 0.1
# Of a table: the numbers of states in which a relation was tried and failed, and their ratio.
COLUMNS = ("relation", "states", "fails in", "share [95%]", "")
FEW_TRIALS = 50  # with fewer, the upper end of the interval is the rate of a relation
LARGEST_RATE = 0.99  # of a relation that did not fail in every state


@dataclass(frozen=True)
class Counterexample:
    """A state from which the two sides of a relation lead to different states.

    Attributes:
        start: observation in the state.
        left: observation after the left side.
        right: observation after the right side.
        pictures: the environment's renderings of the three, or None.
    """

    start: Any
    left: Any
    right: Any
    pictures: tuple[Any, Any, Any] | None = None

    def save(self, path: str | Path, title: str = "") -> Path:
        """Save the three pictures side by side as an image.

        Raises:
            ArgumentError: there are no pictures.
        """
        from easee.viz.files import save, subplots
        from easee.viz.style import WIDTH, styled

        if self.pictures is None or isinstance(self.pictures[0], str):
            raise ArgumentError(
                'there are no pictures: make the environment with render_mode="rgb_array"'
            )
        names = ("before", "after the left side", "after the right side")
        with styled():
            figure, panels = subplots(1, 3, figsize=(WIDTH, 3.3))
            for axes, image, name in zip(panels, self.pictures, names, strict=True):
                axes.imshow(image)
                axes.set_title(name)
                axes.set_axis_off()
            figure.suptitle(title)
            return save(figure, Path(path))


@dataclass(frozen=True)
class RelationCheck:
    """The evidence for and against one relation.

    Attributes:
        left: names of the actions of the left side.
        right: names of the actions of the right side.
        trials: number of states in which both sides were compared.
        violations: number of trials in which the outcomes differed.
        inconclusive: number of further states in which an episode was truncated.
        counterexamples: a few of the violations.
        met: trials and violations in states as random rollouts meet them; the others were chosen
            near rare effects.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    trials: int
    violations: int
    inconclusive: int = 0
    counterexamples: tuple[Counterexample, ...] = ()
    met: tuple[int, int] | None = None

    @property
    def failed(self) -> bool:
        """Whether there was a violation, in the trials or among the states met."""
        return bool(self.violations or (self.met and self.met[1]))

    @property
    def rate(self) -> float:
        """The share of trials that are violations."""
        return self.violations / self.trials if self.trials else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """The Clopper-Pearson 95% confidence interval of the rate."""
        return interval(self.violations, self.trials)

    @property
    def prior_rate(self) -> float:
        """The rate of the relation in a prior, the share of states met in which it fails.

        It is the upper end of the 95% interval if there were few trials, or if the only violations
        are near rare effects. So it is 0 only if there was no violation in many trials.

        >>> RelationCheck((), (), 200, 40, met=(100, 8)).prior_rate
        0.08
        >>> RelationCheck((), (), 200, 40, met=(100, 0)).prior_rate
        0.036
        """
        trials, violations = self.met or (self.trials, self.violations)
        if not self.failed:
            trials = max(trials, self.trials)
        if trials >= FEW_TRIALS and bool(violations) == self.failed:
            return float(f"{violations / trials:.4g}")
        return min(float(f"{interval(violations, trials)[1]:.2g}"), LARGEST_RATE)

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`, by the share of states in which the relation fails.

        >>> [RelationCheck((), (), 200, n).verdict for n in (0, 1, 100, 200)]
        ['holds', 'usually holds', 'often fails', 'never holds']
        """
        if not self.failed:
            return "holds"
        if self.violations == self.trials:
            return "never holds"
        return "usually holds" if self.rate < USUAL else "often fails"

    def cells(self) -> list[str]:
        """Return the cells of the columns `COLUMNS`."""
        low, high = self.interval
        share = f"{self.rate:.1%} [{100 * low:.1f}, {100 * high:.1f}]"
        return [str(self), f"{self.trials:,}", f"{self.violations:,}", share, self.verdict]

    def __str__(self) -> str:
        return f"{' '.join(self.left) or 'Λ'} ~ {' '.join(self.right) or 'Λ'}"


class Evidence(ABC):
    """A result that consists of checks and notes, with tables for `str()` and for notebooks."""

    env_steps: int
    notes: tuple[str, ...]

    @property
    @abstractmethod
    def checks(self) -> Sequence[RelationCheck]:
        """One check per relation."""

    def __repr__(self) -> str:
        counts = [(v, sum(c.verdict == v for c in self.checks)) for v in VERDICTS]
        shown = ", ".join(f"{count} {verdict}" for verdict, count in counts if count)
        return f"{type(self).__name__}({len(self.checks)} relations: {shown or 'none'})"

    def __str__(self) -> str:
        table = text_table(COLUMNS, [c.cells() for c in self.checks], right=COLUMNS[1:4])
        notes = [
            fill(note, 80, initial_indent="- ", subsequent_indent="  ") for note in self._lines()
        ]
        return "\n".join([table, "", *notes])

    def _repr_html_(self) -> str:
        table = html_table(COLUMNS, [c.cells() for c in self.checks], right=COLUMNS[1:4])
        return table + html_lines(self._lines())

    def _lines(self) -> list[str]:
        return [*self.notes, f"{self.env_steps:,} steps in the environment"]
