"""Results of a figure on disk: `runs.csv`, `meta.json`, and runs that were finished recently.

Each finished run is first written to a file of its own under `parts/`, in one go. `gather` merges
these into the long-form `runs.csv`, in the order of the runs, so its bytes do not depend on
interruptions. A crash loses at most the runs in flight. Runs that are done together have a
checkpoint under `parts/`, and `partial.csv` holds what they have measured so far.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import easee
from easee._utils.files import locked, replacing
from easee.experiments.harness.figure import Figure, Key, Row, Run
from easee.experiments.harness.rows import Results, ResultsError, read_csv, to_csv

SEPARATOR = " && "  # between the commands that did the runs of a folder
WAY_OUT = "choose another folder with --out, or start over with --force"


class Store:
    """The folder of one figure's results.

    Args:
        figure: the figure.
        folder: path of the folder.
    """

    def __init__(self, figure: Figure, folder: Path) -> None:
        self.figure = figure
        self.folder = folder
        self.table = folder / "runs.csv"
        self.meta = folder / "meta.json"
        self.parts = folder / "parts"
        self.partial = folder / "partial.csv"

    # --- description --------------------------------------------------------------------------

    def open(self, *, force: bool = False) -> None:
        """Create the folder, or check that it has runs of the same figure and version.

        Args:
            force: discard existing results.

        Raises:
            ResultsError: the folder has other contents, and `force` is false.
        """
        if force:
            shutil.rmtree(self.parts, ignore_errors=True)
            for path in (self.table, self.meta, self.partial):
                path.unlink(missing_ok=True)
        elif self.meta.exists():
            self._check_meta()
        elif self.table.exists() or self.parts.exists():
            raise ResultsError(
                f"{self.folder} has runs but no meta.json, so their settings are unknown: {WAY_OUT}"
            )
        if not self.meta.exists():
            self._write_meta(self._description())
        self.parts.mkdir(parents=True, exist_ok=True)

    def note(self, command: str) -> None:
        """Add the command that does runs to `meta.json`, after any earlier ones."""
        with locked(self.folder):
            meta = self._read_meta() or self._description()
            commands = meta["command"].split(SEPARATOR) if "command" in meta else []
            if command not in commands:
                self._write_meta(meta | {"command": SEPARATOR.join([*commands, command])})

    def check_settings(self) -> None:
        """Check that existing runs belong to this figure with these settings.

        A damaged or missing `meta.json` is ignored: the runs can still be read.
        """
        meta = self._read_meta() if self.meta.exists() else None
        if meta is not None:
            self._check_same(
                meta, "give the options of their run, such as --backend population or --steps"
            )

    def _description(self) -> dict[str, Any]:
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

    def _write_meta(self, meta: dict[str, Any]) -> None:
        with replacing(self.meta) as file:
            file.write(json.dumps(meta, indent=1).encode())

    def _read_meta(self) -> dict[str, Any] | None:
        """Return the contents of `meta.json`, or None if it is damaged."""
        try:
            meta = json.loads(self.meta.read_text())
        except ValueError:
            return None
        complete = isinstance(meta, dict) and all(
            isinstance(meta.get(key), dict) for key in ("config", "versions")
        )
        return meta if complete else None

    def _check_meta(self) -> None:
        meta = self._read_meta()
        if meta is None:
            raise ResultsError(f"{self.meta} is damaged: {WAY_OUT}")
        self._check_same(meta, WAY_OUT)
        version = meta["versions"].get("easee")
        if version != easee.__version__:
            raise ResultsError(
                f"{self.folder} holds runs of another version of easee: expected "
                f"{easee.__version__!r}, found {version!r}: {WAY_OUT}"
            )

    def _check_same(self, meta: dict[str, Any], way_out: str) -> None:
        """Check that a description is of this figure with these settings."""
        if meta.get("figure") != self.figure.name:
            raise ResultsError(
                f"{self.folder} holds runs of another figure: expected {self.figure.name!r}, "
                f"found {meta.get('figure')!r}: {way_out}"
            )
        expected, found = json.loads(json.dumps(dict(self.figure.config))), meta["config"]
        for key in expected | found:
            if expected.get(key) != found.get(key):
                raise ResultsError(
                    f"{self.folder} holds runs of another {key}: expected {expected.get(key)!r}, "
                    f"found {found.get(key)!r}: {way_out}"
                )

    # --- runs ---------------------------------------------------------------------------------

    def add(self, run: Run, rows: Iterable[Row]) -> None:
        """Write the rows of a finished run."""
        with replacing(self._part(run)) as file:
            file.write(to_csv(rows, header=False))

    def _part(self, run: Run) -> Path:
        return self.parts / f"{_digest(run.key)}.csv"

    def show(self, rows: Iterable[Row]) -> None:
        """Write the rows of unfinished runs, for plots meanwhile; `gather` removes them."""
        with replacing(self.partial) as file:
            file.write(to_csv(rows, header=True))

    def shown(self) -> list[Row]:
        """Return the rows that `show` wrote of runs that are still unfinished."""
        done = {row.key for row in self.read().rows}
        rows = read_csv(self.partial, self.figure.name, header=True).rows
        return [row for row in rows if row.key not in done]

    def read(self) -> Results:
        """Read all rows; a run that was repeated replaces its earlier rows.

        Damaged runs are left out, so that they count as missing.
        """
        return self._read(self._finished())

    def _finished(self) -> list[Path]:
        """Return the files of runs that are not in the table yet."""
        return sorted(self.parts.glob("*.csv"))

    def _read(self, parts: list[Path]) -> Results:
        name = self.figure.name
        table = read_csv(self.table, name, header=True)
        new = [read_csv(path, name, header=False) for path in parts]
        problems = table.problems + [problem for part in new for problem in part.problems]
        rows = [row for part in new if not part.problems for row in part.rows]
        replaced = table.damaged | {row.key for row in rows}
        rows = [row for row in table.rows if row.key not in replaced] + rows
        return Results(rows, problems, table.damaged)

    def missing(self, runs: Iterable[Run]) -> list[Run]:
        """Return the runs that are not done yet."""
        done = {row.key for row in self.read().rows}
        return [run for run in runs if run.key not in done and not self._is_empty(run)]

    def _is_empty(self, run: Run) -> bool:
        """Return whether a run is done without any measurement: then its file is empty."""
        part = self._part(run)
        return part.exists() and not part.stat().st_size

    def checkpoint(self, runs: list[Run]) -> Path:
        """Return the path of the checkpoint of runs that are done together.

        A note beside it lists the runs, so that `gather` can tell when it is obsolete.
        """
        keys = [run.key for run in runs]
        path = self.parts / f"{_digest(keys)}.npz"
        with replacing(path.with_suffix(".json")) as file:
            file.write(json.dumps(keys).encode())
        return path

    def gather(self, runs: Iterable[Run]) -> list[Row]:
        """Write all rows to `runs.csv`, in the order of the runs, and return them."""
        with locked(self.folder):  # another process may be gathering the same folder
            by_run: dict[Key, list[Row]] = {}
            finished = self._finished()
            for row in self._read(finished).rows:
                by_run.setdefault(row.key, []).append(row)
            order = {run.key: i for i, run in enumerate(runs)}
            keys = sorted(by_run, key=lambda key: (order.get(key, len(order)), key))
            rows = [row for key in keys for row in by_run[key]]
            with replacing(self.table) as file:
                file.write(to_csv(rows, header=True))
            for part in finished:
                if part.stat().st_size:
                    part.unlink()
            self._tidy(set(by_run))
        return rows

    def _tidy(self, done: set[Key]) -> None:
        """Remove checkpoints whose runs are all done."""
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


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]
