"""Tables as plain text and as HTML, for `str()` and for notebooks."""

from collections.abc import Collection, Iterable, Sequence
from html import escape

Row = Sequence[str]


def text_table(columns: Sequence[str], rows: Iterable[Row], *, right: Collection[str] = ()) -> str:
    """Return a table with aligned columns; those in `right` are aligned to the right.

    >>> print(text_table(["depth", "nodes"], [["2", "1,234"]], right=["nodes"]))
    depth  nodes
    -----  -----
    2      1,234
    """
    lines = [tuple(columns), *map(tuple, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, tuple("-" * width for width in widths))
    aligned = [
        [
            cell.rjust(width) if column in right else cell.ljust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        ]
        for line in lines
    ]
    return "\n".join("  ".join(line).rstrip() for line in aligned)


def text_pairs(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names and values in two columns.

    >>> print(text_pairs([("depth", "2"), ("entropy", "0.5")]))
    depth    2
    entropy  0.5
    """
    known = list(pairs)
    width = max((len(name) for name, _ in known), default=0)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in known)


def shortened(items: Sequence[str], most: int = 12) -> str:
    """Return items in a row, without those in the middle if there are many.

    >>> shortened(list("abcdefg"), most=4)
    'a, b, …, f, g'
    """
    half = most // 2
    shown = list(items) if len(items) <= most else [*items[:half], "…", *items[-half:]]
    return ", ".join(shown)


def html_table(columns: Sequence[str], rows: Iterable[Row], *, right: Collection[str] = ()) -> str:
    """Return a table in HTML, with escaped text.

    >>> html_table(["a"], [["<b>"]])
    '<table><tr><th>a</th></tr><tr><td>&lt;b&gt;</td></tr></table>'
    """
    styles = [' style="text-align:right"' if column in right else "" for column in columns]
    lines = [_html_line("th", columns, styles), *(_html_line("td", row, styles) for row in rows)]
    return f"<table>{''.join(lines)}</table>"


def html_pairs(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names and values as a table in HTML without a header."""
    return f"<table>{''.join(_html_line('td', pair, ['', '']) for pair in pairs)}</table>"


def html_lines(lines: Iterable[str]) -> str:
    """Return sentences as paragraphs in HTML."""
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


def _html_line(tag: str, cells: Row, styles: Sequence[str]) -> str:
    pairs = zip(cells, styles, strict=True)
    return f"<tr>{''.join(f'<{tag}{style}>{escape(cell)}</{tag}>' for cell, style in pairs)}</tr>"
