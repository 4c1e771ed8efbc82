"""Runs as data: what an experiment consists of, and the rows that come out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from easee._utils.checks import checked_count, nearest
from easee.errors import ArgumentError


class Row(NamedTuple):
    """One measured value.

    Attributes:
        figure: the name of the figure.
        arm: what was run, for example a prior at a depth.
        seed: the seed of the run.
        step: how far into the run, in the figure's own unit (episodes, steps).
        metric: what was measured.
        value: its value.
    """

    figure: str
    arm: str
    seed: int
    step: int
    metric: str
    value: float


@dataclass(frozen=True)
class Run:
    """One piece of work that is done in one go, and whose rows depend on nothing else.

    Attributes:
        arm: its name in the figure.
        seed: its seed.
        settings: all that its function needs to know, as plain data.
    """

    arm: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from the other runs of its figure."""
        return self.arm, self.seed


BACKENDS = ("local", "ray", "population")

Measured = Sequence[tuple[int, str, float]]  # (step, metric, value)


@dataclass(frozen=True)
class Figure:
    """An experiment: its runs, the function that does one, and its picture.

    Attributes:
        name: what users type.
        title: one line.
        runs: from the number of seeds to the runs.
        seeds: how many the full figure has.
        measure: does one run; a function of a module, so that other processes find it.
        plot: from all rows to pictures in a folder; returns their paths.
        table: from all rows to the lines of a table, first the header.
        config: what else the result depends on, as plain data.
        folder: of its results, under `results`; its name by default.
        steps: how long a run trains, for figures where that can be chosen.
        resized: returns the figure with another number of steps.
        reduced: what is less than in the paper, in a sentence; empty if nothing is.
        together: does many runs as one program; takes them and the store of the figure.
        population: the same figure for the backend "population", which has `together`.
    """

    name: str
    title: str
    runs: Callable[[int], list[Run]]
    seeds: int
    measure: Callable[[Run], Measured]
    plot: Callable[[list[Row], Path], list[Path]]
    table: Callable[[list[Row]], list[list[str]]]
    config: Mapping[str, Any] = field(default_factory=dict)
    folder: str = ""
    steps: int | None = None
    resized: Callable[[int], Figure] | None = None
    reduced: str = ""
    together: Callable[[list[Run], Any], Iterable[tuple[Run, Measured]]] | None = None
    population: Figure | None = None

    def for_backend(self, backend: str) -> Figure:
        """Return the figure as a backend does it.

        Raises:
            ArgumentError: it cannot be done as one program.
        """
        if backend not in BACKENDS:
            raise ArgumentError(f"expected a backend of {', '.join(BACKENDS)}, found {backend!r}")
        if self.together is not None:
            if backend != "population":
                raise ArgumentError(
                    f"{self.name} is done by a population: add --backend population"
                )
            return self
        if backend != "population":
            return self
        if self.population is None:
            raise ArgumentError(
                f"{self.name} is not done by a population: that is for figures that train DQN, "
                "see 'easee run --help'. Leave out --backend"
            )
        return self.population

    def with_steps(self, steps: int) -> Figure:
        """Return the figure with runs of another length; its results go to a folder of their own.

        Raises:
            ArgumentError: the length of its runs is not to be chosen.
        """
        if self.resized is None:
            raise ArgumentError(f"{self.name} has no number of steps to choose: leave out --steps")
        checked_count(steps, "steps")
        return self if steps == self.steps else self.resized(steps)

    def rows(self, run: Run, measured: Measured) -> list[Row]:
        """Return the rows of a run."""
        return [Row(self.name, run.arm, run.seed, *values) for values in measured]


def chosen_runs(figure: Figure, seeds: int, arms: Iterable[str] | None = None) -> list[Run]:
    """Return the runs of a figure for some seeds and, if given, only some arms."""
    if seeds < 1:
        raise ArgumentError(f"expected at least 1 seed, found {seeds}")
    runs = figure.runs(seeds)
    if arms is None:
        return runs
    known = list(dict.fromkeys(run.arm for run in runs))
    wanted = list(arms)
    for arm in wanted:
        if arm not in known:
            raise ArgumentError(f"{figure.name} has no arm {arm!r}: {nearest(arm, known)}")
    return [run for run in runs if run.arm in wanted]
