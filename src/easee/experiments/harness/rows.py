"""Rows of results: measured values in long form, as CSV files and grouped by arm."""

import csv
import io
import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from easee._utils.checks import excerpt
from easee.errors import EaseeError
from easee.experiments.harness.figure import Key, Row

Item = TypeVar("Item")
GroupKey = TypeVar("GroupKey", bound=Hashable)


class ResultsError(EaseeError, ValueError):
    """A folder of results has unexpected contents."""


@dataclass(frozen=True)
class Results:
    """Readable rows, a problem for each unreadable line, and the runs it may belong to."""

    rows: list[Row]
    problems: list[str]
    damaged: set[Key]


def to_csv(rows: Iterable[Row], *, header: bool) -> bytes:
    """Return rows as the contents of a CSV file."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if header:
        writer.writerow(Row._fields)
    for row in rows:
        writer.writerow([*row[:-1], repr(float(row.value))])
    return buffer.getvalue().encode()


def read_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line of a CSV file; a missing file has none.

    Cells contain no line feeds, so that a stray quotation mark cannot hide the following lines.

    Raises:
        ResultsError: the file cannot be read.
    """
    try:
        contents = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise ResultsError(f"cannot read {path}: {error.strerror}") from error
    lines = contents.decode(errors="replace").split("\n")
    for number, line in enumerate(lines[:-1], start=1):
        yield number, _cells(line)
    if lines[-1]:  # the file does not end in a line feed, so its last line is incomplete
        yield len(lines), [lines[-1]]


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line]), [])
    except csv.Error:  # a NUL character or a very long cell
        return [line]


def read_csv(path: Path, figure: str) -> Results:
    """Read a table of the rows of a figure, with a header; a missing file has none."""
    lines = read_lines(path)
    _, header = next(lines, (1, list(Row._fields)))
    if tuple(header) != Row._fields:
        raise ResultsError(
            f"{path} is not a table of runs: expected the columns {', '.join(Row._fields)}, "
            f"found {excerpt(', '.join(header))}"
        )
    return parse_rows(lines, path, figure)


def parse_rows(lines: Iterable[tuple[int, list[str]]], path: Path, figure: str) -> Results:
    """Return the rows in the numbered lines of a file."""
    results = Results([], [], set())
    seen: set[tuple[Key, int, str]] = set()
    for number, cells in lines:
        row = _parse(cells, figure)
        if row is not None and (row.key, row.step, row.metric) not in seen:
            results.rows.append(row)
            seen.add((row.key, row.step, row.metric))
            continue
        what = "repeated" if row else f"not a complete row of {figure}"
        results.problems.append(f"{path}, line {number}: {what}: {excerpt(repr(cells))}")
        key = _key(cells)
        if key is not None:
            results.damaged.add(key)
        elif results.rows:  # without arm and seed, it probably continues the previous run
            results.damaged.add(results.rows[-1].key)
    return results


def _key(cells: list[str]) -> Key | None:
    """Return arm and seed of a damaged line, if they are readable."""
    cells = _cells(cells[0]) if len(cells) == 1 else cells
    if len(cells) < 4 or not cells[2].isdecimal() or len(cells[2]) > 18:
        return None
    return cells[1], int(cells[2])


def _parse(cells: list[str], figure: str) -> Row | None:
    try:
        name, arm, seed, step, metric, value = cells
        row = Row(name, arm, int(seed), int(step), metric, float(value))
    except ValueError:
        return None
    return row if name == figure and math.isfinite(row.value) else None


def group(items: Iterable[Item], key: Callable[[Item], GroupKey]) -> dict[GroupKey, list[Item]]:
    """Return items by the value of a function, in the order of the items."""
    groups: dict[GroupKey, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def values_by_arm(
    rows: Iterable[Row], *, metric: str | None = None, step: int | None = None
) -> dict[str, list[float]]:
    """Return the values of each arm, of all metrics and steps or of one."""
    values: dict[str, list[float]] = {}
    for row in rows:
        if metric in (None, row.metric) and step in (None, row.step):
            values.setdefault(row.arm, []).append(row.value)
    return values


def seeds_text(seeds: int, *, intervals: bool = False) -> str:
    """Return a number of seeds in words; one seed has no interval.

    >>> seeds_text(1, intervals=True), seeds_text(5, intervals=True)
    ('1 seed, no intervals', '5 seeds, 95% intervals')
    """
    text = f"{seeds} seed{'' if seeds == 1 else 's'}"
    if not intervals:
        return text
    return f"{text}, {'no' if seeds == 1 else '95%'} intervals"


def seeds_of_arms(rows: Iterable[Row]) -> str:
    """Return the number of seeds of each arm in words, as a range if arms differ in it.

    >>> rows = [Row("fig", arm, seed, 1, "states", 1.0) for arm, seed in ("a0", "a1", "b0")]
    >>> seeds_of_arms(rows), seeds_of_arms(rows[:2])
    ('1 to 2 seeds, 95% intervals', '2 seeds, 95% intervals')
    """
    counts = [count_seeds(of_arm) for of_arm in group(rows, lambda row: row.arm).values()]
    fewest, most = min(counts, default=0), max(counts, default=0)
    text = seeds_text(most, intervals=True)
    return text if fewest == most else f"{fewest} to {text}"


def count_seeds(rows: Iterable[Row]) -> int:
    """Return the number of different seeds."""
    return len({row.seed for row in rows})
