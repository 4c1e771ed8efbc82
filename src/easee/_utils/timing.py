"""Profiling: functions report how long their parts take.

    with listening() as watch:
        easee.compile(omega, depth=50)
    print(watch.seconds)  # {'completion': 0.001, 'build': 0.008, ...}

Without a listener, the overhead is negligible.
"""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar


class Stopwatch:
    """Seconds spent in each part, not counting the parts nested in it.

    Attributes:
        seconds: seconds by part, in the order in which the parts were first entered.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open: list[str] = []
        self._since = time.perf_counter()

    @property
    def current(self) -> str | None:
        """The innermost part that is running, if any."""
        return self._open[-1] if self._open else None

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Time a part."""
        self._settle()
        self._open.append(part)
        self.seconds.setdefault(part, 0.0)
        try:
            yield
        finally:
            self._settle()
            self._open.pop()

    def _settle(self) -> None:
        """Add the time since the last call to the current part."""
        now = time.perf_counter()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now


_listener: ContextVar[Stopwatch | None] = ContextVar("easee_stopwatch", default=None)


@contextmanager
def listening() -> Iterator[Stopwatch]:
    """Collect the times of all parts that run inside this context.

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


def timed(part: str) -> AbstractContextManager[None]:
    """Return a context that reports its time to the listener, if there is one."""
    watch = _listener.get()
    return nullcontext() if watch is None else watch.timed(part)
