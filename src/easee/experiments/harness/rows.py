"""Rows of results: measured values in long form, as CSV files and grouped by arm."""

import csv
import io
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

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


def read_csv(path: Path, figure: str, *, header: bool) -> Results:
    """Read the rows of a figure; a missing file has none."""
    results = Results([], [], set())
    if not path.exists():
        return results
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        for number, cells in enumerate(csv.reader(file), start=1):
            if header and number == 1:
                if tuple(cells) != Row._fields:
                    raise ResultsError(
                        f"{path} is not a table of runs: expected the columns "
                        f"{', '.join(Row._fields)}, found {', '.join(cells)}"
                    )
                continue
            row = _parse(cells, figure)
            if row is not None:
                results.rows.append(row)
                continue
            results.problems.append(f"{path}, line {number}: not a row of {figure}: {cells!r}")
            if len(cells) >= 3 and cells[2].isdigit():
                results.damaged.add((cells[1], int(cells[2])))
            elif results.rows:  # without arm and seed, it probably continues the previous run
                results.damaged.add(results.rows[-1].key)
    return results


def _parse(cells: list[str], figure: str) -> Row | None:
    try:
        name, arm, seed, step, metric, value = cells
        row = Row(name, arm, int(seed), int(step), metric, float(value))
    except ValueError:
        return None
    return row if name == figure else None


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


def count_seeds(rows: Iterable[Row]) -> int:
    """Return the number of different seeds."""
    return len({row.seed for row in rows})
