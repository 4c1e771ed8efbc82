"""The results of a figure on disk: `runs.csv`, `meta.json`, and runs that have just been finished.

Every finished run is first a file of its own under `parts/`, written in one go. The long-form
`runs.csv` is put together from those, in the order of the runs, so it has the same bytes however
often the work was interrupted. Whatever is killed, at most the runs in flight are lost. Of runs
that are done together there is a checkpoint under `parts/`, and `partial.csv` shows how far they
are.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import platform
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import easee
from easee._utils.files import locked, replacing
from easee.errors import EaseeError
from easee.experiments.harness.figure import Figure, Row, Run

AND_THEN = " && "  # between the commands that did the runs of a folder


class ResultsError(EaseeError, ValueError):
    """A folder of results is not what was expected."""


@dataclass(frozen=True)
class Results:
    """What was read from a folder.

    Attributes:
        rows: all readable rows.
        problems: what could not be read, one line each.
    """

    rows: list[Row]
    problems: list[str]


class Store:
    """The folder of one figure's results.

    Args:
        figure: whose they are.
        folder: where.
    """

    def __init__(self, figure: Figure, folder: Path) -> None:
        self.figure = figure
        self.folder = folder
        self.table = folder / "runs.csv"
        self.meta = folder / "meta.json"
        self.parts = folder / "parts"
        self.partial = folder / "partial.csv"

    def open(self, *, force: bool = False) -> None:
        """Make the folder ready: an empty one, or one with runs of the same figure and version.

        Raises:
            ResultsError: it holds something else, and `force` was not given.
        """
        if force:
            shutil.rmtree(self.parts, ignore_errors=True)
            for path in (self.table, self.meta, self.partial):
                path.unlink(missing_ok=True)
        elif self.meta.exists():
            self._check_meta()
        elif self.table.exists() or self.parts.exists():
            raise ResultsError(
                f"{self.folder} has runs but no meta.json, so nobody knows what they are: "
                "choose another folder with --out, or start over with --force"
            )
        if not self.meta.exists():
            self._describe(self._identity())
        self.parts.mkdir(parents=True, exist_ok=True)

    def note(self, command: str) -> None:
        """Write down which command does runs; another one before it stays, and comes first."""
        with locked(self.folder):
            found = self._described() or self._identity()
            before = found["command"].split(AND_THEN) if "command" in found else []
            if command not in before:
                self._describe(found | {"command": AND_THEN.join([*before, command])})

    def _describe(self, what: dict[str, Any]) -> None:
        with replacing(self.meta) as file:
            file.write(json.dumps(what, indent=1).encode())

    def _identity(self) -> dict[str, Any]:
        return {
            "figure": self.figure.name,
            "config": dict(self.figure.config),
            "versions": {
                "easee": easee.__version__,
                "numpy": np.__version__,
                "scipy": scipy.__version__,
                "python": platform.python_version(),
            },
        }

    def _check_meta(self) -> None:
        found = self._described()
        way_out = "choose another folder with --out, or start over with --force"
        if found is None:
            raise ResultsError(f"{self.meta} is damaged: {way_out}")
        self._check_same(found, way_out)
        version = found["versions"].get("easee")
        if version != easee.__version__:
            raise ResultsError(
                f"{self.folder} holds runs of another version of easee: expected "
                f"{easee.__version__!r}, found {version!r}: {way_out}"
            )

    def check_settings(self) -> None:
        """Check that runs that are there are of this figure with these settings."""
        found = self._described() if self.meta.exists() else None
        if found is not None:  # else the runs may still be read
            self._check_same(
                found, "give the options of their run, such as --backend population or --steps"
            )

    def _described(self) -> dict[str, Any] | None:
        """Return what `meta.json` says, or None if it is damaged."""
        try:
            found = json.loads(self.meta.read_text())
        except ValueError:
            return None
        whole = isinstance(found, dict) and all(
            isinstance(found.get(key), dict) for key in ("config", "versions")
        )
        return found if whole else None

    def _check_same(self, found: dict[str, Any], way_out: str) -> None:
        """Check that a description is of this figure with these settings."""
        if found.get("figure") != self.figure.name:
            raise ResultsError(
                f"{self.folder} holds runs of another figure: expected {self.figure.name!r}, "
                f"found {found.get('figure')!r}: {way_out}"
            )
        ours, theirs = json.loads(json.dumps(dict(self.figure.config))), found["config"]
        for key in ours | theirs:
            if ours.get(key) != theirs.get(key):
                raise ResultsError(
                    f"{self.folder} holds runs of another {key}: expected {ours.get(key)!r}, "
                    f"found {theirs.get(key)!r}: {way_out}"
                )

    # --- runs ---------------------------------------------------------------------------------

    def add(self, run: Run, rows: Iterable[Row]) -> None:
        """Keep the rows of a finished run."""
        with replacing(self.parts / _part_name(run)) as file:
            file.write(_csv(rows, header=False).encode())

    def show(self, rows: Iterable[Row]) -> None:
        """Keep what is known of runs in flight, for whoever wants to look; `gather` removes it."""
        with replacing(self.partial) as file:
            file.write(_csv(rows, header=True).encode())

    def shown(self) -> list[Row]:
        """Return what `show` kept of runs that are not done."""
        done = {(row.arm, row.seed) for row in self.read().rows}
        rows = _parse(self.partial, self.figure.name, header=True).rows
        return [row for row in rows if (row.arm, row.seed) not in done]

    def read(self) -> Results:
        """Read every row there is: a run that was done again replaces what it was before.

        Of a damaged run nothing is read: it is not done.
        """
        return self._read(self._finished())

    def _finished(self) -> list[Path]:
        """Return the files of runs that are not in the table yet."""
        return sorted(self.parts.glob("*.csv"))

    def _read(self, parts: list[Path]) -> Results:
        old = _parse(self.table, self.figure.name, header=True)
        new = [_parse(path, self.figure.name) for path in parts]
        broken = [line for part in new for line in part.problems]
        new = [part for part in new if not part.problems]
        without = {(row.arm, row.seed) for part in new for row in part.rows}
        without |= _damaged(self.table)
        rows = [row for row in old.rows if (row.arm, row.seed) not in without]
        rows += [row for part in new for row in part.rows]
        return Results(rows, old.problems + broken)

    def missing(self, runs: Iterable[Run]) -> list[Run]:
        """Return the runs that are not done yet."""
        done = {(row.arm, row.seed) for row in self.read().rows}
        return [run for run in runs if run.key not in done and not self._is_empty(run)]

    def _is_empty(self, run: Run) -> bool:
        """Tell whether a run is done and measured nothing: then it has an empty file."""
        part = self.parts / _part_name(run)
        return part.exists() and not part.stat().st_size

    def checkpoint(self, runs: list[Run]) -> Path:
        """Return where to keep how far runs are that are done together, and note which they are."""
        path = self.parts / f"{_digest([run.key for run in runs])}.npz"
        with replacing(path.with_suffix(".json")) as file:
            file.write(json.dumps([run.key for run in runs]).encode())
        return path

    def gather(self, runs: Iterable[Run]) -> list[Row]:
        """Put `runs.csv` together, in the order of the runs, and return its rows."""
        with locked(self.folder):  # another process may be gathering the same folder
            by_run: dict[tuple[str, int], list[Row]] = {}
            finished = self._finished()
            for row in self._read(finished).rows:
                by_run.setdefault((row.arm, row.seed), []).append(row)
            order = {run.key: i for i, run in enumerate(runs)}
            keys = sorted(by_run, key=lambda key: (order.get(key, len(order)), key))
            rows = [row for key in keys for row in by_run[key]]
            with replacing(self.table) as file:
                file.write(_csv(rows, header=True).encode())
            for part in finished:
                if part.stat().st_size:
                    part.unlink()
            self._tidy(set(by_run))
        return rows

    def _tidy(self, done: set[tuple[str, int]]) -> None:
        """Remove checkpoints of runs that are all done; those of other runs stay."""
        for note in self.parts.glob("*.json"):
            with suppress(ValueError, TypeError):  # a damaged note stays
                if not done.issuperset(map(tuple, json.loads(note.read_text()))):
                    continue
                note.with_suffix(".npz").unlink(missing_ok=True)
                note.unlink()
        if not any(self.parts.glob("*.npz")):
            self.partial.unlink(missing_ok=True)
        with suppress(OSError):  # not empty
            self.parts.rmdir()


def _part_name(run: Run) -> str:
    return f"{_digest(run.key)}.csv"


def _digest(what: object) -> str:
    return hashlib.sha256(repr(what).encode()).hexdigest()[:16]


def _csv(rows: Iterable[Row], *, header: bool) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if header:
        writer.writerow(Row._fields)
    for row in rows:
        writer.writerow([*row[:-1], repr(float(row.value))])
    return buffer.getvalue()


def _parse(path: Path, figure: str, *, header: bool = False) -> Results:
    rows: list[Row] = []
    problems: list[str] = []
    if not path.exists():
        return Results(rows, problems)
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        for number, cells in enumerate(csv.reader(file), start=1):
            if header and number == 1:
                if tuple(cells) != Row._fields:
                    raise ResultsError(
                        f"{path} is no table of runs: expected the columns "
                        f"{', '.join(Row._fields)}, found {', '.join(cells)}"
                    )
                continue
            row = _row(cells, figure)
            if row is None:
                problems.append(f"{path}, line {number}: not a row of {figure}: {cells!r}")
            else:
                rows.append(row)
    return Results(rows, problems)


def _row(cells: list[str], figure: str) -> Row | None:
    try:
        name, arm, seed, step, metric, value = cells
        row = Row(name, arm, int(seed), int(step), metric, float(value))
    except ValueError:
        return None
    return row if name == figure else None


def _damaged(path: Path) -> set[tuple[str, int]]:
    """Return the runs that an unreadable line of the table may belong to."""
    damaged: set[tuple[str, int]] = set()
    if not path.exists():
        return damaged
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        before: tuple[str, int] | None = None
        for cells in list(csv.reader(file))[1:]:
            row = _row(cells, cells[0]) if cells else None
            if row is not None:
                before = row.arm, row.seed
            elif len(cells) >= 3 and cells[2].isdigit():
                damaged.add((cells[1], int(cells[2])))
            elif before is not None:  # it does not say: then it went on with the run before it
                damaged.add(before)
    return damaged


def group(rows: Iterable[Row]) -> Mapping[tuple[str, str, int], dict[int, float]]:
    """Return values by (arm, metric, step), each a mapping from seed to value."""
    values: dict[tuple[str, str, int], dict[int, float]] = {}
    for row in rows:
        values.setdefault((row.arm, row.metric, row.step), {})[row.seed] = row.value
    return values
