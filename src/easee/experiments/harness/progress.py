"""Progress of a long run, reported from inside it to a listener.

A run calls `report` with the share of it that is done. Without a listener, nothing happens.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from easee.experiments.harness.figure import Key

Listener = Callable[[Key, float], None]

_listener: ContextVar[Listener | None] = ContextVar("easee_run_listener", default=None)


def listen(listener: Listener) -> None:
    """Send all later reports of this process to a listener."""
    _listener.set(listener)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send reports to a listener within a block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(key: Key, share: float) -> None:
    """Report the share of a run that is done."""
    listener = _listener.get()
    if listener is not None:
        listener(key, share)
