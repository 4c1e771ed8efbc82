"""What a campaign has done so far, as a table in the terminal and as Markdown."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from rich.table import Table

from soak.attack import Attack, Counts
from soak.findings import FoundCase

COLUMNS = ("attack", "cases", "findings", "seconds", "compared")


@dataclass
class Tally:
    """The counts of one attack."""

    attack: Attack
    budget: float  # seconds
    cases: int = 0
    findings: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, counts: Counts, found: FoundCase | None) -> None:
        """Add a case."""
        self.cases += 1
        self.counts.update(counts)
        if found is not None:
            self.findings += 1
            self.kinds[found.kind] += 1

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        compared = ", ".join(f"{count:,} {what}" for what, count in self.counts.items())
        numbers = (f"{self.cases:,}", f"{self.findings:,}", f"{self.seconds:,.0f}")
        return self.attack.title, *numbers, compared


def table(tallies: list[Tally], title: str) -> Table:
    """Return the table for the terminal, with the progress of each attack."""
    shown = Table(title=title, title_justify="left")
    for name in (*COLUMNS, "done"):
        shown.add_column(name, justify="left" if name in ("attack", "compared") else "right")
    for tally in tallies:
        done = min(1.0, tally.seconds / tally.budget) if tally.budget else 1.0
        style = "bold red" if tally.findings else None
        shown.add_row(*tally.cells, f"{done:.0%}", style=style)
    return shown


def markdown(tallies: list[Tally], title: str) -> str:
    """Return the table in Markdown, below a sentence that describes the run."""
    lines = [
        title,
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "|---|---:|---:|---:|---|",
        *("| " + " | ".join(tally.cells) + " |" for tally in tallies),
        "",
    ]
    return "\n".join(lines)
