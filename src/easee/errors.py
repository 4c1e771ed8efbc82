"""What can go wrong, as a tree.

    EaseeError
    ├── PriorError (ValueError)            a prior that does not parse or makes no sense
    │   └── UnknownActionError             a word uses an action that the prior does not have
    ├── ArgumentError (ValueError)         an argument of the right type with an impossible value
    │   └── ArgumentTypeError (TypeError)  an argument of the wrong type
    ├── GraphTooLargeError (MemoryError)   the graph would not fit in memory
    ├── PopulationTooLargeError (MemoryError)  the runs would not fit in the device's memory
    ├── ConvergenceError (RuntimeError)    the optimiser missed its tolerance
    ├── PolicyFileError (ValueError)       a file that is no policy, or not a whole one
    ├── ProbeError (ValueError)            an environment that cannot be looked into
    ├── WriteError (OSError)               a file that cannot be written
    └── MissingExtraError (ImportError)    an optional dependency is not installed

Each also derives from the built-in exception that a caller would expect there.
"""

from __future__ import annotations

import difflib
import numbers
import operator
from collections.abc import Iterable
from typing import Any


class EaseeError(Exception):
    """Root of every exception that this library raises on purpose."""


class PriorError(EaseeError, ValueError):
    """A prior that does not parse or makes no sense."""


class UnknownActionError(PriorError):
    """A word uses an action that the prior does not have."""


class ArgumentError(EaseeError, ValueError):
    """An argument has an impossible value."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument has the wrong type."""


class GraphTooLargeError(EaseeError, MemoryError):
    """The local-dynamics graph would not fit in memory."""


class PopulationTooLargeError(EaseeError, MemoryError):
    """The runs of a population would not fit in the device's memory."""


class ConvergenceError(EaseeError, RuntimeError):
    """The optimiser missed its tolerance.

    Attributes:
        gap: the duality gap that was reached.
        tolerance: the one that was asked for.
        policy: the best `ExplorationPolicy` found; its `gap` still bounds its distance from
            the optimum.
    """

    def __init__(
        self,
        message: str,
        gap: float = float("nan"),
        tolerance: float = float("nan"),
        policy: Any = None,
    ) -> None:
        super().__init__(message, gap, tolerance, policy)  # all of it, so that it can be pickled
        self.gap = gap
        self.tolerance = tolerance
        self.policy = policy

    def __str__(self) -> str:
        return str(self.args[0])


class PolicyFileError(EaseeError, ValueError):
    """A file is no policy, or not a whole one."""


class ProbeError(EaseeError, ValueError):
    """An environment cannot be looked into: it cannot be put back, or is random."""


class WriteError(EaseeError, OSError):
    """A file cannot be written."""


class MissingExtraError(EaseeError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(package, extra)

    def __str__(self) -> str:
        package, extra = self.args
        return f"this needs {package}, which is not installed: pip install 'easee-rl[{extra}]'"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint that names what was probably meant, or lists what there is.

    >>> nearest("lfet", ["left", "right"])
    "did you mean 'left'?"
    >>> nearest("jump", ["left", "right"])
    'expected one of: left, right'
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"expected one of: {', '.join(names)}"


def checked_count(value: Any, name: str, least: int = 1) -> int:
    """Return a whole number of at least `least` as an int, or say what is wrong with it.

    >>> checked_count(0, "depth")
    Traceback (most recent call last):
    easee.errors.ArgumentError: expected depth of at least 1, found 0
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise ArgumentTypeError(f"expected {name} as a whole number, found {value!r}") from None
    if isinstance(value, bool):
        raise ArgumentTypeError(f"expected {name} as a whole number, found {value!r}")
    if number < least:
        raise ArgumentError(f"expected {name} of at least {least}, found {number}")
    return number


def checked_share(value: Any, name: str) -> float:
    """Return a number between 0 and 1 as a float, or say what is wrong with it.

    >>> checked_share(1.5, "epsilon")
    Traceback (most recent call last):
    easee.errors.ArgumentError: expected epsilon between 0 and 1, found 1.5
    """
    if not isinstance(value, numbers.Real) or not 0.0 <= float(value) <= 1.0:
        raise ArgumentError(f"expected {name} between 0 and 1, found {value!r}")
    return float(value)
