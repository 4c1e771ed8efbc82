"""A backend that trains many runs as one program, with checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from easee.errors import ArgumentError, PopulationTooLargeError
from easee.experiments.harness.figure import Done, Measured, Monitor, Options, Run
from easee.experiments.harness.rows import group

if TYPE_CHECKING:
    from easee.agents.population import Curves
    from easee.agents.population.base import BasePopulation

INTERVAL = 2.0  # seconds between two progress reports
PAUSE = 60.0  # least number of seconds between two checkpoints
INSTANT = 1e-6  # least time that steps are assumed to take; a coarse clock may show none
WORTH = 20.0  # least time between two checkpoints, in multiples of the time to write one
MAX_RUNS_ON_CPU = 8  # more are slower there, see benchmarks/runs_per_program.py


@dataclass(frozen=True)
class PopulationBackend:
    """Trains runs as one program, or as several where they cannot be trained side by side.

    A checkpoint is written every minute, together with the results so far. Interrupted runs resume
    from it if the same runs are requested again. Runs that do not fit in the device's memory
    together are split into several programs, which are trained in turn.

    Attributes:
        make: from runs to their population.
        measured: from a run, the curves of its population and its index there to its rows.
        together: from a run to a value; runs with equal values can be trained side by side.
        check_extras: raises an error if an extra is missing that the runs need.
        evaluate: from a trained population and its runs to more rows of each.
    """

    make: Callable[[list[Run]], BasePopulation[Any]]
    measured: Callable[[Run, Curves, int], Measured]
    together: Callable[[Run], Hashable]
    check_extras: Callable[[list[Run]], None]
    evaluate: Callable[[Any, list[Run]], list[Measured]] | None = None

    def check(self, runs: list[Run], options: Options) -> None:
        """Check the options and that the required extras are installed."""
        if options.jobs is not None or options.address is not None:
            raise ArgumentError("a population is one process: leave out --jobs and --address")
        self.check_extras(runs)

    def execute(self, runs: list[Run], options: Options, monitor: Monitor) -> Iterator[list[Done]]:
        """Train runs and yield those of a population when they are done."""
        limit = None if options.minutes is None else time.monotonic() + 60.0 * options.minutes
        waiting = self.parts(runs)
        while waiting:
            part = waiting.pop(0)
            try:
                population = self.make(part)
            except PopulationTooLargeError as error:
                if not error.fits:
                    raise
                waiting = _split(part, error.fits) + waiting
                continue
            file = monitor.checkpoint(part)
            if file.exists():
                population.load(file)
            for curves in _advancing(population, file, limit):
                share = min(population.steps / population.total, 1.0)
                for run in part:
                    monitor.report(run.key, share)
                if curves is not None:
                    seen = [i for i in range(len(part)) if curves.counts[i].any()]
                    monitor.show([self._row(part, curves, i) for i in seen])
            if not population.finished:
                return
            curves = population.curves()
            done = [self._row(part, curves, i) for i in range(len(part))]
            if self.evaluate is not None:
                more = self.evaluate(population, part)
                done = [(run, [*rows, *new]) for (run, rows), new in zip(done, more, strict=True)]
            del population  # its memory is needed for the next part
            yield done
            file.unlink(missing_ok=True)

    def parts(self, runs: list[Run]) -> list[list[Run]]:
        """Return the runs of each program."""
        import jax

        groups = group(runs, self.together).values()
        most = MAX_RUNS_ON_CPU if jax.default_backend() == "cpu" else len(runs)
        return [part for together in groups for part in _split(together, most)]

    def _row(self, runs: list[Run], curves: Curves, index: int) -> Done:
        return runs[index], self.measured(runs[index], curves, index)


def _split(runs: list[Run], most: int) -> list[list[Run]]:
    """Return runs in parts of at most a given size."""
    return [runs[i : i + most] for i in range(0, len(runs), most)]


def _advancing(
    population: BasePopulation[Any], file: Path, limit: float | None
) -> Iterator[Curves | None]:
    """Train to the end or a time limit; yield often, and curves when a checkpoint was written."""
    steps, wait, written = population.settings.rollout_steps, PAUSE, time.monotonic()
    late = False
    while not population.finished and not late:
        began = time.monotonic()
        curves = population.advance(steps)
        now = time.monotonic()
        seconds = max(now - began, INSTANT)
        steps = max(1, min(round(steps * INTERVAL / seconds), 4 * steps))
        late = limit is not None and now > limit
        due = (late or now - written > wait) and not population.finished
        if due:
            population.save(file)
            written = time.monotonic()
            wait = max(PAUSE, WORTH * (written - now))
        yield curves if due else None
