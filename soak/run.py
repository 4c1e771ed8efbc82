"""Run the campaign: `python -m soak.run --minutes 20`, or try a finding again with `--replay FILE`.

Every attack has a share of the time; at most `--jobs` of them run at once, each in a process of its
own. A case depends only on the seed, the name of the attack and the number of the case. Findings
are written to `--out` as files, and the command then exits with 1.
"""

from __future__ import annotations

import os
import secrets
import signal
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

import easee
from easee._utils.checks import nearest
from easee._utils.files import replacing
from soak import findings, report
from soak.attack import Attack, case_of
from soak.findings import FoundCase
from soak.report import Tally
from soak.worker import outcome_of, outcomes

app = typer.Typer(add_completion=False)
console = Console()
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@app.command()
def main(
    minutes: Annotated[float, typer.Option(help="Time for all attacks together.")] = 20.0,
    seed: Annotated[int | None, typer.Option(help="Seed; by default a random one.")] = None,
    attack: Annotated[
        list[str] | None, typer.Option(help="Run only this attack; repeatable.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Attacks that run at the same time.")] = 2,
    out: Annotated[Path, typer.Option(help="Folder for findings.")] = Path("soak/findings"),
    markdown: Annotated[
        Path | None, typer.Option(help="Also write the table to this file, in Markdown.")
    ] = None,
    replay: Annotated[Path | None, typer.Option(help="Try the case of this file again.")] = None,
) -> None:
    """Attack the library for a while, and list what was found."""
    for name in THREADS:  # for the processes that are started below
        os.environ.setdefault(name, "1")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    # Jobs in the background of a shell ignore interrupts, and so would the commands started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if replay is not None:
        raise typer.Exit(replay_file(replay))
    seed = secrets.randbelow(2**32) if seed is None else seed
    campaign = Campaign(_chosen(attack), seed, 60.0 * minutes, jobs, out)
    console.print(f"seed {seed}: repeat with --seed {seed}", highlight=False)
    campaign.run()
    _show(campaign, markdown)
    raise typer.Exit(1 if any(tally.findings for tally in campaign.tallies) else 0)


def _chosen(names: list[str] | None) -> list[Attack]:
    attacks = _attacks()
    for name in names or ():
        if name not in attacks:
            raise typer.BadParameter(f"no attack is named {name!r}: {nearest(name, attacks)}")
    return [attacks[name] for name in names or attacks]


def _attacks() -> dict[str, Attack]:
    # Imported here: the processes that try the cases import this module, and need one attack only.
    from soak.attacks import ATTACKS

    return ATTACKS


class Campaign:
    """Attacks, each with its share of the time of some processes, and what they have found."""

    def __init__(
        self, attacks: list[Attack], seed: int, seconds: float, jobs: int, out: Path
    ) -> None:
        shares = sum(attack.share for attack in attacks)
        self.tallies = [
            Tally(attack, min(1.0, jobs * attack.share / shares) * seconds) for attack in attacks
        ]
        self.seed = seed
        self.jobs = jobs
        self.out = out
        self.files: list[Path] = []
        self.began = time.monotonic()
        self.stop = threading.Event()

    @property
    def title(self) -> str:
        """A line about the run."""
        took = time.monotonic() - self.began
        clock = f"{took / 60:.0f} minutes" if took >= 100 else f"{took:.0f} seconds"
        return f"easee {easee.__version__}, seed {self.seed}, {clock}"

    def run(self) -> None:
        """Run all attacks, those with the largest share first, and show the table meanwhile."""
        longest_first = sorted(self.tallies, key=lambda tally: -tally.budget)
        with (
            ThreadPoolExecutor(self.jobs) as pool,
            Live(console=console, auto_refresh=False, transient=True) as live,
        ):
            working = [pool.submit(self._attack, tally) for tally in longest_first]
            try:
                while not all(future.done() for future in working):
                    live.update(report.table(self.tallies, self.title), refresh=True)
                    time.sleep(0.5)
            except KeyboardInterrupt:
                self.stop.set()
                console.print("interrupted: waiting for the cases in progress")
        _raise_errors(working)

    def _attack(self, tally: Tally) -> None:
        """Run one attack for its time."""
        attack, began = tally.attack, time.monotonic()
        for number, counts, finding in outcomes(attack, self.seed, 0, tally.budget):
            found = None
            if finding is not None:
                case = case_of(attack, self.seed, number)
                found = FoundCase(attack.name, self.seed, number, finding, case)
            tally.add(counts, found)
            tally.seconds = time.monotonic() - began
            if found is not None and tally.kinds[found.kind] <= findings.MOST_FILES:
                self._report(found)
            if self.stop.is_set():
                break
        if not console.is_terminal:  # where no table is shown meanwhile
            count = f"{tally.cases:,} cases, {tally.findings:,} findings"
            console.print(f"{attack.name}: {count} in {tally.seconds:.0f} s", highlight=False)

    def _report(self, found: FoundCase) -> None:
        path = findings.write(found, self.out)
        self.files.append(path)
        console.print(
            f"[bold red]found[/] by {found.attack}: {_escaped(found.finding)}\n  {path}",
            highlight=False,
            soft_wrap=True,
        )


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")


def _raise_errors(working: list[Future[None]]) -> None:
    for future in working:
        future.result()


def _show(campaign: Campaign, path: Path | None) -> None:
    console.print(report.table(campaign.tallies, campaign.title))
    for tally in campaign.tallies:
        for kind, count in tally.kinds.most_common():
            console.print(f"{count:,} x {tally.attack.name}: {kind}", highlight=False, markup=False)
    if campaign.files:
        console.print(f"try one again: python -m soak.run --replay {campaign.files[0]}")
    if path is not None:
        with replacing(path) as file:
            file.write(report.markdown(campaign.tallies, campaign.title).encode())


def replay_file(path: Path) -> int:
    """Try the case of a file again; return the exit code."""
    found = findings.read(path)
    finding = outcome_of(_attacks()[found.attack], found.case)
    console.print(f"{found.attack}: {finding or 'nothing found'}", highlight=False, markup=False)
    return 0 if finding is None else 1


if __name__ == "__main__":
    app()
