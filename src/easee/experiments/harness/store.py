"""Results of a figure on disk: `runs.csv`, `meta.json`, and runs that were finished recently.

Each finished run is first written to a file of its own under `parts/`, in one go. `gather` merges
these into the long-form `runs.csv`, in the order of the runs, so its bytes do not depend on
interruptions. A crash loses at most the runs in flight. Runs that are done together have a
checkpoint under `parts/`, and `partial.csv` holds what they have measured so far.

`checksums.csv` has a checksum of the rows of each run, and so has each file under `parts/`. Runs
whose rows are not those that were written count as missing.
"""

import hashlib
import json
import platform
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import scipy

import easee
from easee._utils.files import locked, replacing
from easee.errors import EaseeError
from easee.experiments.harness.checksums import (
    read_checksums,
    read_part,
    verify,
    write_checksums,
    write_part,
)
from easee.experiments.harness.figure import Done, Figure, Key, Measured, Row, Run
from easee.experiments.harness.rows import Results, ResultsError, group, read_csv, to_csv

SEPARATOR = " && "  # between the commands that did the runs of a folder
WAY_OUT = "choose another folder with --out, or start over with --force"

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def _naming_the_folder(
    method: Callable[Concatenate["Store", Arguments], Result],
) -> Callable[Concatenate["Store", Arguments], Result]:
    """Turn errors of the file system into errors that name the folder."""

    @wraps(method)
    def wrapped(self: "Store", /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return method(self, *args, **kwargs)
        except OSError as error:
            if isinstance(error, EaseeError):
                raise
            name = error.filename or self.folder
            raise ResultsError(
                f"cannot use {name}: {error.strerror}: choose another folder with --out, or make "
                "this one readable and writable"
            ) from error

    return wrapped


class Store:
    """The folder of one figure's results."""

    def __init__(self, figure: Figure, folder: Path) -> None:
        self.figure = figure
        self.folder = folder
        self.table = folder / "runs.csv"
        self.checksums = folder / "checksums.csv"
        self.damaged = folder / "runs-damaged.csv"
        self.meta = folder / "meta.json"
        self.parts = folder / "parts"
        self.partial = folder / "partial.csv"

    # --- description --------------------------------------------------------------------------

    @_naming_the_folder
    def open(self, *, force: bool = False) -> None:
        """Create the folder, or check that it has runs of the same figure and version.

        With `force`, discard existing results instead.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise ResultsError(f"{self.folder} is not a folder: choose another with --out")
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder):  # another process may be opening the same folder
            self._open(force)

    def _open(self, force: bool) -> None:
        if force:
            shutil.rmtree(self.parts, ignore_errors=True)
            for path in (self.table, self.checksums, self.meta, self.partial):
                path.unlink(missing_ok=True)
        if self.meta.exists():
            meta = self._read_meta()
            if meta is None:
                raise ResultsError(f"{self.meta} is damaged: {WAY_OUT}")
            self._check_same(meta, WAY_OUT)
            version = meta["versions"].get("easee")
            self._check_equal("version of easee", easee.__version__, version, WAY_OUT)
        elif self.table.exists() or self.parts.exists():
            raise ResultsError(
                f"{self.folder} has runs but no meta.json, so their settings are unknown: {WAY_OUT}"
            )
        else:
            self._write_meta(self._description())
        self.parts.mkdir(parents=True, exist_ok=True)

    @_naming_the_folder
    def note(self, command: str) -> None:
        """Add the command that does runs to `meta.json`, after any earlier ones."""
        with locked(self.folder):
            meta = self._read_meta() or self._description()
            commands = meta["command"].split(SEPARATOR) if "command" in meta else []
            if command not in commands:
                self._write_meta(meta | {"command": SEPARATOR.join([*commands, command])})

    @_naming_the_folder
    def note_machine(self, runs: int, device: str) -> None:
        """Add a number of runs to those that were done by a device, in `meta.json`.

        Results of different devices are not the same to the last bit.
        """
        with locked(self.folder):
            meta = self._read_meta() or self._description()
            machine = f"{device}, Python {platform.python_version()}, NumPy {np.__version__}"
            counts = dict(meta.get("machines", {}))
            counts[machine] = counts.get(machine, 0) + runs
            self._write_meta(meta | {"machines": counts})

    @_naming_the_folder
    def check_settings(self) -> None:
        """Check that existing runs belong to this figure with these settings.

        A damaged or missing `meta.json` is ignored: the runs can still be read.
        """
        meta = self._read_meta() if self.meta.exists() else None
        if meta is not None:
            way_out = "give the options of their run, such as --backend population or --steps"
            self._check_same(meta, way_out)

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
            config, versions = meta["config"], meta["versions"]
            command, machines = meta.get("command", ""), meta.get("machines", {})
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        valid = all(isinstance(part, dict) for part in (config, versions, machines))
        counts = machines.values() if valid else ()
        valid &= isinstance(command, str) and all(type(count) is int for count in counts)
        return meta if valid else None

    def _check_same(self, meta: dict[str, Any], way_out: str) -> None:
        """Check that a description is of this figure with these settings."""
        self._check_equal("figure", self.figure.name, meta.get("figure"), way_out)
        expected, found = json.loads(json.dumps(dict(self.figure.config))), meta["config"]
        for key in expected | found:
            self._check_equal(key, expected.get(key), found.get(key), way_out)

    def _check_equal(self, what: str, expected: Any, found: Any, way_out: str) -> None:
        if expected != found:
            raise ResultsError(
                f"{self.folder} holds runs of another {what}: expected {expected!r}, "
                f"found {found!r}: {way_out}"
            )

    # --- runs ---------------------------------------------------------------------------------

    @_naming_the_folder
    def add(self, run: Run, measured: Measured) -> None:
        """Write the rows of a finished run."""
        self.folder.mkdir(parents=True, exist_ok=True)  # if it was removed since it was opened
        # The lock keeps `gather` from removing `parts` before the file is in it.
        with locked(self.folder), replacing(self._part(run.key)) as file:
            file.write(write_part(self.figure.rows(run, measured)))

    def _part(self, key: Key) -> Path:
        return self.parts / f"{_digest(key)}.csv"

    @_naming_the_folder
    def show(self, unfinished: Iterable[Done]) -> None:
        """Write the rows of unfinished runs, so that they can be plotted.

        Rows of other runs are kept until they are finished: another process may be doing them in
        the same folder.
        """
        runs = dict(unfinished)
        rows = [row for run in runs for row in self.figure.rows(run, runs[run])]
        keys = {run.key for run in runs}
        with locked(self.folder):
            shown = self._partial_rows()
            done = {key for key in {row.key for row in shown} if self._part(key).exists()}
            others = [row for row in shown if row.key not in keys | done]
            self._write_partial(others + rows)

    def _partial_rows(self) -> list[Row]:
        """Return the rows of `partial.csv`, or none if it is damaged."""
        try:
            return read_csv(self.partial, self.figure.name).rows
        except ResultsError:
            return []

    def _write_partial(self, rows: list[Row]) -> None:
        with replacing(self.partial) as file:
            file.write(to_csv(rows, header=True))

    @_naming_the_folder
    def shown(self) -> list[Row]:
        """Return the rows that `show` wrote of runs that are still unfinished."""
        with _locked_if_possible(self.folder):
            done = {row.key for row in self._read(self._part_files()).rows}
            rows = read_csv(self.partial, self.figure.name).rows
        return [row for row in rows if row.key not in done]

    @_naming_the_folder
    def read(self) -> Results:
        """Read all rows; a run that was repeated replaces its earlier rows.

        Damaged runs are left out, so that they count as missing.
        """
        with _locked_if_possible(self.folder):
            return self._read(self._part_files())

    def _part_files(self) -> list[Path]:
        return sorted(self.parts.glob("*.csv"))

    def _read(self, part_files: list[Path]) -> Results:
        name = self.figure.name
        new = [_of_its_run(path, read_part(path, name)) for path in part_files]
        rows = [row for part in new if not part.problems for row in part.rows]
        again = {row.key for row in rows}
        checksums, problems = read_checksums(self.checksums)
        expected = {key: found for key, found in checksums.items() if key not in again}
        others = again if self.checksums.exists() and not problems else None
        table = verify(self.table, read_csv(self.table, name), expected, others)
        problems += table.problems + [problem for part in new for problem in part.problems]
        replaced = table.damaged | again
        rows = [row for row in table.rows if row.key not in replaced] + rows
        return Results(rows, problems, table.damaged - again)

    @_naming_the_folder
    def missing(self, runs: Iterable[Run]) -> list[Run]:
        """Return the runs that are not done yet."""
        with _locked_if_possible(self.folder):
            parts = self._part_files()
            done = {row.key for row in self._read(parts).rows}
            empty = {path for path in parts if self._is_empty(path)}
        return [run for run in runs if run.key not in done and self._part(run.key) not in empty]

    def _is_empty(self, part: Path) -> bool:
        """Return whether this is the file of a run that measured nothing."""
        found = read_part(part, self.figure.name)
        return not found.rows and not found.problems

    @_naming_the_folder
    def checkpoint(self, runs: list[Run]) -> Path:
        """Return the path of the checkpoint of runs that are done together.

        A note beside it lists the runs, so that `gather` can tell when it is obsolete.
        """
        keys = [run.key for run in runs]
        path = self.parts / f"{_digest(keys)}.npz"
        with locked(self.folder), replacing(path.with_suffix(".json")) as file:
            file.write(json.dumps(keys).encode())
        return path

    @_naming_the_folder
    def gather(self, runs: Iterable[Run]) -> list[Row]:
        """Write all rows to `runs.csv`, in the order of the runs, and return them.

        Damaged runs are left out. Unless they were done again, the table is first copied to
        `runs-damaged.csv`.
        """
        with locked(self.folder):  # another process may be gathering the same folder
            finished = self._part_files()
            results = self._read(finished)
            by_run = group(results.rows, lambda row: row.key)
            order = {run.key: i for i, run in enumerate(runs)}
            keys = sorted(by_run, key=lambda key: (order.get(key, len(order)), key))
            rows = [row for key in keys for row in by_run[key]]
            if results.damaged and self.table.exists():
                shutil.copyfile(self.table, self.damaged)
            # In this order: after a crash in between, the parts still have what the table lacks.
            with replacing(self.checksums) as file:
                file.write(write_checksums({key: by_run[key] for key in keys}))
            with replacing(self.table) as file:
                file.write(to_csv(rows, header=True))
            for part in finished:
                if not self._is_empty(part):
                    part.unlink()
            self._tidy(set(by_run))
        return rows

    def _tidy(self, done: set[Key]) -> None:
        """Remove checkpoints whose runs are all done, and what was shown of runs that are."""
        for note in self.parts.glob("*.json"):
            with suppress(ValueError, TypeError):  # a damaged note stays
                if not done.issuperset(map(tuple, json.loads(note.read_text()))):
                    continue
                note.with_suffix(".npz").unlink(missing_ok=True)
                note.unlink()
        unfinished = [row for row in self._partial_rows() if row.key not in done]
        if unfinished and any(self.parts.glob("*.npz")):
            self._write_partial(unfinished)
        else:
            self.partial.unlink(missing_ok=True)
        with suppress(OSError):  # not empty
            self.parts.rmdir()


@contextmanager
def _locked_if_possible(folder: Path) -> Iterator[None]:
    """Lock a folder to read it, unless it is missing or its file system has no locks."""
    with ExitStack() as stack:
        with suppress(OSError):
            stack.enter_context(locked(folder))
        yield


def _of_its_run(path: Path, part: Results) -> Results:
    """Return the rows of a part, or a problem if they are of another run than its file's name."""
    if all(_digest(row.key) == path.stem for row in part.rows):
        return part
    return Results([], [*part.problems, f"{path}: has rows of another run"], part.damaged)


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]
