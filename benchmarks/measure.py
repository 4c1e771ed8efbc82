"""Time measurements, in separate processes with limits on time and memory."""

from __future__ import annotations

import multiprocessing as mp
import resource
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import easee
from benchmarks import algorithm1
from benchmarks.cases import Case
from easee.words.presentation import rules_of

ENOUGH = 0.5  # seconds: shorter work is repeated, and the best time is reported


def best_time(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the shortest time of up to ten repetitions, and the last result."""
    best, spent, result = float("inf"), 0.0, None
    for _ in range(10):
        began = time.perf_counter()
        result = work()
        took = time.perf_counter() - began
        best, spent = min(best, took), spent + took
        if spent > ENOUGH:
            break
    return best, result


def ours(case: Case) -> dict[str, Any]:
    """Measure unroll and balance."""
    omega = case.prior
    rules_of.cache_clear()
    build, graph = best_time(lambda: _unroll_anew(omega, case.depth))
    balance, policy = best_time(lambda: easee.balance(graph, tolerance=case.target))
    return {
        "nodes": len(graph),
        "edges": int(graph.forward.sum()),
        "exact": graph.exact,
        "build_s": build,
        "balance_s": balance,
        "gap": easee.duality_gap(graph, policy.probabilities),
        "entropy": policy.entropy,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def _unroll_anew(omega: easee.Equivalences, depth: int) -> easee.LocalGraph:
    """Unroll without cached completions, so that completion is part of the time."""
    rules_of.cache_clear()
    graph = easee.unroll(omega, depth)
    assert graph.forward.shape and graph.ends.shape  # cached properties, part of the build
    return graph


def paper_build(case: Case) -> dict[str, Any]:
    """Measure Algorithm 1."""
    seconds, successors = best_time(lambda: algorithm1.build(case.prior, case.depth))
    return {"algorithm1_s": seconds, "algorithm1_nodes": len(successors)}


def paper_balance(case: Case) -> dict[str, Any]:
    """Measure CVXPY with Clarabel on our graph, and the duality gap of its policy."""
    from benchmarks import paper_solver

    graph = easee.unroll(case.prior, case.depth)
    paper_solver.balance(easee.unroll(case.prior, 1))  # load all modules first
    seconds, (table, status) = best_time(lambda: paper_solver.balance(graph))
    return {"cvxpy_s": seconds, "cvxpy_gap": easee.duality_gap(graph, table), "cvxpy": status}


def apart(
    work: Callable[[Case], dict[str, Any]], case: Case, *, limit: float, gigabytes: float
) -> dict[str, Any] | str:
    """Run work in its own process; return its result, or the reason why it failed."""
    receiver, sender = mp.Pipe(duplex=False)
    process = mp.get_context("spawn").Process(target=_run, args=(work, case, gigabytes, sender))
    process.start()
    sender.close()
    try:
        if not receiver.poll(limit):
            return f"over {limit:.0f} s"
        return receiver.recv()  # type: ignore[no-any-return]
    except EOFError:
        return "killed"
    finally:
        process.kill()
        process.join()


def _run(
    work: Callable[[Case], dict[str, Any]], case: Case, gigabytes: float, sender: Connection
) -> None:
    most = int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        sender.send(work(case))
    except MemoryError:
        sender.send(f"over {gigabytes:.0f} GB")
    except Exception as error:
        sender.send(f"failed ({type(error).__name__})")
