"""Validation of arguments."""

import difflib
import numbers
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from easee._utils.arrays import Floats
from easee.errors import ArgumentError, ArgumentTypeError

MOST_NAMES = 30  # in a list of known names
LONG = 200  # characters; longer names are not compared with others
LINES = 240  # characters of a list of all names


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint with the most similar known name, or a list of them.

    >>> nearest("lfet", ["left", "right"])
    "did you mean 'left'?"
    >>> nearest("jump", ["left", "right"])
    'expected one of: left, right'
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1) if len(name) < LONG else []
    if close:
        return f"did you mean {close[0]!r}?"
    shown = names if len(names) <= MOST_NAMES else names[: MOST_NAMES // 2]
    more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
    return f"expected one of: {excerpt(', '.join(shown), LINES)}{more}"


def excerpt(value: object, most: int = 80) -> str:
    """Return a text, or the repr of anything else, cut to about a line.

    >>> excerpt("left right " * 100, most=40)
    'left right lef ... (1100 characters)'
    """
    text = value if isinstance(value, str) else repr(value)
    if len(text) <= most:
        return text
    return f"{text[: most - 26].rstrip()} ... ({len(text)} characters)"  # 26: for the rest


def checked_count(value: Any, name: str, least: int = 1) -> int:
    """Return an integer of at least `least` as an int; raise an error for anything else.

    >>> checked_count(0, "depth")
    Traceback (most recent call last):
    easee.errors.ArgumentError: expected depth of at least 1, found 0
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise ArgumentTypeError(f"expected {name} as a whole number, found {value!r}")
    if number < least:
        raise ArgumentError(f"expected {name} of at least {least}, found {number}")
    return number


def checked_share(value: Any, name: str) -> float:
    """Return a number between 0 and 1 as a float; raise an error for anything else.

    >>> checked_share(1.5, "epsilon")
    Traceback (most recent call last):
    easee.errors.ArgumentError: expected epsilon between 0 and 1, found 1.5
    """
    if not isinstance(value, numbers.Real) or not 0.0 <= float(value) <= 1.0:
        raise ArgumentError(f"expected {name} between 0 and 1, found {value!r}")
    return float(value)


def checked_array(value: Any, name: str, shape: tuple[int, ...], meaning: str) -> Floats:
    """Return an array of finite, non-negative numbers; raise an error for anything else.

    Errors also give the meaning of the axes.

    >>> checked_array([1.0], "weights", (2,), "one for each layer")
    Traceback (most recent call last):
    easee.errors.ArgumentError: expected weights of shape (2,), one for each layer, found (1,)
    """
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        found = type(value).__name__
        raise ArgumentTypeError(f"expected {name} as an array of numbers, found {found}") from None
    if array.shape != shape:
        raise ArgumentError(f"expected {name} of shape {shape}, {meaning}, found {array.shape}")
    wrong = array[~(np.isfinite(array) & (array >= 0))]
    if wrong.size:
        raise ArgumentError(f"expected finite, non-negative {name}, found {wrong[0]:g}")
    return array
