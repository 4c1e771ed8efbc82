"""The text of a prior as it is typed: the prior, or its errors with their lines."""

import re
from dataclasses import dataclass

from easee.errors import ArgumentError, PriorError
from easee.priors.equivalences import Equivalences
from easee.studio.limits import PriorTooLongError, check_action_count, check_prior_size

MOST_ERRORS = 20


@dataclass(frozen=True)
class LineError:
    """What is wrong with a line, whose number counts from 1."""

    line: int
    message: str


def read_prior(text: object) -> Equivalences:
    """Return the prior of a text within the limits of the studio.

    Raises:
        PriorError: the text is no prior or too long; `line` is the line of the error.
    """
    if not isinstance(text, str):
        raise ArgumentError(f"expected the prior as text, found {type(text).__name__}")
    check_prior_size(text)
    try:
        omega = Equivalences.parse(text)
    except PriorError as error:
        if not error.line:
            error.line = _failing_line(text)
        raise
    check_action_count(omega.actions)
    return omega


def line_errors(text: object) -> list[LineError]:
    r"""Return the errors of all lines, or at most the first 20 of them.

    >>> line_errors("actions: left right\nleft rigth ~\nright ~ left ~ left")
    [LineError(line=2, message="unknown action 'rigth' in 'left rigth ~ Λ': did you mean 'right'?"),
     LineError(line=3, message="malformed relation 'right ~ left ~ left': expected two words ...")]
    """
    lines = str(text).split("\n")
    errors: list[LineError] = []
    while len(errors) < MOST_ERRORS:
        try:
            read_prior("\n".join(lines) if isinstance(text, str) else text)
        except PriorError as error:
            errors.append(LineError(error.line, _without_place(error)))
            if isinstance(error, PriorTooLongError) or not _has_content(lines[: error.line - 1]):
                break  # without its actions, every line of a prior is wrong
            lines[error.line - 1] = ""
        else:
            break
    return errors


def _has_content(lines: list[str]) -> bool:
    return any(line.split("#", 1)[0].strip() for line in lines)


def _without_place(error: PriorError) -> str:
    """Return a message without the line and its text, which the page shows anyway."""
    text = re.sub(rf"^line {error.line}: ", "", str(error))
    return re.sub(r" \(in '.*'\)$|\s\(in \".*\"\)$", "", text)


def _failing_line(text: str) -> int:
    """Return the first line with which the text is wrong: relations may contradict each other."""
    lines = text.split("\n")
    low, high = 1, len(lines)
    while low < high:
        middle = (low + high) // 2
        try:
            Equivalences.parse("\n".join(lines[:middle]))
        except PriorError as error:
            if not _is_incomplete(error):
                high = middle
                continue
        low = middle + 1
    return low


def _is_incomplete(error: PriorError) -> bool:
    return not error.line and str(error).startswith("no actions")
