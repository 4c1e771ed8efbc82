"""How far a long run is, told from inside it to whoever shows a bar.

A run calls `report` with the share of it that is done. In a worker process that goes through a
queue, which `listen_to` sets; where nobody listens, nothing happens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

PAUSE = 0.5  # seconds between two reports of a run

Listener = Callable[[tuple[str, int], float], None]

_listener: Listener | None = None
_last = 0.0


def listen_to(listener: Listener | None) -> None:
    """Send what runs of this process report to a function of the run's key and the share."""
    global _listener
    _listener = listener


def send_to(queue: Any) -> None:
    """Send what runs of this process report through a queue."""
    listen_to(lambda key, share: queue.put((key, share)))


def report(key: tuple[str, int], share: float) -> None:
    """Say that so much of a run is done; most calls cost nothing."""
    global _last
    now = time.monotonic()
    if _listener is not None and now - _last >= PAUSE:
        _last = now
        _listener(key, share)


def report_all(keys: Iterable[tuple[str, int]], share: float) -> None:
    """Say that so much is done of runs that are in step."""
    if _listener is not None:
        for key in keys:
            _listener(key, share)


def pass_on(key: tuple[str, int], share: float) -> None:
    """Hand on what a run in another process reported."""
    if _listener is not None:
        _listener(key, share)
