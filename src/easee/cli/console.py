"""Console output of the commands: lines, tables, errors and progress."""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from logging import LogRecord
from textwrap import fill

import typer
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from easee._utils.timing import Stopwatch, listening
from easee.envs.action_names import logger
from easee.errors import EaseeError

# Without emoji: users' texts may contain :x: and the like.
out = Console(emoji=False)
err = Console(stderr=True, emoji=False)


def print_line(text: str, console: Console = out) -> None:
    """Print text verbatim, without markup, highlighting or wrapping."""
    console.print(text, highlight=False, markup=False, emoji=False, soft_wrap=True)


def print_text(text: str) -> None:
    """Print sentences verbatim, wrapped at the width of the terminal."""
    print_line(fill(text, out.width, break_on_hyphens=False))


def print_warning(text: str) -> None:
    """Print sentences after the word "warning", wrapped at the width of the terminal."""
    first, *rest = fill(f"warning: {text}", out.width, break_on_hyphens=False).splitlines()
    out.print("warning:", style="bold yellow", end="")
    print_line("\n".join([first.removeprefix("warning:"), *rest]))


def print_notes(notes: Iterable[str]) -> None:
    """Print sentences as a list, wrapped at the width of the terminal."""
    for note in notes:
        text = fill(note, out.width - 2, subsequent_indent="  ", break_on_hyphens=False)
        print_line(f"- {text}")


def make_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    title: str = "",
    right: Collection[str] = (),
) -> Table:
    """Return a table of verbatim or styled text, with those in `right` aligned to the right.

    In a narrow terminal, cells are wrapped between words, and lines are left out if they do not
    fit. Nothing is cut off.
    """
    lines = [list(row) for row in rows]
    texts = [list(columns), *([str(cell) for cell in line] for line in lines)]
    widths, framed = _fitted_widths(list(zip(*texts, strict=True)), out.width)
    table = Table(title=escape(title) or None, title_justify="left")
    if not framed:
        table.box, table.show_edge, table.padding = box.SIMPLE_HEAD, False, (0, 1, 0, 0)
    for column, width in zip(columns, widths, strict=True):
        table.add_column(
            escape(column),
            justify="right" if column in right else "left",
            no_wrap=not column,
            overflow="fold",
            width=width,
        )
    for line in lines:
        table.add_row(*(escape(cell) if isinstance(cell, str) else cell for cell in line))
    return table


def _fitted_widths(
    columns: Sequence[Sequence[str]], available: int
) -> tuple[list[int | None], bool]:
    """Return widths of columns that break no word, or None, and whether there is room for lines."""
    natural = [max(map(cell_len, cells)) for cells in columns]
    least = [
        max(len(word) for cell in cells for word in (cell.split() or [""])) for cells in columns
    ]
    count = len(columns)
    for frame in (3 * count + 1, 2 * count - 1):  # with lines between columns, and without
        free = available - frame - sum(least)
        if sum(natural) + frame <= available:
            return [None] * count, frame > 2 * count
        if free >= 0:
            widths, left = list(least), count
            for i in sorted(range(count), key=lambda i: natural[i] - least[i]):
                more = min(natural[i] - least[i], free // left)  # narrow columns get all they need
                widths[i], free, left = widths[i] + more, free - more, left - 1
            return [*widths], frame > 2 * count
    return [None] * count, False


@contextmanager
def report_errors() -> Iterator[None]:
    """Print the library's errors on one line and exit with status 1, or 130 after Ctrl-C."""
    try:
        yield
    except EaseeError as error:
        err.print("error:", style="bold red", end=" ")
        print_line(str(error), err)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        print_line("interrupted", err)
        raise typer.Exit(130) from None


@contextmanager
def unlogged_names() -> Iterator[None]:
    """Do not log which action has which number: the notes of the results say it."""
    quiet: Callable[[LogRecord], bool] = lambda record: False  # noqa: E731
    logger.addFilter(quiet)
    try:
        yield
    finally:
        logger.removeFilter(quiet)


@contextmanager
def spinner(watch: Stopwatch) -> Iterator[None]:
    """Show the current part of the work and the elapsed time, after the first second."""
    start = time.perf_counter()
    finished = threading.Event()

    def show() -> None:
        if finished.wait(1.0):
            return
        with err.status("") as status:
            while not finished.wait(0.1):
                seconds = time.perf_counter() - start
                status.update(f"{watch.current or 'working'} · {seconds:.0f} s")

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()


@contextmanager
def progress_bar(unit: str) -> Iterator[Callable[[int, int], None]]:
    """Show progress with a forecast; yield a function that takes the done and expected units.

    The current part of the work, as in `easee._utils.timing`, is its description.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[counts]}"))
    with listening() as watch, Progress(
        *columns,
        TimeElapsedColumn(),
        TextColumn("{task.fields[forecast]}"),
        console=err,
        transient=True,
        disable=not err.is_terminal,  # it would leave an empty line in a file
    ) as bar:  # fmt: skip
        start = shown = time.monotonic()
        task = bar.add_task("starting", total=None, counts="", forecast="")

        def update(done: int, expected: int) -> None:
            nonlocal shown
            now = time.monotonic()
            if now - shown < 0.1:
                return
            shown = now
            bar.update(
                task,
                description=watch.current or "starting",
                completed=done,
                total=max(done, expected),
                counts=f"{done:,} of about {expected:,} {unit}",
                forecast=_forecast((now - start) * (expected - done) / max(done, 1)),
            )

        yield update


def _forecast(seconds: float) -> str:
    """Return a rough time in words.

    >>> _forecast(42.3), _forecast(330)
    ('about 42 s left', 'about 6 min left')
    """
    if seconds < 100:
        return f"about {seconds:.0f} s left"
    return f"about {seconds / 60:.0f} min left"
