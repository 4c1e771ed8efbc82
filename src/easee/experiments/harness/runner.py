"""Do the missing runs of a figure and store their rows."""

import platform
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from easee._utils.checks import checked_count
from easee.errors import ArgumentError
from easee.experiments.harness.figure import (
    Done,
    Figure,
    Key,
    Monitor,
    Options,
    Row,
    Run,
    chosen_runs,
)
from easee.experiments.harness.store import Store


def run_missing(
    figure: Figure,
    folder: Path,
    *,
    seeds: int,
    arms: Iterable[str] | None = None,
    jobs: int | None = None,
    backend: str = "local",
    address: str | None = None,
    minutes: float | None = None,
    force: bool = False,
    console: Console | None = None,
) -> list[Row]:
    """Do the runs of a figure that are not in its folder yet, and return all its rows.

    Args:
        figure: the figure to run.
        folder: folder of its results.
        seeds: number of seeds.
        arms: arms to run; by default all.
        jobs: number of local processes; by default one per core.
        backend: "local", "ray" or "population".
        address: address of a Ray cluster; by default one is started on this machine.
        minutes: time after which runs are interrupted, to be resumed by another call; only for the
            backend "population".
        force: discard existing results.
        console: where to show progress; by default nowhere.
    """
    figure = figure.for_backend(backend)
    executor = figure.backends[backend]
    runs = chosen_runs(figure, seeds, arms)
    if jobs is not None:
        checked_count(jobs, "jobs")
    if minutes is not None and (backend != "population" or not minutes > 0):
        raise ArgumentError(
            "expected a positive number of minutes with --backend population, "
            f"found {minutes} with --backend {backend}"
        )
    options = Options(jobs, address, minutes)
    executor.check(runs, options)
    console = console or Console(quiet=True)
    store = Store(figure, folder)
    store.open(force=force)
    found = store.read()
    for problem in found.problems:
        _print(console, f"skipped {problem}")
    todo = store.missing(runs)
    again = [run for run in todo if run.key in found.damaged]
    if again:
        _print(console, f"{len(again)} damaged runs are done again")
    if todo:
        store.note(shlex.join(["easee", *sys.argv[1:]]))
        with _progress(console) as progress:
            bar = _Bar(progress, figure.name, runs, todo)
            monitor = Monitor(bar.report, store.checkpoint, store.show)
            for batch in executor.execute(todo, options, monitor):
                _add(store, batch, _device(backend))
                bar.finish([run for run, _ in batch])
    else:
        _print(
            console,
            f"all {len(runs):,} runs are in {folder} already: choose another folder with --out to "
            "repeat them, or discard them with --force",
        )
    return store.gather(figure.runs(max(seeds, figure.seeds)))


def _add(store: Store, batch: Sequence[Done], device: str) -> None:
    """Write the rows of runs that a device has finished."""
    for run, measured in batch:
        store.add(run, measured)
    store.note_machine(len(batch), device)


def _print(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def _device(backend: str) -> str:
    """Return a description of what does the runs of a backend."""
    if backend != "population":
        return f"{platform.machine()} CPU"
    import jax

    return f"{jax.local_devices()[0].device_kind}, JAX {jax.__version__}"


class _Bar:
    """Progress bar of a figure: finished runs, and the shares of those in flight."""

    def __init__(self, progress: Progress, name: str, runs: list[Run], todo: list[Run]) -> None:
        self.progress = progress
        self.finished = {run.key for run in runs} - {run.key for run in todo}
        self.shares: dict[Key, float] = {}
        self.task = progress.add_task(name, total=len(runs), completed=len(self.finished))

    def report(self, key: Key, share: float) -> None:
        """Show the share of a run that is done."""
        if key in self.finished:  # reports of other processes may arrive late
            return
        self.shares[key] = share
        self._update()

    def finish(self, runs: list[Run]) -> None:
        """Show that runs are finished."""
        for run in runs:
            self.shares.pop(run.key, None)
            self.finished.add(run.key)
        self._update()

    def _update(self) -> None:
        completed = len(self.finished) + min(sum(self.shares.values()), len(self.shares))
        self.progress.update(self.task, completed=completed)


def _progress(console: Console) -> Progress:
    count = TextColumn("{task.completed:.1f}/{task.total:.0f}")
    remaining = (TextColumn("left:"), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeElapsedColumn())
    return Progress(*columns, *remaining, console=console)
