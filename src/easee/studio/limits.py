"""What the studio accepts, so that a page can neither exhaust the machine nor wait for ever."""

from typing import Any

from easee._utils.checks import checked_count
from easee.errors import ArgumentError, PriorError

MAX_BODY = 1_000_000  # bytes of a request
MAX_ACTIONS = 100
MAX_RELATIONS = 2_000
MAX_LINE = 2_000  # characters of a line of a prior
MAX_DEPTH = 100
MAX_NODES = 200_000
CONFIRM_NODES = 30_000  # larger graphs are compiled only if the user insists
DRAWN_NODES = 2_000  # larger graphs are drawn with groups of nodes
MAX_RUNNING = 3  # jobs that run at the same time, of the short and of the long ones
MAX_JOBS = 24  # that run or wait
KEPT_JOBS = 40  # finished ones, whose results a reloaded page finds again

# Seconds until a job is stopped.
SECONDS = {
    "compile": 60.0,
    "growth": 60.0,
    "node": 60.0,
    "walk": 60.0,
    "race": 60.0,
    "policy-file": 60.0,
    "figure": 60.0,
    "environments": 60.0,
    "verify": 900.0,
    "discover": 3600.0,
    "tune": 3600.0,
}


class PriorTooLongError(PriorError):
    """A prior is longer than the studio works on."""


def checked_between(value: Any, name: str, least: int, most: int) -> int:
    """Return a whole number within limits; raise an error for anything else.

    >>> checked_between(101, "depth", 1, 100)
    Traceback (most recent call last):
    easee.errors.ArgumentError: expected depth of at most 100, found 101
    """
    number = checked_count(value, name, least=least)
    if number > most:
        raise ArgumentError(f"expected {name} of at most {most:,}, found {number:,}")
    return number


def checked_depth(value: Any) -> int:
    """Return a depth within the limits of the studio."""
    return checked_between(value, "depth", 1, MAX_DEPTH)


def check_prior_size(text: str) -> None:
    """Raise an error for a prior that is too long to be worked on as it is typed.

    >>> check_prior_size("actions: a" + " ~" * 2000)
    Traceback (most recent call last):
    easee.studio.limits.PriorTooLongError: line 1 has 4,010 characters: ...
    """
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if len(line) > MAX_LINE:
            raise _at_line(
                number,
                f"line {number} has {len(line):,} characters: the studio takes at most "
                f"{MAX_LINE:,}. Longer relations work in Python",
            )
    relations = [i for i, line in enumerate(lines, start=1) if "~" in line.split("#", 1)[0]]
    if len(relations) > MAX_RELATIONS:
        raise _at_line(
            relations[MAX_RELATIONS],
            f"this prior has {len(relations):,} relations: the studio takes at most "
            f"{MAX_RELATIONS:,}. Use easee compile or Python for larger ones",
        )


def check_action_count(actions: tuple[str, ...]) -> None:
    """Raise an error for a prior with too many actions."""
    if len(actions) > MAX_ACTIONS:
        raise _at_line(
            1,
            f"this prior has {len(actions):,} actions: the studio takes at most {MAX_ACTIONS}",
        )


def _at_line(number: int, message: str) -> PriorTooLongError:
    error = PriorTooLongError(message)
    error.line = number
    return error
