"""The command line: easee compile | verify | discover | draw | priors | list | run | plot."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from easee import __version__, priors
from easee._utils.checks import checked_share, nearest
from easee._utils.files import check_writable
from easee._utils.timing import Stopwatch, listening
from easee.errors import ArgumentError, EaseeError, PriorError
from easee.flow.objective import layer_entropies, layer_supports
from easee.graph import unroll
from easee.policy import ExplorationPolicy, balance
from easee.priors.equivalences import Equivalences

if TYPE_CHECKING:
    from easee.experiments.harness.figure import Figure, Row

app = typer.Typer(
    help="Compile what you know about equivalent action sequences into an exploration policy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out = Console()
err = Console(stderr=True)

Prior = Annotated[
    str, typer.Argument(help="A file in the text format, or the name of a ready-made prior.")
]
Depth = Annotated[int, typer.Option("--depth", "-d", help="Length of the longest words.")]


class View(StrEnum):
    """What `easee draw` shows."""

    graph = "graph"
    pipeline = "pipeline"
    steps = "steps"


@contextmanager
def _reported() -> Iterator[None]:
    """Turn the library's errors into one line and exit status 1."""
    try:
        yield
    except EaseeError as error:
        err.print("error:", style="bold red", end=" ")
        err.print(str(error), highlight=False, markup=False, soft_wrap=True)
        raise typer.Exit(1) from None


def _say(text: str) -> None:
    """Print text as it is."""
    out.print(text, highlight=False, markup=False, soft_wrap=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"easee {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Compile what you know about equivalent action sequences into an exploration policy."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # Λ on a terminal that has no such letter
            stream.reconfigure(errors="replace")


def load_prior(prior: str) -> Equivalences:
    """Return the prior of that name, or of that file."""
    if prior in priors.names():
        return priors.get(prior)
    if Path(prior).suffix or os.path.exists(prior):
        return Equivalences.load(prior)
    raise PriorError(
        f"{prior!r} is neither a file nor a ready-made prior: {nearest(prior, priors.names())} "
        "('easee priors' lists them)"
    )


@app.command("compile")
def compile_command(
    prior: Prior,
    depth: Depth,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to save the policy (.npz).")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="Largest duality gap to accept.")] = 1e-9,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show where the time went.")
    ] = False,
) -> None:
    """Build the local-dynamics graph of a prior and balance it."""
    with _reported(), listening() as watch:
        omega = load_prior(prior)
        if output is not None:
            check_writable(output)  # before the work, not after it
        with _patient(watch):
            began = time.perf_counter()
            graph = unroll(omega, depth)
            built = time.perf_counter()
            policy = balance(graph, tolerance=tolerance)
            done = time.perf_counter()
        out.print(layer_table(policy))
        out.print(summary_table(policy, built - began, done - built))
        if verbose:
            out.print(time_table(watch))
        if output is not None:
            policy.save(output)
            _say(f"saved to {output}")


@contextmanager
def _patient(watch: Stopwatch) -> Iterator[None]:
    """Show what is going on, once it has gone on for longer than a second."""
    began = time.perf_counter()
    over = threading.Event()

    def show() -> None:
        if over.wait(1.0):
            return
        with err.status("") as status:
            while not over.wait(0.1):
                part, seconds = watch.current or "working", time.perf_counter() - began
                status.update(f"{part} · {seconds:.0f} s")

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def time_table(watch: Stopwatch) -> Table:
    """Return where the time went, part by part."""
    table = Table(title="where the time went", title_justify="left")
    table.add_column("part")
    table.add_column("time", justify="right")
    table.add_column("share", justify="right")
    total = sum(watch.seconds.values())
    for part, seconds in watch.seconds.items():
        table.add_row(part, f"{1e3 * seconds:,.1f} ms", f"{seconds / total:.0%}")
    return table


def layer_table(policy: ExplorationPolicy) -> Table:
    """Return a table of the layers: sizes, entropies and how uneven the visits are."""
    graph = policy.graph
    table = Table(title=f"{len(graph.actions)} actions, depth {graph.depth}", title_justify="left")
    for column in ("step", "new nodes", "dead ends", "entropy", "if even", "visits min/max"):
        table.add_column(column, justify="right")
    entropies = layer_entropies(graph, policy.visits)
    even = np.log(layer_supports(graph))
    shown = _abridged(graph.depth)
    for depth in shown:
        layer = graph.depths == depth
        visits = policy.visits[layer]
        table.add_row(
            str(depth),
            f"{visits.size:,}",
            f"{int((layer & graph.ends).sum()):,}" if depth < graph.depth else "-",
            f"{entropies[depth - 1]:.4f}",
            f"{even[depth - 1]:.4f}",
            f"{visits.min() / visits.max():.3f}" if visits.any() else "-",
        )
        if depth + 1 not in shown and depth < graph.depth:
            table.add_row(*["…"] * 6)
    return table


def _abridged(depth: int) -> list[int]:
    """Which layers to show: all of a few, else the first and the last."""
    return [t for t in range(1, depth + 1) if depth <= 24 or t <= 12 or t > depth - 6]


def summary_table(policy: ExplorationPolicy, build: float, balance_: float) -> Table:
    """Return the certificate and the times as a table."""
    graph = policy.graph
    table = Table(show_header=False)
    kind = "exact" if graph.exact else "closure" + (", stable" if graph.stable else ", NOT stable")
    rows = {
        "nodes": f"{len(graph):,} ({kind})",
        "forward edges": f"{int(graph.forward.sum()):,}",
        "entropy J": f"{policy.entropy:.9f}",
        "bound (even layers)": f"{policy.bound:.9f}",
        "duality gap": f"{policy.gap:.1e}",
        "time to build": f"{1e3 * build:,.1f} ms",
        "time to balance": f"{1e3 * balance_:,.1f} ms",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


@app.command()
def draw(
    prior: Prior,
    depth: Depth,
    output: Annotated[Path, typer.Option("--output", "-o", help="An .svg, .png or .pdf file.")],
    view: Annotated[
        View,
        typer.Option(help="The policy on its graph; prior, graph and policy; or the construction."),
    ] = View.graph,
    pruned: Annotated[bool, typer.Option("--pruned", help="Show pruned edges, dashed.")] = False,
) -> None:
    """Draw the graph of a prior and the policy on it."""
    from easee.viz import graph as pictures

    with _reported():
        omega = load_prior(prior)
        check_writable(output)
        graph = unroll(omega, depth)
        if view is View.steps:
            pictures.draw_steps(graph, output)
        elif view is View.pipeline:
            pictures.draw_pipeline(omega, balance(graph), output)
        else:
            pictures.draw_graph(balance(graph), output, pruned=pruned)
        _say(f"saved to {output}")


@app.command("priors")
def list_priors(
    name: Annotated[str | None, typer.Argument(help="Show this one as text.")] = None,
) -> None:
    """List the ready-made priors, or print one in the text format."""
    with _reported():
        if name is not None:
            _say(str(priors.get(name)))
            return
    table = Table()
    for column in ("prior", "actions", "relations", "what it says"):
        number = column in ("actions", "relations")
        room = 24 if column == "what it says" else None
        side: Literal["left", "right"] = "right" if number else "left"
        table.add_column(column, justify=side, no_wrap=column == "prior", min_width=room)
    for known in priors.names():
        omega = priors.get(known)
        says = priors.describe(known)
        table.add_row(known, str(len(omega.actions)), str(len(omega)), says)
    out.print(table)


# --- environments: imported only when asked for ---------------------------------------------------

EnvId = Annotated[str, typer.Option("--env", help="A registered Gymnasium id.")]
EnvOptions = Annotated[
    list[str] | None, typer.Option("--option", help="NAME=VALUE for the environment; repeatable.")
]
StateName = Annotated[
    str,
    typer.Option(
        "--state",
        help="What is compared: observation, minigrid (its whole state), ram, ram:14,16 (bytes of "
        "an Atari game's memory), or auto: minigrid for MiniGrid, the player's position for "
        "Freeway, Boxing and Carnival, else observation.",
    ),
]
States = Annotated[int, typer.Option(help="In how many states words are tried.")]
SeedOption = Annotated[int, typer.Option(help="Of everything that is random here.")]


@app.command("verify")
def verify_command(
    prior: Prior,
    env: EnvId,
    states: States = 200,
    state: StateName = "auto",
    seed: SeedOption = 0,
    rename: Annotated[
        list[str] | None, typer.Option(help="PRIOR_ACTION=ENV_ACTION where names differ.")
    ] = None,
    option: EnvOptions = None,
    pictures: Annotated[
        Path | None, typer.Option(help="Folder for pictures of counterexamples.")
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(help="Exit with 1 if a relation fails in a larger share of the states."),
    ] = None,
) -> None:
    """Check which relations of a prior hold in an environment."""
    from easee.cli import environments as lookup
    from easee.probing.verify import verify

    with _reported():
        omega = load_prior(prior)
        if tolerance is not None:
            checked_share(tolerance, "tolerance")
        if pictures is not None:
            check_writable(pictures / "picture.png")  # before the work, not after it
        world = lookup.make_env(env, option or [], render=pictures is not None)
        say = lookup.remark(env, option or [])
        names = lookup.pairs_of(rename or [], "--rename")
        reader = lookup.state_reader(state, world)
        with _progress_bar("relations") as progress:
            found = verify(
                world,
                omega,
                states=states,
                state=reader,
                seed=seed,
                rename=names,
                progress=progress,
            )
        out.print(lookup.verification_table(found, f"{prior} in {env}"))
        for note in (*found.notes, *say, f"{found.env_steps:,} steps in the environment"):
            _say(f"- {note}")
        if pictures is not None:
            for path in lookup.save_counterexamples(found, pictures):
                _say(f"picture saved to {path}")
        if tolerance is not None and any(check.rate > tolerance for check in found.relations):
            raise typer.Exit(1)


@app.command("discover")
def discover_command(
    env: EnvId,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to save the prior, as text.")
    ] = None,
    max_length: Annotated[int, typer.Option(help="Of the words that are tried.")] = 4,
    states: States = 200,
    tolerance: Annotated[
        float, typer.Option(help="Share of the states in which a relation may fail.")
    ] = 0.0,
    budget: Annotated[int, typer.Option(help="Most steps in the environment.")] = 1_000_000,
    state: StateName = "auto",
    seed: SeedOption = 0,
    option: EnvOptions = None,
) -> None:
    """Find the equivalences of an environment that nobody described."""
    from easee.cli import environments as lookup
    from easee.probing.discover import discover

    with _reported():
        if output is not None:
            check_writable(output)  # before the work, not after it
        world = lookup.make_env(env, option or [])
        say = lookup.remark(env, option or [])
        reader = lookup.state_reader(state, world)
        with _progress_bar("words") as progress:
            found = discover(
                world,
                max_length=max_length,
                states=states,
                tolerance=tolerance,
                budget=budget,
                state=reader,
                seed=seed,
                progress=progress,
            )
        out.print(lookup.discovery_table(found, f"discovered in {env}"))
        for note in (*found.notes, *say, f"{found.env_steps:,} steps in the environment"):
            _say(f"- {note}")
        if output is not None:
            found.equivalences.save(output)
            _say(f"saved to {output}")


@contextmanager
def _progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how many are done of how many there are, or have been found."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,  # it would leave an empty line in a file
    ) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=max(done, total))


# --- experiments: imported only when asked for, since they bring environments along ---------------


@app.command("list")
def list_figures() -> None:
    """List the figures that can be run."""
    from easee.experiments.registry import FIGURES

    table = Table()
    for column in ("figure", "runs", "what it shows"):
        table.add_column(column, justify="right" if column == "runs" else "left")
    for name, figure in FIGURES.items():
        runs, title = len(figure.runs(figure.seeds)), figure.title
        if figure.population is not None and figure.population.steps != figure.steps:
            other = figure.population
            title += f" ({other.seeds} seeds of {other.steps:,} steps with --backend population)"
        table.add_row(name, f"{runs:,} ({figure.seeds} seeds)", title)
    out.print(table)


FigureName = Annotated[str, typer.Argument(help="A figure; 'easee list' names them.")]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="Folder of the results; by default results/FIGURE, with -sb3 for DQN without "
        "--backend population, and with the number of --steps.",
    ),
]


Steps = Annotated[int | None, typer.Option(help="Train for so many steps, in learning figures.")]


Backend = Annotated[
    str, typer.Option(help="local, ray, or population: DQN for all seeds at once, on a GPU.")
]


def _figure(name: str, steps: int | None, backend: str) -> Figure:
    from easee.experiments.registry import get_figure

    figure = get_figure(name).for_backend(backend)
    return figure if steps is None else figure.with_steps(steps)


@app.command("run")
def run_figure(
    name: FigureName,
    seeds: Annotated[int | None, typer.Option(help="How many seeds; all by default.")] = None,
    steps: Steps = None,
    arm: Annotated[list[str] | None, typer.Option(help="Only this arm; may be repeated.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Processes; by default one per core.")] = None,
    folder: Folder = None,
    backend: Backend = "local",
    address: Annotated[str | None, typer.Option(help="Address of a Ray cluster.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Throw away what is there.")] = False,
) -> None:
    """Do the runs of a figure that are not done yet, then draw it."""
    from easee.experiments.harness.runner import run_missing

    with _reported():
        figure = _figure(name, steps, backend)
        place = folder or Path("results") / (figure.folder or name)
        if figure.reduced:
            _say(figure.reduced)
        rows = run_missing(
            figure,
            place,
            seeds=figure.seeds if seeds is None else seeds,
            arms=arm,
            jobs=jobs,
            backend=backend,
            address=address,
            force=force,
            console=err,
        )
        if not rows:
            raise ArgumentError("no episode ended in so few steps: there is nothing to draw")
        _show_figure(figure, rows, place)


@app.command("plot")
def plot_figure(
    name: FigureName, steps: Steps = None, folder: Folder = None, backend: Backend = "local"
) -> None:
    """Draw a figure from the runs on disk; nothing is run."""
    from easee.experiments.harness.store import Store

    with _reported():
        figure = _figure(name, steps, backend)
        place = folder or Path("results") / (figure.folder or name)
        store = Store(figure, place)
        store.check_settings()
        found = store.read()
        for problem in found.problems:
            err.print(f"skipped {problem}", highlight=False, markup=False, soft_wrap=True)
        partial = store.shown()
        rows = found.rows + partial
        if not rows:
            raise ArgumentError(f"no runs of {name} in {place}: 'easee run {name}' makes them")
        if partial:
            count, last = len({row[1:3] for row in partial}), max(row.step for row in partial)
            _say(f"{count} runs are not finished: they are shown up to step {last:,}")
        _show_figure(figure, rows, place)


def _show_figure(figure: Figure, rows: list[Row], folder: Path) -> None:
    header, *lines = figure.table(rows)
    table = Table(title=figure.title, title_justify="left")
    for column in header:
        table.add_column(column)
    for line in lines:
        table.add_row(*line)
    out.print(table)
    for path in figure.plot(rows, folder):
        _say(f"picture saved to {path}")
