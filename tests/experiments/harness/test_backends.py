import time
from concurrent.futures import BrokenExecutor, Future
from dataclasses import replace
from pathlib import Path

import pytest

from easee.experiments.harness import backends
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.figure import Run
from easee.experiments.harness.runner import run_missing
from easee.experiments.harness.store import Store
from easee.experiments.registry import FIGURES

RUNS = [Run("a", seed) for seed in range(6)]


class AtOnce:
    """A pool that does everything when it is submitted, so that all is done at the next look."""

    def __init__(self, broken_after=10):
        self.broken_after = broken_after
        self.submitted = 0

    def submit(self, function, *args):
        if self.submitted == self.broken_after:
            raise BrokenExecutor("a process was killed")
        self.submitted += 1
        future: Future[object] = Future()
        try:
            future.set_result(function(*args))
        except ZeroDivisionError as error:
            future.set_exception(error)
        return future


def divide(run):
    return [(1, "value", 1 / (run.seed - 1))]  # the second run fails


def do(runs, pool, jobs):
    """Return the seeds that are done before an error, and the error."""
    seeds = []
    try:
        for batch in backends._do_in_pool(pool, divide, runs, jobs):
            seeds += [run.seed for run, _ in batch]
    except (ZeroDivisionError, BrokenExecutor) as error:
        return sorted(seeds), type(error)
    return sorted(seeds), None


def test_runs_that_finish_together_with_a_failure_are_kept():
    pool = AtOnce()
    assert do(RUNS, pool, jobs=4) == ([0, 2, 3], ZeroDivisionError)
    assert pool.submitted == 4


def test_no_more_runs_are_submitted_than_there_are_workers():
    pool = AtOnce()
    assert do(RUNS, pool, jobs=1) == ([0], ZeroDivisionError)
    assert pool.submitted == 2
    assert do(RUNS[2:], AtOnce(), jobs=3) == ([2, 3, 4, 5], None)


def test_runs_that_finished_before_a_worker_was_killed_are_kept():
    assert do(RUNS[2:], AtOnce(broken_after=2), jobs=3) == ([2, 3], BrokenExecutor)


def fail_or_finish(run):
    """Fail in the first run while the second is in flight, which ends a second later."""
    folder = Path(run.settings["folder"])
    (folder / f"started {run.seed}").touch()
    if run.seed == 0:
        wait_for(folder / "started 1")
        (folder / "failed").touch()
        raise ZeroDivisionError
    wait_for(folder / "failed")
    time.sleep(1.0)  # here a pool begins what is next in its queue
    return [(1, "unique states", float(run.seed))]


def wait_for(path):
    for _ in range(6_000):
        if path.exists():
            return
        time.sleep(0.01)
    raise TimeoutError(path)


@pytest.mark.slow
def test_a_failing_run_does_not_discard_those_in_flight(tmp_path):
    runs = [Run("CardinalGrid/uniform", seed, {"folder": str(tmp_path)}) for seed in range(5)]
    figure = replace(FIGURES["fig3"], runs=lambda n: runs, backends=one_by_one(fail_or_finish))
    with pytest.raises(ZeroDivisionError):
        run_missing(figure, tmp_path / "results", seeds=1, jobs=2)
    assert {run.seed for run in Store(figure, tmp_path / "results").missing(runs)} == {0, 2, 3, 4}
    assert sorted(path.name for path in tmp_path.glob("started *")) == ["started 0", "started 1"]


def raise_in_second(run):
    if run.seed == 1:
        raise ZeroDivisionError
    return [(1, "unique states", float(run.seed))]


def test_in_one_process_the_first_error_ends_all(tmp_path):
    figure = replace(FIGURES["fig3"], runs=lambda n: RUNS, backends=one_by_one(raise_in_second))
    with pytest.raises(ZeroDivisionError):
        run_missing(figure, tmp_path, seeds=1, jobs=1)
    assert Store(figure, tmp_path).missing(RUNS) == RUNS[1:]
