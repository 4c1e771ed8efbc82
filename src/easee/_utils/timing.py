"""Where the time goes: parts of the work report themselves to whoever listens.

    with listening() as watch:
        easee.compile(omega, depth=50)
    print(watch.seconds)  # {'completion': 0.001, 'build': 0.008, ...}

Without a listener, reporting costs next to nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Stopwatch:
    """Seconds spent in each part. A part within another counts for itself alone.

    Attributes:
        seconds: by part, in the order in which they were first entered.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open: list[str] = []
        self._since = time.perf_counter()

    @property
    def current(self) -> str | None:
        """The part that is going on, if any."""
        return self._open[-1] if self._open else None

    def enter(self, part: str) -> None:
        """A part begins."""
        self._settle()
        self._open.append(part)
        self.seconds.setdefault(part, 0.0)

    def leave(self) -> None:
        """The part that was entered last ends."""
        self._settle()
        self._open.pop()

    def _settle(self) -> None:
        now = time.perf_counter()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now


_listener: ContextVar[Stopwatch | None] = ContextVar("easee_stopwatch", default=None)


@contextmanager
def listening() -> Iterator[Stopwatch]:
    """Collect the times of all parts that report themselves meanwhile.

    >>> with listening() as watch:
    ...     with timed("rest"):
    ...         time.sleep(0.01)
    >>> list(watch.seconds), watch.seconds["rest"] >= 0.01
    (['rest'], True)
    """
    watch = Stopwatch()
    token = _listener.set(watch)
    try:
        yield watch
    finally:
        _listener.reset(token)


@contextmanager
def timed(part: str) -> Iterator[None]:
    """Report a part of the work to the listener, if there is one."""
    watch = _listener.get()
    if watch is None:
        yield
        return
    watch.enter(part)
    try:
        yield
    finally:
        watch.leave()
