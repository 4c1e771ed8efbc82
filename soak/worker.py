"""The process that tries the cases of an attack, and its supervision.

A case may hang, exhaust the memory or crash the interpreter. The process therefore announces each
case before it tries it, so that the supervisor knows which case did that.
"""

from __future__ import annotations

import math
import multiprocessing as mp
import os
import resource
import signal
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection

import numpy as np

from soak.attack import Attack, Case, Counts, case_of, examine

STARTING = 120.0  # seconds that a process may take to start
Outcome = tuple[int, Counts, str | None]  # number of the case, what was counted, the finding


def outcomes(attack: Attack, seed: int, start: int, seconds: float) -> Iterator[Outcome]:
    """Try the cases of an attack from number `start` on, in another process, for a time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for number, counts, finding in _outcomes_until_crash(attack, seed, start, deadline):
            yield number, counts, finding
            start = number + 1


def outcome_of(attack: Attack, case: Case) -> str | None:
    """Try one case in another process and return the finding, if any."""
    constant = replace(attack, draw=partial(_same, case))
    _, _, finding = next(outcomes(constant, 0, 0, math.inf))
    return finding


def _same(case: Case, rng: np.random.Generator) -> Case:
    return case


def _outcomes_until_crash(
    attack: Attack, seed: int, start: int, deadline: float
) -> Iterator[Outcome]:
    context = mp.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory(prefix="soak-", ignore_cleanup_errors=True) as folder:
        arguments = (attack, seed, start, deadline, folder, sender)
        process = context.Process(target=_work, args=arguments)
        process.start()
        sender.close()
        number, limit = start, STARTING
        try:
            while receiver.poll(limit):
                message, limit = receiver.recv(), attack.seconds
                if isinstance(message, int):
                    number = message
                else:
                    yield message
            yield number, {}, f"the case took more than {limit:.0f} s"
        except EOFError:
            process.join()
            if process.exitcode:
                yield number, {}, f"the process ended with exit code {process.exitcode}"
        finally:
            _end(process)


def _end(process: mp.process.BaseProcess) -> None:
    """End a process and all that it started, even if it has ended itself."""
    assert process.pid is not None
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()  # it may not have a group of its own yet
    process.join()


def _work(
    attack: Attack, seed: int, start: int, deadline: float, folder: str, sender: Connection
) -> None:
    os.setpgid(0, 0)
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    limit = int(attack.gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    warnings.filterwarnings("error", category=RuntimeWarning, module="easee")
    number = start
    while number == start or time.monotonic() < deadline:
        sender.send(number)
        sender.send((number, *examine(attack, case_of(attack, seed, number))))
        number += 1
