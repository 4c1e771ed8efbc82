"""What an attack is: random cases as plain data, and a check of one case."""

from __future__ import annotations

import traceback
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Case = dict[str, Any]  # plain data, so that it can be written as JSON
Counts = dict[str, int]

ROOT = Path(__file__).parent.parent


class Finding(Exception):
    """A promise that the library does not keep."""


@dataclass(frozen=True)
class Attack:
    """A kind of attack.

    Attributes:
        name: what users type.
        title: what is compared with what.
        draw: from a generator to a random case.
        check: tries a case and returns what it counted. Any exception is a finding.
        share: share of the campaign's time, relative to the other attacks.
        seconds: time limit of a case; longer ones are findings.
        gigabytes: limit on the address space of the process that tries the cases.
    """

    name: str
    title: str
    draw: Callable[[np.random.Generator], Case]
    check: Callable[[Case], Counts]
    share: float = 1.0
    seconds: float = 60.0
    gigabytes: float = 16.0


def expect(promise: bool | np.bool, otherwise: str) -> None:
    """Raise a finding if a promise is not kept."""
    if not promise:
        raise Finding(otherwise)


def case_of(attack: Attack, seed: int, number: int) -> Case:
    """Return a case of a campaign, which depends on nothing but these arguments."""
    return attack.draw(np.random.default_rng([seed, zlib.crc32(attack.name.encode()), number]))


def examine(attack: Attack, case: Case) -> tuple[Counts, str | None]:
    """Try a case; return what was counted and the finding, if any."""
    try:
        return attack.check(case), None
    except Finding as finding:
        return {}, str(finding)
    except Exception as error:
        return {}, describe(error)


def describe(error: Exception) -> str:
    """Return type, message and place of an unexpected exception in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    last = next((f for f in reversed(frames) if f.filename.startswith(str(ROOT))), frames[-1])
    place = Path(last.filename).relative_to(ROOT) if last.filename.startswith(str(ROOT)) else "?"
    message = " ".join(str(error).split())[:300] or last.line
    return f"{type(error).__name__} in {place}, line {last.lineno}: {message}"
