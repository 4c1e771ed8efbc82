"""Backends that do one run at a time: local processes, and a Ray cluster."""

import multiprocessing
import os
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from easee.errors import EaseeError, MissingExtraError
from easee.experiments.harness.figure import Backend, Done, Measured, Monitor, Options, Run
from easee.experiments.harness.progress import listen, listening

Measure = Callable[[Run], Measured]

PAUSE = 0.5  # seconds between two updates of the progress


class ClusterError(EaseeError, ConnectionError):
    """A Ray cluster cannot be reached."""


def one_by_one(measure: Measure) -> dict[str, Backend]:
    """Return the backends for figures whose runs are done one by one.

    Other processes import `measure`, so it must be a function of a module.
    """
    return {"local": LocalProcesses(measure), "ray": RayCluster(measure)}


@dataclass(frozen=True)
class LocalProcesses:
    """Does runs in local processes; with one job, in this one."""

    measure: Measure

    def check(self, runs: list[Run], options: Options) -> None:
        """Accept any runs."""

    def execute(self, runs: list[Run], options: Options, monitor: Monitor) -> Iterator[list[Done]]:
        """Do runs and yield each when it is done.

        If a run fails, no other run is started, and those in other processes are finished before
        the error is raised.
        """
        jobs = min(options.jobs or os.cpu_count() or 1, len(runs))
        if jobs > 1:
            yield from self._in_processes(runs, jobs, monitor)
            return
        for run in runs:
            with listening(monitor.report):
                measured = self.measure(run)
            yield [(run, measured)]

    def _in_processes(self, runs: list[Run], jobs: int, monitor: Monitor) -> Iterator[list[Done]]:
        context = multiprocessing.get_context("spawn")
        reports = context.Queue()
        with ProcessPoolExecutor(
            jobs, mp_context=context, initializer=_begin_worker, initargs=(reports, os.getpid())
        ) as pool:
            before = set(multiprocessing.active_children())
            try:
                for batch in _do_in_pool(pool, self.measure, runs, jobs):
                    while not reports.empty():
                        monitor.report(*reports.get())
                    if batch:
                        yield batch
            except (KeyboardInterrupt, GeneratorExit):
                for process in set(multiprocessing.active_children()) - before:
                    process.terminate()
                raise
            finally:
                pool.shutdown(wait=True, cancel_futures=True)


def _do_in_pool(
    pool: Executor, measure: Measure, runs: list[Run], jobs: int
) -> Iterator[list[Done]]:
    """Do runs in a pool with a number of workers; yield often, and what was done since.

    No more runs are submitted than there are workers, because a pool of processes starts even
    those that are cancelled if they are the next in its queue.
    """
    left = deque(runs)
    waiting: dict[Future[Measured], Run] = {}
    errors: list[BaseException] = []
    while waiting or (left and not errors):
        try:
            with _blocking_interrupts():  # the processes start here
                while left and not errors and len(waiting) < jobs:
                    run = left.popleft()
                    waiting[pool.submit(measure, run)] = run
        except BrokenExecutor as error:  # a process was killed; others may have finished before
            errors.append(error)
        done, _ = wait(waiting, timeout=PAUSE, return_when=FIRST_COMPLETED)
        ended = [(waiting.pop(future), future) for future in done]
        errors += [found for _, future in ended if (found := future.exception()) is not None]
        yield [(run, future.result()) for run, future in ended if future.exception() is None]
    if errors:
        raise errors[0]


@contextmanager
def _blocking_interrupts() -> Iterator[None]:
    """Delay Ctrl-C within a block; processes that start in it never receive it.

    So only this process handles it, and no worker prints a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_worker(reports: Any, parent: int) -> None:
    listen(lambda key, share: reports.put((key, share)))
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """End this process when its parent has ended, for whatever reason."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


@dataclass(frozen=True)
class RayCluster:
    """Does runs on a Ray cluster."""

    measure: Measure

    def check(self, runs: list[Run], options: Options) -> None:
        """Check that the cluster can be reached: Ray itself would try for minutes."""
        address = options.address
        if address is None or address in ("auto", "local"):
            return
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if not host or not port.isdigit():
            raise ClusterError(f"expected the address of a cluster as HOST:PORT, found {address!r}")
        try:
            socket.create_connection((host, int(port)), timeout=3.0).close()
        except OSError as error:
            raise ClusterError(f"no Ray cluster answers at {address!r}: {error}") from None

    def execute(self, runs: list[Run], options: Options, monitor: Monitor) -> Iterator[list[Done]]:
        """Do runs and yield each when it is done."""
        ray = _connect(options.address)
        try:
            measure = ray.remote(self.measure)
            waiting = {measure.remote(run): run for run in runs}
            while waiting:
                (reference,), _ = ray.wait(list(waiting), num_returns=1)
                yield [(waiting.pop(reference), ray.get(reference))]
        finally:
            ray.shutdown()


def _connect(address: str | None) -> Any:
    """Return the module `ray`, connected to a cluster."""
    if address:
        _present_token()  # before the import, which reads the environment
    try:
        import ray
    except ImportError:
        raise MissingExtraError("ray", "ray") from None
    options: dict[str, Any] = {} if address else {"include_dashboard": False}
    options |= {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        ray.init(address=address or "local", **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ClusterError(
            f"cannot connect to a Ray cluster at {address!r}: {error}; Ray's log above says why. "
            "If it says InvalidAuthToken, put the cluster's token into ~/.ray/auth_token, or its "
            "path into RAY_AUTH_TOKEN_PATH"
        ) from error
    return ray


def _present_token() -> None:
    """Let Ray send its token, if there is one.

    Ray does so by itself only for clusters that it starts. Clusters that need no token accept any.
    """
    named = any(name in os.environ for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"))
    if named or (Path.home() / ".ray" / "auth_token").is_file():
        os.environ.setdefault("RAY_AUTH_MODE", "token")
