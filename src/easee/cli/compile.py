"""`easee compile`: prior to policy, with tables of its layers, certificate and times."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from easee._utils.files import check_writable
from easee._utils.timing import Stopwatch, listening
from easee.cli.console import make_table, out, print_line, print_warning, spinner
from easee.cli.priors import Depth, PriorAndDepth, prior_and_depth
from easee.flow.growth import unused_notes
from easee.flow.objective import layer_entropies, layer_supports
from easee.graph import unroll
from easee.policy import ExplorationPolicy, balance
from easee.policy_text import find_prior
from easee.priors.equivalences import Equivalences
from easee.priors.rates import action_floors


def compile_command(
    prior: PriorAndDepth,
    depth: Depth = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save the policy to this .npz file.")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="Largest acceptable duality gap.")] = 1e-9,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show the time spent in each part.")
    ] = False,
) -> None:
    """Compile a prior into an exploration policy."""
    prior, depth = prior_and_depth(prior, depth)
    omega = find_prior(prior)
    if output is not None:
        check_writable(output)  # fail before the work, not after it
    with listening() as watch, spinner(watch):
        policy, times = timed_compile(omega, depth, tolerance)
    out.print(layer_table(policy))
    out.print(summary_table(policy, *times))
    if verbose:
        out.print(time_table(watch))
    warn_of_unused_actions(policy)
    if output is None:
        print_line(f"next: easee tune {prior} --env ID   (does it help, and at which depth?)")
    else:
        policy.save(output)
        print_line(f"saved to {output}")
        print_line(f'next, in Python: easee.Explorer(easee.ExplorationPolicy.load("{output}"))')


def timed_compile(
    omega: Equivalences, depth: int, tolerance: float = 1e-9
) -> tuple[ExplorationPolicy, tuple[float, float]]:
    """Compile a prior; return the policy and the seconds to build and to balance its graph."""
    start = time.perf_counter()
    graph = unroll(omega, depth)
    built = time.perf_counter()
    policy = replace(balance(graph, tolerance=tolerance), floors=action_floors(omega))
    return policy, (built - start, time.perf_counter() - built)


def layer_table(policy: ExplorationPolicy) -> Table:
    """Return a table of the layers: sizes, entropies and evenness of the visits."""
    graph = policy.graph
    entropies = layer_entropies(graph, policy.visits)
    bounds = np.log(layer_supports(graph))
    rows = []
    for depth in range(1, graph.depth + 1):
        if graph.depth > 24 and 12 < depth <= graph.depth - 6:
            if depth == 13:
                rows.append(["…"] * 6)
            continue
        layer = graph.depths == depth
        visits = policy.visits[layer]
        rows.append(
            [
                str(depth),
                f"{visits.size:,}",
                f"{int((layer & graph.ends).sum()):,}" if depth < graph.depth else "-",
                f"{entropies[depth - 1]:.4f}",
                f"{bounds[depth - 1]:.4f}",
                f"{visits.min() / visits.max():.3f}" if visits.any() else "-",
            ]
        )
    columns = ("step", "new nodes", "dead ends", "entropy", "bound", "visits min/max")
    title = f"{len(graph.actions)} actions, depth {graph.depth}"
    return make_table(columns, rows, title=title, right=columns)


def summary_table(policy: ExplorationPolicy, build_seconds: float, balance_seconds: float) -> Table:
    """Return a table of what describes the policy, and of the times."""
    table = Table(show_header=False)
    times = f"{1e3 * build_seconds:,.1f} ms to build, {1e3 * balance_seconds:,.1f} ms to balance"
    for name, value in (*policy.rows(), ("time", times)):
        table.add_row(name, escape(value))
    return table


def warn_of_unused_actions(policy: ExplorationPolicy) -> None:
    """Print a warning of actions that the policy never takes, and the way out."""
    for note in unused_notes(policy.graph, policy.never_taken):
        print_warning(note)


def time_table(watch: Stopwatch) -> Table:
    """Return a table of the time spent in each part."""
    total = sum(watch.seconds.values())
    rows = [
        (part, f"{1e3 * seconds:,.1f} ms", f"{seconds / total:.0%}")
        for part, seconds in watch.seconds.items()
    ]
    columns = ("part", "time", "share")
    return make_table(columns, rows, title="time per part", right=columns[1:])
