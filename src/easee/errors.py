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
