"""The record of a search, from which it can go on after an interruption."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any

from easee._utils.files import replacing
from easee.errors import ArgumentError
from easee.probing.probe import Word

VERSION = 1


@dataclass(frozen=True)
class Decision:
    """What was found out about a word.

    Attributes:
        earlier: the earlier word that it is equivalent to, or None if it is a new word.
        counts: trials and violations of the relation between the two, for relations that usually
            hold in states met and near rare effects; none if the relation follows from others.
        hidden: earlier words with equal outcomes, but not after one more action.
    """

    earlier: Word | None
    counts: tuple[int, ...] = ()
    hidden: tuple[Word, ...] = ()


@dataclass(frozen=True)
class SearchRecord:
    """The settings of a search, the number of its steps, and its decisions about words.

    Attributes:
        settings: the arguments that must be the same to go on.
        steps: number of steps in the environment.
        exact: decisions about words in the search for relations that always hold.
        usual: decisions about words in the search for relations that usually hold.
    """

    settings: dict[str, Any]
    steps: int = 0
    exact: dict[Word, Decision] = field(default_factory=dict)
    usual: dict[Word, Decision] = field(default_factory=dict)

    def check_settings(self, settings: dict[str, Any]) -> None:
        """Raise an ArgumentError if a search with other settings should go on from this one."""
        for name, value in settings.items():
            if (found := self.settings.get(name)) != value:
                raise ArgumentError(
                    f"an interrupted search can only go on with the same settings: it had {name} "
                    f"{found!r}, found {value!r}"
                )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record as JSON."""
        tables = {name: _to_rows(getattr(self, name)) for name in ("exact", "usual")}
        content = {"version": VERSION, "settings": self.settings, "steps": self.steps, **tables}
        with replacing(path) as file:
            file.write(json.dumps(content).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SearchRecord:
        """Read a record.

        Raises:
            ArgumentError: the file is damaged or of another version.
        """
        try:
            with open(path, encoding="utf-8") as file:
                content = json.load(file)
            if content["version"] != VERSION:
                raise ValueError(f"version {content['version']}")
            exact, usual = (_from_rows(content[name]) for name in ("exact", "usual"))
            return cls(dict(content["settings"]), int(content["steps"]), exact, usual)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ArgumentError(
                f"{os.fspath(path)!r} is not a readable record of a search ({error}): delete it to "
                "start again"
            ) from None


def _to_rows(decisions: dict[Word, Decision]) -> list[dict[str, Any]]:
    return [{"word": word, **asdict(decision)} for word, decision in decisions.items()]


def _from_rows(rows: list[dict[str, Any]]) -> dict[Word, Decision]:
    return {
        _word(row["word"]): Decision(
            None if row["earlier"] is None else _word(row["earlier"]),
            _word(row["counts"]),
            tuple(map(_word, row["hidden"])),
        )
        for row in rows
    }


def _word(values: list[int]) -> Word:
    return tuple(map(int, values))
