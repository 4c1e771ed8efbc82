"""Jobs: tasks that run beside the page. A reloaded page finds them again by their numbers."""

import itertools
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from easee.errors import ArgumentError, EaseeError
from easee.studio.limits import KEPT_JOBS, MAX_JOBS, MAX_RUNNING, SECONDS
from easee.studio.tasks import INTERRUPTIBLE
from easee.studio.workers import Report, TaskFailed, TaskStopped, Worker

IDLE_WORKERS = MAX_RUNNING  # processes that wait for the next task


class TooManyJobsError(EaseeError):
    """More jobs run or wait than the studio allows."""


@dataclass
class Job:
    """A task, its state and its result.

    Attributes:
        number: the number that the page knows it by.
        kind: the name of its task.
        arguments: what it was started with.
        state: "running", "done", "failed" or "stopped".
        report: the last progress.
        result: JSON, if it is done.
        message: what went wrong, if it failed.
    """

    number: int
    kind: str
    arguments: dict[str, Any]
    started: float = field(default_factory=time.time)
    state: str = "running"
    report: Report = field(default_factory=lambda: Report("starting"))
    result: str | None = None
    message: str = ""
    seconds: float = 0.0
    stop: threading.Event = field(default_factory=threading.Event, repr=False)
    ended: threading.Event = field(default_factory=threading.Event, repr=False)

    def summary(self) -> dict[str, Any]:
        """Return everything but the result, as JSON."""
        running = self.state == "running"
        return {
            "id": self.number,
            "kind": self.kind,
            "env": self.arguments.get("env"),
            "state": self.state,
            "part": self.report.part,
            "done": self.report.done,
            "expected": self.report.expected,
            "seconds": round(time.time() - self.started if running else self.seconds, 2),
            "message": self.message,
        }


class Jobs:
    """The jobs of a studio, and the processes that do them.

    A few jobs run at the same time, and the others wait. Long ones have places of their own, so
    that short ones, which the page needs as you type, never wait for them.

    Args:
        modules: packages that each process imports.
    """

    def __init__(self, modules: Sequence[str] = ()) -> None:
        self.modules = tuple(modules)
        self._numbers = itertools.count(1)
        self._jobs: dict[int, Job] = {}
        self._idle: list[Worker] = []
        self._lock = threading.Lock()
        self._closed = False
        self._long, self._short = (threading.Semaphore(MAX_RUNNING) for _ in range(2))

    def warm_up(self) -> None:
        """Start a process before the first job needs it."""
        self._give_back(Worker(self.modules))

    def start(self, kind: str, arguments: dict[str, Any]) -> Job:
        """Start a job.

        Raises:
            TooManyJobsError: too many run or wait.
        """
        with self._lock:
            running = [job for job in self._jobs.values() if job.state == "running"]
            if len(running) >= MAX_JOBS:
                raise TooManyJobsError(
                    f"{len(running)} computations run or wait, and at most {MAX_JOBS} may: stop "
                    "one, or wait until one ends"
                )
            job = Job(next(self._numbers), kind, arguments)
            self._jobs[job.number] = job
            self._forget_old()
        threading.Thread(target=self._run, args=(job,), daemon=True).start()
        return job

    def get(self, number: int) -> Job:
        """Return a job by its number.

        Raises:
            ArgumentError: it is unknown, or so old that it was forgotten.
        """
        try:
            return self._jobs[number]
        except KeyError:
            raise ArgumentError(
                f"there is no computation {number}: the studio was started again, or has "
                "forgotten it"
            ) from None

    def all(self) -> list[Job]:
        """Return all jobs that are known, the latest first."""
        with self._lock:
            return list(reversed(self._jobs.values()))

    def stop(self, number: int) -> Job:
        """Ask a job to stop; it returns what it has found so far, if that is possible."""
        job = self.get(number)
        job.stop.set()
        return job

    def close(self) -> None:
        """Stop all jobs and end all processes."""
        with self._lock:
            self._closed = True
            jobs, idle, self._idle = list(self._jobs.values()), self._idle, []
        for job in jobs:
            job.stop.set()
        for worker in idle:
            worker.close()

    def _run(self, job: Job) -> None:
        places = self._long if job.kind in INTERRUPTIBLE else self._short
        state = "stopped"
        if self._enter(places, job):
            try:
                state = self._perform(job)
            finally:
                places.release()
        job.seconds = time.time() - job.started
        job.state = state
        job.ended.set()

    def _enter(self, places: threading.Semaphore, job: Job) -> bool:
        """Wait for a place; return whether there is one, and the job is still wanted."""
        while not places.acquire(timeout=0.1):
            job.report = Report("waiting for other computations")
            if job.stop.is_set():
                return False
        return True

    def _perform(self, job: Job) -> str:
        """Do the task of a job in a process; return the state of the job."""

        def keep(report: Report) -> None:
            job.report = report

        worker = self._take()
        try:
            job.result = worker.run(
                job.kind, job.arguments, seconds=SECONDS[job.kind], stop=job.stop, report=keep
            )
            return "done"
        except TaskStopped:
            return "stopped"
        except TaskFailed as error:
            job.message = str(error)
            return "failed"
        finally:
            self._give_back(worker)

    def _take(self) -> Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.alive:
                    return worker
        return Worker(self.modules)

    def _give_back(self, worker: Worker) -> None:
        with self._lock:
            keep = worker.alive and len(self._idle) < IDLE_WORKERS and not self._closed
            if keep:
                self._idle.append(worker)
            elif not worker.alive and not self._idle and not self._closed:
                self._idle.append(Worker(self.modules))  # so that the next job need not wait
        if not keep and worker.alive:
            worker.close()

    def _forget_old(self) -> None:
        ended = [number for number, job in self._jobs.items() if job.state != "running"]
        for number in ended[: max(len(ended) - KEPT_JOBS, 0)]:
            del self._jobs[number]
