"""`easee tune`: how many states each depth of a prior sees in an environment."""

import re
from pathlib import Path
from typing import Annotated

import typer

from easee._utils.files import check_writable
from easee.cli.console import (
    make_table,
    out,
    print_line,
    print_notes,
    print_text,
    progress_bar,
    unlogged_names,
)
from easee.cli.priors import Prior
from easee.cli.probing import EnvId, EnvOptions, Names, Seed, StateName
from easee.errors import ArgumentError
from easee.policy_text import find_prior
from easee.probing.environments import make_env, parse_names, state_reader, sticky_note
from easee.probing.tune import geometric_depths, tune
from easee.probing.tuning import COLUMNS, Tuning


def tune_command(
    prior: Prior,
    env: EnvId,
    depths: Annotated[
        str | None,
        typer.Option(
            help="Depths to compare: 2..50 (about ten of them) or 2,6,12; by default up to the "
            "length of an episode, at most 100."
        ),
    ] = None,
    steps: Annotated[int, typer.Option(help="Steps in the environment, altogether.")] = 300_000,
    trial_steps: Annotated[
        int | None,
        typer.Option(
            help="Steps in which states are counted; by default as many as the budget allows."
        ),
    ] = None,
    names: Names = None,
    state: StateName = "auto",
    seed: Seed = 0,
    option: EnvOptions = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Save the recommended policy to this .npz file."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the states seen over the depth into this file.")
    ] = None,
) -> None:
    """Measure which depth of a prior sees the most states in an environment, if any helps."""
    omega = find_prior(prior)
    wanted = None if depths is None else parse_depths(depths)
    for path in filter(None, (output, plot)):
        check_writable(path)  # fail before the work, not after it
    environment = make_env(env, option or [])
    reader = state_reader(state, environment)
    with progress_bar("steps") as progress, unlogged_names():
        result = tune(
            environment,
            omega,
            depths=wanted,
            steps=steps,
            trial_steps=trial_steps,
            state=reader,
            names=parse_names(names),
            seed=seed,
            progress=progress,
        )
    out.print(make_table(COLUMNS, result.rows(), title=f"{prior} in {env}", right=COLUMNS[1:]))
    print_text(result.reason)
    steps_note = f"{result.env_steps:,} steps in the environment"
    print_notes([*result.notes, *sticky_note(env, option or []), steps_note])
    if plot is not None:
        print_line(f"plot saved to {result.plot(plot)}")
    _save_or_suggest(result, prior, output)


def parse_depths(text: str) -> list[int]:
    """Return the depths of a range such as 2..50, about ten of them, or of a list such as 2,6,12.

    >>> parse_depths("2..9"), parse_depths("2,6,12")
    ([2, 3, 4, 6, 9], [2, 6, 12])
    """
    bounds = re.fullmatch(r"(\d+)\.\.(\d+)", text.strip())
    if bounds and 1 <= int(bounds[1]) <= int(bounds[2]):
        return geometric_depths(int(bounds[1]), int(bounds[2]))
    parts = [part.strip() for part in text.split(",")]
    if not bounds and all(part.isdecimal() and int(part) for part in parts):
        return [int(part) for part in parts]
    raise ArgumentError(f"expected --depths such as 2..50 or 2,6,12, found {text!r}")


def _save_or_suggest(result: Tuning, prior: str, output: Path | None) -> None:
    """Save the recommended policy, or print the command that compiles it."""
    if result.policy is None:
        if output is not None:
            print_line(f"{output} is not written, because no depth is recommended")
            raise typer.Exit(1)
    elif output is None:
        print_line(f"next: easee compile {prior} --depth {result.depth} -o policy.npz")
    else:
        result.policy.save(output)
        print_line(f"saved to {output}")
