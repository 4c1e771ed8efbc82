"""Checksums of finished runs: the number of rows of each run, and a digest of them.

They lie beside `runs.csv` in `checksums.csv`, and show when rows were changed, lost or repeated
after they were written. Results without that file, of older releases, are taken as they are.
"""

import csv
import hashlib
import io
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from easee.experiments.harness.figure import Key, Row
from easee.experiments.harness.rows import Results, group, parse_rows, read_lines, to_csv

COLUMNS = ("arm", "seed", "rows", "sha256")
DIGITS = 16  # of a digest, in hexadecimal
MOST_NAMED = 5  # damaged runs that are named one by one
SEAL = "checksum"  # start of the first line in the file of one run


class Checksum(NamedTuple):
    """The number of rows of a run and their digest."""

    rows: int
    digest: str


NO_ROWS = Checksum(0, "")


def checksum(rows: list[Row]) -> Checksum:
    """Return the checksum of the rows of one run, in their order."""
    digest = hashlib.sha256(to_csv(rows, header=False)).hexdigest()
    return Checksum(len(rows), digest[:DIGITS])


def parse_checksum(cells: list[str]) -> Checksum | None:
    """Return the checksum in the last two cells of a line, or None."""
    if len(cells) < 2 or not cells[-2].isdecimal() or len(cells[-1]) != DIGITS:
        return None
    return Checksum(int(cells[-2]), cells[-1])


def write_checksums(runs: Mapping[Key, list[Row]]) -> bytes:
    """Return the contents of `checksums.csv` for the rows of runs."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for key, rows in runs.items():
        writer.writerow([*key, *checksum(rows)])
    return buffer.getvalue().encode()


def read_checksums(path: Path) -> tuple[dict[Key, Checksum], list[str]]:
    """Return the checksum of each run, and a problem for each unreadable line."""
    checksums: dict[Key, Checksum] = {}
    problems = []
    for number, cells in read_lines(path):
        if number == 1:
            continue
        found = parse_checksum(cells) if len(cells) == len(COLUMNS) else None
        if found is None or not cells[1].isdecimal():
            problems.append(f"{path}, line {number}: not a checksum: {cells!r}")
        else:
            checksums[cells[0], int(cells[1])] = found
    return checksums, problems


def verify(
    path: Path,
    table: Results,
    expected: Mapping[Key, Checksum],
    others: Collection[Key] | None = None,
) -> Results:
    """Return a table with a problem for each run whose rows are not those that were written.

    Args:
        path: file of the table.
        table: its rows.
        expected: checksums of its runs.
        others: runs that may lack a checksum; by default all.
    """
    by_run = group(table.rows, lambda row: row.key)
    unknown = [] if others is None else [k for k in by_run if k not in expected and k not in others]
    wrong = {
        key: (written, checksum(by_run.get(key, [])))
        for key, written in [*expected.items(), *((key, NO_ROWS) for key in unknown)]
        if key not in table.damaged
    }
    wrong = {key: pair for key, pair in wrong.items() if pair[0] != pair[1]}
    problems = [_problem(path, *item) for item in list(wrong.items())[:MOST_NAMED]]
    if len(wrong) > MOST_NAMED:
        problems.append(
            f"{path}: {len(wrong) - MOST_NAMED} more runs that differ from those written"
        )
    return Results(table.rows, table.problems + problems, table.damaged | set(wrong))


def _problem(path: Path, key: Key, pair: tuple[Checksum, Checksum]) -> str:
    (arm, seed), (written, found) = key, pair
    what = (
        f"expected {written.rows} rows, found {found.rows}"
        if written.rows != found.rows
        else "a value or the order of its rows has changed"
    )
    return f"{path}, run {arm!r} with seed {seed}: {what}"


def write_part(rows: list[Row]) -> bytes:
    """Return the contents of the file of one run: its checksum, then its rows."""
    found = checksum(rows)
    return f"{SEAL},{found.rows},{found.digest}\n".encode() + to_csv(rows, header=False)


def read_part(path: Path, figure: str) -> Results:
    """Read the file of one run; files of older releases have no checksum."""
    lines = list(read_lines(path))
    if not lines:
        return Results([], [f"{path}: empty"], set())
    first = lines[0][1]
    if first[:1] != [SEAL]:
        return parse_rows(lines, path, figure)
    part = parse_rows(lines[1:], path, figure)
    if part.problems or checksum(part.rows) == parse_checksum(first):
        return part
    return Results([], [f"{path}: its rows are not those that were written"], set())
