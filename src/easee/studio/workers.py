"""Worker processes: each does one task at a time, reports its progress, and can be ended."""

import importlib
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from easee._utils.timing import listening
from easee.errors import EaseeError
from easee.studio.tasks import INTERRUPTIBLE, perform

EVERY = 0.2  # seconds between two reports
GRACE = 5.0  # seconds that an interrupted task has, to return what it found
_SPAWN = multiprocessing.get_context("spawn")  # a fork would copy the threads' locks


@dataclass(frozen=True)
class Report:
    """The progress of a task: a part of the work, steps done and expected, 0 if unknown."""

    part: str
    done: int = 0
    expected: int = 0


class TaskFailed(Exception):
    """A task did not return a result; the message is for the user."""


class TaskStopped(Exception):
    """A task was stopped before it had a result."""


class Worker:
    """A process that does tasks.

    Args:
        modules: packages that the process imports first; they may register environments.
    """

    def __init__(self, modules: Sequence[str] = ()) -> None:
        self._connection, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(
            target=_be_worker, args=(theirs, tuple(modules)), daemon=True
        )
        self._process.start()
        theirs.close()

    @property
    def alive(self) -> bool:
        """Whether the process can do another task."""
        return self._process.is_alive() and not self._connection.closed

    def run(
        self,
        kind: str,
        arguments: dict[str, Any],
        *,
        seconds: float,
        stop: threading.Event,
        report: Callable[[Report], None],
    ) -> str:
        """Do a task and return its result as JSON.

        After `seconds`, or if `stop` is set, the task is interrupted, and ended a little later.

        Raises:
            TaskFailed: it raised an error, took too long, or its process died.
            TaskStopped: it was stopped before it had a result.
        """
        deadline = time.monotonic() + seconds
        try:
            self._connection.send((kind, arguments))
            result = self._wait(report, lambda: stop.is_set() or time.monotonic() > deadline)
            if result is None:
                self._connection.send("stop")
                last = time.monotonic() + (GRACE if kind in INTERRUPTIBLE else 0.0)
                result = self._wait(report, lambda: time.monotonic() > last)
                if result is None:
                    self.close()
        except (EOFError, OSError):
            self.close()
            raise TaskFailed(
                "the process of this computation ended unexpectedly: it may have run out of "
                "memory, or the environment ended it"
            ) from None
        if result:
            return result
        if stop.is_set():
            raise TaskStopped
        raise TaskFailed(
            f"this took longer than {seconds:g} seconds and was stopped: lower the depth, or use "
            "the command line, which has no limit"
        )

    def _wait(self, report: Callable[[Report], None], over: Callable[[], bool]) -> str | None:
        """Wait for the result; return "" if the task was interrupted, None if the time is over."""
        while not over():
            if not self._connection.poll(0.05):
                continue
            message, content = self._connection.recv()
            if message == "error":
                raise TaskFailed(content)
            if message != "progress":
                return str(content)
            report(content)
        return None

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.terminate()
        self._process.join(1.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


# --- in the process ------------------------------------------------------------------------------


def _be_worker(connection: Connection, modules: Sequence[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this
    threading.Thread(target=_end_with_parent, daemon=True).start()
    work(connection, modules)


def _end_with_parent() -> None:
    """Wait until the server ends, however it does, and end this process in the midst of a task."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def work(connection: Connection, modules: Sequence[str]) -> None:
    """Do tasks until the connection closes."""
    failure = _import(modules)
    try:
        while True:
            task = connection.recv()
            if task == "stop":  # of a task that has just ended
                continue
            kind, arguments = task
            if failure:
                connection.send(("error", failure))
                continue
            connection.send(_outcome(connection, kind, arguments))
    except (EOFError, OSError):
        return  # the server has ended


def _import(modules: Sequence[str]) -> str:
    """Import packages; return what went wrong, if anything."""
    try:
        for module in modules:
            importlib.import_module(module)
    except Exception as error:
        return f"--import {module}: {type(error).__name__}: {error}"
    return ""


def _outcome(connection: Connection, kind: str, arguments: dict[str, Any]) -> tuple[str, str]:
    """Do a task; return what is sent back."""
    with listening() as watch:
        progress = _Progress(connection, lambda: watch.current or "working")
        try:
            return "result", json.dumps(perform(kind, arguments, progress), allow_nan=False)
        except KeyboardInterrupt:
            return "interrupted", ""
        except EaseeError as error:
            return "error", str(error)
        except MemoryError:
            return "error", "this needs more memory than there is: lower the depth"
        except Exception as error:  # an environment's own code may raise anything
            return "error", f"{type(error).__name__}: {error}"


class _Progress:
    """A progress function that sends reports, and raises KeyboardInterrupt to stop the task."""

    def __init__(self, connection: Connection, part: Callable[[], str]) -> None:
        self.connection, self.part, self.sent = connection, part, 0.0

    def __call__(self, done: int, expected: int) -> None:
        now = time.monotonic()
        if now - self.sent < EVERY:
            return
        self.sent = now
        if self.connection.poll() and self.connection.recv() == "stop":
            raise KeyboardInterrupt
        self.connection.send(("progress", Report(self.part(), done, max(done, expected))))
