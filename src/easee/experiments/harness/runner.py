"""Doing the runs of a figure: in local processes, on a Ray cluster, or all as one program."""

from __future__ import annotations

import multiprocessing
import os
import queue
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from easee._utils.checks import checked_count
from easee.errors import ArgumentError, EaseeError, MissingExtraError
from easee.experiments.deep.population_backend import check_population
from easee.experiments.harness.figure import Figure, Measured, Row, Run, chosen_runs
from easee.experiments.harness.progress import PAUSE, listen_to, pass_on, send_to
from easee.experiments.harness.store import Store

Done = tuple[Run, Measured]


class ClusterError(EaseeError, ConnectionError):
    """A Ray cluster cannot be reached."""


def run_missing(
    figure: Figure,
    folder: Path,
    *,
    seeds: int,
    arms: Iterable[str] | None = None,
    jobs: int | None = None,
    backend: str = "local",
    address: str | None = None,
    force: bool = False,
    console: Console | None = None,
) -> list[Row]:
    """Do the runs of a figure that are not in its folder yet, and return all its rows.

    Args:
        figure: what to run.
        folder: where its results are.
        seeds: how many seeds.
        arms: only these; by default all.
        jobs: local processes; by default one per core.
        backend: "local", "ray" or "population".
        address: of a Ray cluster; by default one is started here.
        force: start over, whatever is there.
        console: where to show progress; by default nowhere.
    """
    if backend == "population" and (jobs is not None or address is not None):
        raise ArgumentError("a population is one process: leave out --jobs and --address")
    figure = figure.for_backend(backend)
    runs = chosen_runs(figure, seeds, arms)
    if jobs is not None:
        checked_count(jobs, "jobs")
    # Before anything is touched:
    if backend == "ray":
        _check_reachable(address)
    if backend == "population":
        check_population(runs)
    console = console or Console(quiet=True)
    store = Store(figure, folder)
    store.open(force=force)
    for problem in store.read().problems:
        console.print(f"skipped {problem}", highlight=False, markup=False, soft_wrap=True)
    todo = store.missing(runs)
    if todo:
        store.note(" ".join(["easee", *sys.argv[1:]]))
        done: Iterable[Done]
        if backend == "population":
            assert figure.together is not None
            done = figure.together(todo, store)
        elif backend == "ray":
            done = do_on_ray(figure, todo, address)
        else:
            done = do_locally(figure, todo, jobs)
        with (
            _progress(console) as progress,
            closing(_Bar(progress, figure.name, runs, todo)) as bar,
        ):
            for run, measured in done:
                store.add(run, figure.rows(run, measured))
                bar.finish(run)
    return store.gather(figure.runs(max(seeds, figure.seeds)))


class _Bar:
    """The bar of a figure: finished runs, and the shares of those in flight."""

    def __init__(self, progress: Progress, name: str, runs: list[Run], todo: list[Run]) -> None:
        self.progress = progress
        self.finished = len(runs) - len(todo)
        self.shares: dict[tuple[str, int], float] = {}
        self.task = progress.add_task(name, total=len(runs), completed=self.finished)
        listen_to(self.hear)

    def hear(self, key: tuple[str, int], share: float) -> None:
        """Show that a run is so far."""
        self.shares[key] = share
        self._show()

    def finish(self, run: Run) -> None:
        """Show that a run is done."""
        self.shares.pop(run.key, None)
        self.finished += 1
        self._show()

    def _show(self) -> None:
        completed = self.finished + min(sum(self.shares.values()), len(self.shares))
        self.progress.update(self.task, completed=completed)

    def close(self) -> None:
        """Hear nothing more."""
        listen_to(None)


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.1f}/{task.total:.0f}"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=console,
    )


def do_locally(figure: Figure, runs: list[Run], jobs: int | None = None) -> Iterator[Done]:
    """Do runs in local processes and yield each when it is done.

    Args:
        figure: whose runs they are.
        runs: what to do.
        jobs: how many processes; by default one per core. With one job no process is started.
    """
    jobs = min(jobs or os.cpu_count() or 1, len(runs))
    if jobs <= 1:
        yield from ((run, figure.measure(run)) for run in runs)
        return
    context = multiprocessing.get_context("spawn")
    reports = context.Queue()
    with ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_begin_worker, initargs=(reports, os.getpid())
    ) as pool:
        waiting = {pool.submit(figure.measure, run): run for run in runs}
        try:
            while waiting:
                done, _ = wait(waiting, timeout=PAUSE, return_when=FIRST_COMPLETED)
                _pass_on(reports)
                for future in done:
                    yield waiting.pop(future), future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _begin_worker(reports: Any, parent: int) -> None:
    send_to(reports)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """End this process when its parent is gone, whatever ended that."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _pass_on(reports: Any) -> None:
    while True:
        try:
            pass_on(*reports.get_nowait())
        except queue.Empty:
            return


def do_on_ray(figure: Figure, runs: list[Run], address: str | None = None) -> Iterator[Done]:
    """Do runs on a Ray cluster and yield each when it is done.

    Args:
        figure: whose runs they are.
        runs: what to do.
        address: of the cluster, as `ray.init` takes it; None starts one on this machine.
    """
    ray = _ray(address)
    try:
        measure = ray.remote(figure.measure)
        waiting = {measure.remote(run): run for run in runs}
        while waiting:
            (reference,), _ = ray.wait(list(waiting), num_returns=1)
            yield waiting.pop(reference), ray.get(reference)
    finally:
        ray.shutdown()


def _ray(address: str | None) -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtraError("ray", "ray") from None
    _check_reachable(address)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        options["include_dashboard"] = False
    try:
        ray.init(address=address or "local", **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ClusterError(f"no Ray cluster at {address!r}: {error}") from error
    return ray


def _check_reachable(address: str | None) -> None:
    """Ray itself would try for minutes: knock first."""
    if address is None or address in ("auto", "local"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise ClusterError(f"expected the address of a cluster as HOST:PORT, found {address!r}")
    try:
        socket.create_connection((host, int(port)), timeout=3.0).close()
    except OSError as error:
        raise ClusterError(f"no Ray cluster answers at {address!r}: {error}") from None
