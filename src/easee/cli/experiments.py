"""`easee list`, `run` and `plot`: the experiments.

Experiments are imported inside the commands, because they import environment packages.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from easee.cli.console import err, make_table, out, print_line
from easee.errors import ArgumentError
from easee.viz.files import require_matplotlib

if TYPE_CHECKING:
    from easee.experiments.harness.figure import Figure, Row

FigureName = Annotated[str, typer.Argument(help="Name of the figure; see 'easee list'.")]
Steps = Annotated[
    int | None, typer.Option(help="Number of training steps per run (learning figures only).")
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="Results folder; by default results/FIGURE, with -sb3 appended for DQN without "
        "--backend population, and the number of steps if --steps is given.",
    ),
]
Backend = Annotated[
    str,
    typer.Option(
        help="local, ray, or population: all seeds of DQN or PPO at once, on a GPU or a CPU."
    ),
]


def list_command() -> None:
    """List the figures that can be run."""
    from easee.experiments.harness.rows import seeds_text
    from easee.experiments.registry import FIGURES

    rows = []
    for name, figure in FIGURES.items():
        title, other = figure.title, figure.population
        if other is not None and other.steps != figure.steps:
            title += f" ({other.seeds} seeds of {other.steps:,} steps with --backend population)"
        runs = f"{len(figure.runs(figure.seeds)):,} ({seeds_text(figure.seeds)})"
        rows.append((name, runs, title))
    out.print(make_table(("figure", "runs", "description"), rows, right=("runs",)))


def run_command(
    name: FigureName,
    seeds: Annotated[
        int | None, typer.Option(help="Number of seeds; by default the figure's own.")
    ] = None,
    steps: Steps = None,
    arm: Annotated[
        list[str] | None,
        typer.Option(help="Run only this arm, or arms like 'goal-51/*'; repeatable."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Number of processes; by default one per core.")
    ] = None,
    folder: Folder = None,
    backend: Backend = "local",
    address: Annotated[
        str | None, typer.Option(help="Address of the Ray cluster (--backend ray).")
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            help="Stop after this time; the same command goes on from there (--backend population)."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Discard existing results.")] = False,
) -> None:
    """Run the unfinished runs of a figure, then draw it."""
    from easee.experiments.harness.figure import chosen_runs
    from easee.experiments.harness.runner import run_missing
    from easee.experiments.harness.store import Store

    figure, results = _figure_and_folder(name, steps, backend, folder)
    if figure.reduced:
        print_line(figure.reduced)
    seeds = figure.seeds if seeds is None else seeds
    runs = chosen_runs(figure, seeds, arm)
    require_matplotlib()  # fail before the runs, not after them
    try:
        rows = run_missing(
            figure,
            results,
            seeds=seeds,
            arms=arm,
            jobs=jobs,
            backend=backend,
            address=address,
            minutes=minutes,
            force=force,
            console=err,
        )
    except KeyboardInterrupt:
        done = len(runs) - len(Store(figure, results).missing(runs))
        again = "the same command without --force" if force else "the same command"
        print_line(
            f"interrupted: {done} of {len(runs)} runs are finished and kept in {results}; {again} "
            "does the others",
            err,
        )
        raise typer.Exit(130) from None
    if minutes is not None and (left := len(Store(figure, results).missing(runs))):
        print_line(f"{left} runs are not finished: give the same command again to go on", err)
        return
    if not rows:
        raise ArgumentError("no episode ended, so there is nothing to draw: increase --steps")
    _show_table(figure, rows)
    _save_pictures(figure, rows, results)


def plot_command(
    name: FigureName, steps: Steps = None, folder: Folder = None, backend: Backend = "local"
) -> None:
    """Draw a figure from saved results, without running anything."""
    from easee.experiments.harness.store import Store

    figure, results = _figure_and_folder(name, steps, backend, folder)
    store = Store(figure, results)
    store.check_settings()
    finished = store.read()
    for problem in finished.problems:
        print_line(f"skipped {problem}", err)
    unfinished = store.shown()
    rows = finished.rows + unfinished
    if not rows:
        raise ArgumentError(f"no runs of {name} in {results}: {_way_to_rows(name, backend)}")
    if unfinished:
        count = len({row[1:3] for row in unfinished})
        table = ", and the table leaves them out" if finished.rows else ""
        print_line(
            f"{count} runs are not finished: the picture shows them as far as they are{table}"
        )
    if finished.rows:
        _show_table(figure, finished.rows)
    _save_pictures(figure, rows, results)


def _way_to_rows(name: str, backend: str) -> str:
    """Return how to get rows to draw: from another folder, if it has some, or by running."""
    from easee.experiments.harness.store import Store
    from easee.experiments.registry import get_figure

    known = get_figure(name)
    others = ["local", "population"] if known.population is not None else ["local"]
    for other in others:
        figure, results = _figure_and_folder(name, None, other, None)
        if other != backend and results.is_dir() and Store(figure, results).read().rows:
            return f"{results} has some, draw them with 'easee plot {name} --backend {other}'"
    return f"create them with 'easee run {name}'"


def _figure_and_folder(
    name: str, steps: int | None, backend: str, folder: Path | None
) -> tuple[Figure, Path]:
    from easee.experiments.registry import get_figure

    figure = get_figure(name).for_backend(backend)
    if steps is not None:
        figure = figure.with_steps(steps)
    return figure, folder or Path("results") / (figure.folder or name)


def _show_table(figure: Figure, rows: list[Row]) -> None:
    header, *lines = figure.table(rows)
    out.print(make_table(header, lines, title=figure.title))


def _save_pictures(figure: Figure, rows: list[Row], folder: Path) -> None:
    for path in figure.plot(rows, folder):
        print_line(f"picture saved to {path}")
