"""Progress of a long run, reported from inside it to a listener.

A run calls `report` with the share of it that is done. Without a listener, nothing happens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from easee.experiments.harness.figure import Key

PAUSE = 0.5  # seconds between two reports

Listener = Callable[[Key, float], None]

_listener: ContextVar[Listener | None] = ContextVar("easee_run_listener", default=None)


def listen(listener: Listener) -> None:
    """Send all later reports of this process to a listener."""
    _listener.set(_throttled(listener))


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send reports to a listener within a block."""
    token = _listener.set(_throttled(listener))
    try:
        yield
    finally:
        _listener.reset(token)


def report(key: Key, share: float) -> None:
    """Report the share of a run that is done; most calls cost next to nothing."""
    listener = _listener.get()
    if listener is not None:
        listener(key, share)


def _throttled(listener: Listener) -> Listener:
    last = -PAUSE

    def call(key: Key, share: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PAUSE:
            last = now
            listener(key, share)

    return call
