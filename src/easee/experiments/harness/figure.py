"""Experiments as data: a figure, its runs, and the backends that do them."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from easee._utils.checks import checked_count, nearest
from easee.errors import ArgumentError
from easee.viz.files import save
from easee.viz.style import styled

BACKENDS = ("local", "ray", "population")
Key = tuple[str, int]  # arm and seed of a run


class Row(NamedTuple):
    """One measured value; `step` is in the figure's own unit, such as episodes."""

    figure: str
    arm: str
    seed: int
    step: int
    metric: str
    value: float

    @property
    def key(self) -> Key:
        """Arm and seed: the run that the row belongs to."""
        return self.arm, self.seed


@dataclass(frozen=True)
class Run:
    """One independent piece of work: its rows depend on arm, seed and settings (plain data)."""

    arm: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def key(self) -> Key:
        """Arm and seed, which identify the run in its figure."""
        return self.arm, self.seed


Measured = Sequence[tuple[int, str, float]]  # (step, metric, value)
Done = tuple[Run, Measured]


@dataclass(frozen=True)
class Options:
    """Options of the backends, see `run_missing`."""

    jobs: int | None = None
    address: str | None = None
    minutes: float | None = None


@dataclass(frozen=True)
class Monitor:
    """Functions that a backend calls while it does runs.

    Attributes:
        report: takes the key of a run and the share of it that is done.
        checkpoint: returns the path of the checkpoint of runs that are done together.
        show: stores what unfinished runs have measured so far.
    """

    report: Callable[[Key, float], None]
    checkpoint: Callable[[list[Run]], Path]
    show: Callable[[list[Done]], None]


class Backend(Protocol):
    """A way to do the runs of a figure."""

    def check(self, runs: list[Run], options: Options) -> None:
        """Raise an error if the runs cannot be done; called before anything is written."""

    def execute(
        self, runs: list[Run], options: Options, monitor: Monitor
    ) -> Iterator[Sequence[Done]]:
        """Do runs and yield them as they finish, those that finish together in one batch."""


@dataclass(frozen=True)
class Figure:
    """An experiment: its runs, how they are done, and its picture.

    Attributes:
        name: what users type.
        title: one line.
        runs: from the number of seeds to the runs.
        seeds: default number of seeds.
        backends: by name, the backends that do these runs.
        draw: from all rows to matplotlib figures, by file name without suffix.
        table: from all rows to the lines of a table, the header first.
        config: everything else that the results depend on, as plain data.
        folder: folder of the results under `results`; by default the name of the figure.
        steps: number of training steps of a run, where it can be chosen.
        reduced: a sentence about what is less than in the paper, or an empty string.
        variants: by name of a backend, a function from a number of steps (None: the default) to
            the figure as that backend does it. For figures whose runs train.
    """

    name: str
    title: str
    runs: Callable[[int], list[Run]]
    seeds: int
    backends: Mapping[str, Backend]
    draw: Callable[[list[Row]], Mapping[str, Any]]
    table: Callable[[list[Row]], list[list[str]]]
    config: Mapping[str, Any] = field(default_factory=dict)
    folder: str = ""
    steps: int | None = None
    reduced: str = ""
    variants: Mapping[str, Callable[[int | None], Figure]] = field(default_factory=dict)

    def for_backend(self, backend: str) -> Figure:
        """Return the figure as a backend does it, in the size that it has there."""
        if backend not in BACKENDS:
            raise ArgumentError(f"expected a backend of {', '.join(BACKENDS)}, found {backend!r}")
        if backend in self.backends:
            return self
        if backend in self.variants:
            return self.variants[backend](None)
        if "population" in self.backends:
            raise ArgumentError(f"{self.name} is done by a population: add --backend population")
        raise ArgumentError(
            f"{self.name} is not done by a population: that is for figures that train DQN, "
            "see 'easee run --help'. Leave out --backend"
        )

    @property
    def population(self) -> Figure | None:
        """The figure for the backend "population", or None if that cannot do it."""
        return self.for_backend("population") if "population" in self.variants else None

    def with_steps(self, steps: int) -> Figure:
        """Return the figure with runs of another length; its results have a folder of their own."""
        if not self.variants:
            raise ArgumentError(f"{self.name} has no number of steps to choose: leave out --steps")
        checked_count(steps, "steps")
        return self if steps == self.steps else self.variants[next(iter(self.backends))](steps)

    def rows(self, run: Run, measured: Measured) -> list[Row]:
        """Return the rows of a run."""
        return [Row(self.name, run.arm, run.seed, *values) for values in measured]

    def plot(self, rows: list[Row], folder: Path) -> list[Path]:
        """Save the pictures in a folder, each as PNG and as SVG, and return their paths."""
        with styled():
            return [
                save(picture, folder / f"{name}.{suffix}")
                for name, picture in self.draw(rows).items()
                for suffix in ("png", "svg")
            ]


def runs_of(arms: Mapping[str, Mapping[str, Any]]) -> Callable[[int], list[Run]]:
    """Return the function from a number of seeds to the runs of arms with the given settings."""
    return lambda seeds: [
        Run(arm, seed, settings) for arm, settings in arms.items() for seed in range(seeds)
    ]


def _nearest_arm(arm: str, known: list[str]) -> str:
    """Suggest an arm, or the beginning of one if none begins like that."""
    start = arm.partition("/")[0]
    starts = list(dict.fromkeys(name.partition("/")[0] for name in known))
    if "/" in arm and start not in starts:
        return f"no arm starts with '{start}/': {nearest(start, starts)}"
    return nearest(arm, known)


def chosen_runs(figure: Figure, seeds: int, arms: Iterable[str] | None = None) -> list[Run]:
    """Return the runs of a figure for a number of seeds, of all arms or of the given ones.

    An arm may be a pattern such as "goal-51/*".
    """
    if seeds < 1:
        raise ArgumentError(f"expected at least 1 seed, found {seeds}")
    runs = figure.runs(seeds)
    known = list(dict.fromkeys(run.arm for run in runs))
    chosen = set(known) if arms is None else set()
    for arm in arms or ():
        matches = fnmatch.filter(known, arm) or [name for name in known if name == arm]
        if not matches:
            raise ArgumentError(f"{figure.name} has no arm {arm!r}: {_nearest_arm(arm, known)}")
        chosen.update(matches)
    return [run for run in runs if run.arm in chosen]
