"""Files of unfinished searches: the same command goes on from them."""

import re
from pathlib import Path

from easee.cli.console import print_line
from easee.probing.discover import Discovery
from easee.probing.search_record import SearchRecord


def record_path(output: Path) -> Path:
    """Return the path of the record beside an output file.

    >>> record_path(Path("prior.txt")).name
    'prior.txt.search'
    """
    return output.with_name(f"{output.name}.search")


def default_output(env: str) -> Path:
    """Return the file for what an interrupted search found, if no other was given.

    >>> default_output("ALE/Freeway-v5").name
    'discovered-ALE-Freeway-v5.txt'
    """
    return Path(f"discovered-{re.sub(r'[^A-Za-z0-9.]+', '-', env)}.txt")


def load_record(output: Path | None) -> SearchRecord | None:
    """Return the record of an unfinished search for an output file, if there is one."""
    if output is None or not record_path(output).exists():
        return None
    record = SearchRecord.load(record_path(output))
    print_line(f"going on from {record_path(output)}, after {record.steps:,} steps")
    return record


def keep_record(discovery: Discovery, output: Path | None, more: str = "") -> None:
    """Save the record of an unfinished search and say how to go on, or delete that of a finished.

    `more` is what the same command needs in addition.
    """
    if output is None:
        return
    path = record_path(output)
    if discovery.finished:
        path.unlink(missing_ok=True)
        return
    discovery.record.save(path)
    print_line(f"the search is not finished: give the same command again{more} to go on")
