"""The exceptions of this library.

::

    EaseeError
    ├── PriorError (ValueError)            an invalid prior
    │   └── UnknownActionError             a word uses an unknown action
    ├── ArgumentError (ValueError)         an argument has an invalid value
    │   └── ArgumentTypeError (TypeError)  an argument has the wrong type
    ├── GraphTooLargeError (MemoryError)   the graph does not fit in memory
    ├── PopulationTooLargeError (MemoryError)  the runs do not fit in the device's memory
    ├── ConvergenceError (RuntimeError)    the optimiser did not reach its tolerance
    ├── PolicyFileError (ValueError)       an invalid or damaged policy file
    ├── ProbeError (ValueError)            an environment cannot be probed
    ├── WriteError (OSError)               a file cannot be written
    └── MissingExtraError (ImportError)    an optional dependency is not installed

Each exception also derives from the built-in exception in parentheses.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any


class EaseeError(Exception):
    """Base class of all exceptions that this library defines."""


class PriorError(EaseeError, ValueError):
    """A prior is invalid.

    Attributes:
        line: number of the line in the text of the prior, from 1 on; 0 if it is unknown.
    """

    line: int = 0


class UnknownActionError(PriorError):
    """A word uses an unknown action."""


class ArgumentError(EaseeError, ValueError):
    """An argument has an invalid value."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument has the wrong type."""


class GraphTooLargeError(EaseeError, MemoryError):
    """The local-dynamics graph does not fit in memory.

    Attributes:
        fits: the largest depth that fits; 0 if it is unknown or there is none.
    """

    fits: int = 0

    @classmethod
    def at_depth(cls, depth: int, totals: Sequence[int], max_nodes: int) -> GraphTooLargeError:
        """Return the error for a requested depth, with the largest depth that fits.

        `totals` are the numbers of nodes up to each depth; the last one is above `max_nodes`.
        """
        fits = bisect_right(totals, max_nodes) - 1
        way_out = f"depth {fits} fits ({totals[fits]:,} nodes)" if fits > 0 else "no depth fits"
        error = cls(
            f"depth {depth} does not fit: expected at most {max_nodes:,} nodes, found "
            f"{totals[fits + 1]:,} up to layer {fits + 1}; {way_out}"
        )
        error.fits = fits
        return error


class PopulationTooLargeError(EaseeError, MemoryError):
    """The runs of a population do not fit in the device's memory.

    Attributes:
        fits: the number of runs that fit.
    """

    fits: int = 0


class ConvergenceError(EaseeError, RuntimeError):
    """The optimiser did not reach its tolerance.

    Attributes:
        gap: the duality gap reached.
        tolerance: the requested duality gap.
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
        super().__init__(message, gap, tolerance, policy)  # pickle restores an error from these
        self.gap, self.tolerance, self.policy = gap, tolerance, policy

    def __str__(self) -> str:
        return str(self.args[0])


class PolicyFileError(EaseeError, ValueError):
    """A policy file is invalid or damaged."""


class ProbeError(EaseeError, ValueError):
    """An environment cannot be probed: it cannot be saved and restored, or it is random."""


class WriteError(EaseeError, OSError):
    """A file cannot be written."""


class MissingExtraError(EaseeError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(package, extra)

    def __str__(self) -> str:
        package, extra = self.args
        return (
            f"this needs {package}, which is not installed: in a clone of the repository, "
            f"pip install '.[{extra}]'"
        )
