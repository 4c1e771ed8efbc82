"""Findings as files that replay."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from easee._utils.files import replacing
from soak.attack import Case

MOST_FILES = 5  # of findings of the same kind


@dataclass(frozen=True)
class FoundCase:
    """A case that an attack failed on, with everything needed to try it again."""

    attack: str
    seed: int
    number: int
    finding: str
    case: Case

    @property
    def kind(self) -> str:
        """The finding without numbers and quoted text: equal for findings of the same kind."""
        plain = re.sub(r"'[^']*'|\"[^\"]*\"|\[.*?\]", "...", self.finding)
        return re.sub(r"-?\d[\d.,]*(e[+-]?\d+)?", "N", plain)[:120]


def write(found: FoundCase, folder: Path) -> Path:
    """Write a finding and return the path of its file."""
    path = folder / f"{found.attack}-{found.seed}-{found.number}.json"
    with replacing(path) as file:
        file.write(json.dumps(asdict(found)).encode() + b"\n")
    return path


def read(path: Path) -> FoundCase:
    """Read a file written by `write`."""
    return FoundCase(**json.loads(path.read_text()))
