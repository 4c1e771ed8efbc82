"""`easee verify` and `easee discover`: the equivalences of an environment."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from easee._utils.checks import checked_count, checked_share
from easee._utils.files import check_writable
from easee._utils.timing import listening
from easee.cli.compile import summary_table, timed_compile, warn_of_unused_actions
from easee.cli.console import (
    make_table,
    out,
    print_line,
    print_notes,
    progress_bar,
    spinner,
    unlogged_names,
)
from easee.cli.priors import Prior
from easee.cli.search_files import default_output, keep_record, load_record
from easee.errors import ArgumentError
from easee.graph import deepest_that_fits
from easee.policy import ExplorationPolicy
from easee.policy_text import find_prior
from easee.priors.equivalences import Equivalences
from easee.probing.discover import Discovery, discover
from easee.probing.environments import make_env, parse_names, parse_pairs, state_reader, sticky_note
from easee.probing.evidence import COLUMNS, VERDICTS, RelationCheck
from easee.probing.verify import Verification, verify

STYLES = dict(zip(VERDICTS, ("green", "yellow", "dark_orange", "bold red"), strict=True))
EnvId = Annotated[
    str, typer.Option("--env", help="Gymnasium environment id; PACKAGE:ID imports PACKAGE first.")
]
EnvOptions = Annotated[
    list[str] | None,
    typer.Option("--option", help="NAME=VALUE argument of the environment; repeatable."),
]
StateName = Annotated[
    str,
    typer.Option(
        "--state",
        help="State to compare: observation, or some of its numbers, observation:0,2; round:2, "
        "rounded to 2 decimal places; cells:0.5, in cells of width 0.5 (also round:2:0,3 and "
        "cells:0.5:0,3); attribute:s, an attribute of the environment; minigrid, the full MiniGrid "
        "state; ram or ram:14,16, all or some bytes of an Atari game's memory; "
        "function:MODULE.NAME, your own function of the environment; auto, which is minigrid for "
        "MiniGrid, the player's position for Freeway, Boxing and Carnival, and observation "
        "otherwise.",
    ),
]
Names = Annotated[
    str | None,
    typer.Option(
        help="Names of the environment's actions, in the order of their numbers, instead of its "
        "own: left,down,right,up."
    ),
]
States = Annotated[int, typer.Option(help="Number of states in which words are tested.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]


def verify_command(
    prior: Prior,
    env: EnvId,
    states: States = 200,
    state: StateName = "auto",
    seed: Seed = 0,
    rename: Annotated[
        list[str] | None,
        typer.Option(help="PRIOR_ACTION=ENV_ACTION where action names differ; repeatable."),
    ] = None,
    names: Names = None,
    option: EnvOptions = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Save the prior with its measured rates to this text file."
        ),
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option(help="Save pictures of counterexamples to this folder.")
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(help="Exit with status 1 if a relation fails in a larger share of states."),
    ] = None,
) -> None:
    """Check which relations of a prior hold in an environment."""
    omega = find_prior(prior)
    if tolerance is not None:
        checked_share(tolerance, "tolerance")
    if output is not None:
        check_writable(output)  # fail before the work, not after it
    if pictures is not None:
        check_writable(pictures / "picture.png")
    environment = make_env(env, option or [], render=pictures is not None)
    renames = parse_pairs(rename or [], "--rename")
    reader = state_reader(state, environment)
    with progress_bar("steps") as progress, unlogged_names():
        verification = verify(
            environment,
            omega,
            states=states,
            state=reader,
            seed=seed,
            rename=renames,
            names=parse_names(names),
            progress=progress,
        )
    checks = verification.relations
    rows = map(_row, checks)
    out.print(make_table(COLUMNS, rows, title=f"{prior} in {env}", right=COLUMNS[1:4]))
    _print_notes(verification, sticky_note(env, option or []))
    if pictures is not None:
        _save_counterexamples(checks, pictures)
    if output is not None:
        _save(verification.equivalences, output)
    if tolerance is not None and any(check.rate > tolerance for check in checks):
        raise typer.Exit(1)


def discover_command(
    env: EnvId,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Save the prior to this text file, or the policy if it ends in .npz.",
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth",
            "-d",
            help="Compile the prior to this depth, or to the deepest that fits in memory.",
        ),
    ] = None,
    max_length: Annotated[int, typer.Option(help="Maximum length of the words to test.")] = 4,
    states: States = 200,
    tolerance: Annotated[
        float, typer.Option(help="Share of states in which a relation may fail.")
    ] = 0.0,
    usually: Annotated[
        float,
        typer.Option(
            help="Also find relations that fail in at most this share of states, with their rates; "
            "0.1 is a good value."
        ),
    ] = 0.0,
    budget: Annotated[int, typer.Option(help="Maximum number of environment steps.")] = 1_000_000,
    minutes: Annotated[
        float | None,
        typer.Option(help="Stop after this time; the same command goes on from there."),
    ] = None,
    state: StateName = "auto",
    names: Names = None,
    seed: Seed = 0,
    option: EnvOptions = None,
) -> None:
    """Find the equivalences of an environment, and compile them if there is a depth.

    Ctrl-C, or the end of the budget, prints and keeps what was found so far. The same command goes
    on from there.
    """
    saves_policy = output is not None and output.suffix == ".npz"
    if depth is not None:
        checked_count(depth, "depth")
    elif saves_policy:
        raise ArgumentError(
            f"expected a depth to save a policy to {str(output)!r}: add --depth, or save the prior "
            "to a text file"
        )
    if output is not None:
        check_writable(output)  # fail before the work, not after it
    environment = make_env(env, option or [])
    reader = state_reader(state, environment)
    with progress_bar("steps") as progress:
        discovery = discover(
            environment,
            max_length=max_length,
            states=states,
            tolerance=tolerance,
            usually=usually,
            budget=budget,
            minutes=minutes,
            state=reader,
            names=parse_names(names),
            seed=seed,
            resume=load_record(output),
            progress=progress,
        )
    more = ""
    if output is None and not discovery.finished:
        output = default_output(env)
        more = f" with -o {output}"
    rows = map(_row, discovery.evidence)
    out.print(make_table(COLUMNS, rows, title=f"discovered in {env}", right=COLUMNS[1:4]))
    _print_notes(discovery, sticky_note(env, option or []))
    result: Equivalences | ExplorationPolicy = discovery.equivalences
    if depth is not None:
        policy = _compile_deepest(discovery.equivalences, depth)
        result = policy if saves_policy else result
    if output is not None:
        _save(result, output)
    keep_record(discovery, output, more)


def _compile_deepest(omega: Equivalences, depth: int) -> ExplorationPolicy:
    """Compile a prior to a depth, or to the deepest one that fits, and print a summary."""
    with listening() as watch, spinner(watch):
        deepest = deepest_that_fits(omega, depth)
        policy, times = timed_compile(omega, deepest)
    if deepest < depth:
        print_line(f"- depth {depth} does not fit in memory: compiled to depth {deepest} instead")
    out.print(summary_table(policy, *times))
    warn_of_unused_actions(policy)
    return policy


def _save(result: Equivalences | ExplorationPolicy, output: Path) -> None:
    result.save(output)
    print_line(f"saved to {output}")


def _row(check: RelationCheck) -> list[str | Text]:
    *cells, verdict = check.cells()
    return [*cells, Text(verdict, style=STYLES[verdict])]


def _print_notes(result: Verification | Discovery, more_notes: Sequence[str]) -> None:
    steps = f"{result.env_steps:,} steps in the environment"
    print_notes([*result.notes, *more_notes, steps])


def _save_counterexamples(checks: Sequence[RelationCheck], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for i, check in enumerate(checks, start=1):
        for j, example in enumerate(check.counterexamples, start=1):
            if example.pictures is not None and not isinstance(example.pictures[0], str):
                path = example.save(folder / f"relation-{i}-{j}.png", title=str(check))
                print_line(f"picture saved to {path}")
