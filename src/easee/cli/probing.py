"""`easee verify` and `easee discover`: the equivalences of an environment."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from easee._utils.checks import checked_share
from easee._utils.files import check_writable
from easee.cli.console import make_table, out, print_line, progress_bar
from easee.cli.environments import make_env, parse_pairs, state_reader, sticky_note
from easee.cli.priors import Prior, load_prior
from easee.probing.discover import Discovery, discover
from easee.probing.evidence import RelationCheck
from easee.probing.verify import Verification, verify

COLUMNS = ("relation", "trials", "violations", "rate [95%]")
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
        help="State to compare: observation; minigrid, the full MiniGrid state; ram or ram:14,16, "
        "all or some bytes of an Atari game's memory; auto, which is minigrid for MiniGrid, the "
        "player's position for Freeway, Boxing and Carnival, and observation otherwise.",
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
    option: EnvOptions = None,
    pictures: Annotated[
        Path | None, typer.Option(help="Save pictures of counterexamples to this folder.")
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(help="Exit with status 1 if a relation fails in a larger share of states."),
    ] = None,
) -> None:
    """Check which relations of a prior hold in an environment."""
    omega = load_prior(prior)
    if tolerance is not None:
        checked_share(tolerance, "tolerance")
    if pictures is not None:
        check_writable(pictures / "picture.png")  # fail before the work, not after it
    environment = make_env(env, option or [], render=pictures is not None)
    renames = parse_pairs(rename or [], "--rename")
    reader = state_reader(state, environment)
    with progress_bar("relations") as progress:
        verification = verify(
            environment,
            omega,
            states=states,
            state=reader,
            seed=seed,
            rename=renames,
            progress=progress,
        )
    checks = verification.relations
    rows = [[*_row(check), "BROKEN" if check.violations else "holds"] for check in checks]
    columns = [*COLUMNS, ""]
    out.print(make_table(columns, rows, title=f"{prior} in {env}", right=COLUMNS[1:]))
    _print_notes(verification, sticky_note(env, option or []))
    if pictures is not None:
        _save_counterexamples(checks, pictures)
    if tolerance is not None and any(check.rate > tolerance for check in checks):
        raise typer.Exit(1)


def discover_command(
    env: EnvId,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save the prior to this text file.")
    ] = None,
    max_length: Annotated[int, typer.Option(help="Maximum length of the words to test.")] = 4,
    states: States = 200,
    tolerance: Annotated[
        float, typer.Option(help="Share of states in which a relation may fail.")
    ] = 0.0,
    budget: Annotated[int, typer.Option(help="Maximum number of environment steps.")] = 1_000_000,
    state: StateName = "auto",
    seed: Seed = 0,
    option: EnvOptions = None,
) -> None:
    """Find the equivalences of an environment."""
    if output is not None:
        check_writable(output)  # fail before the work, not after it
    environment = make_env(env, option or [])
    reader = state_reader(state, environment)
    with progress_bar("words") as progress:
        discovery = discover(
            environment,
            max_length=max_length,
            states=states,
            tolerance=tolerance,
            budget=budget,
            state=reader,
            seed=seed,
            progress=progress,
        )
    rows = map(_row, discovery.evidence)
    out.print(make_table(COLUMNS, rows, title=f"discovered in {env}", right=COLUMNS[1:]))
    _print_notes(discovery, sticky_note(env, option or []))
    if output is not None:
        discovery.equivalences.save(output)
        print_line(f"saved to {output}")


def _row(check: RelationCheck) -> list[str]:
    low, high = check.interval
    rate = f"{check.rate:.3f} [{low:.3f}, {high:.3f}]"
    return [str(check), f"{check.trials:,}", f"{check.violations:,}", rate]


def _print_notes(result: Verification | Discovery, more_notes: Sequence[str]) -> None:
    steps = f"{result.env_steps:,} steps in the environment"
    for note in (*result.notes, *more_notes, steps):
        print_line(f"- {note}")


def _save_counterexamples(checks: Sequence[RelationCheck], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for i, check in enumerate(checks, start=1):
        for j, example in enumerate(check.counterexamples, start=1):
            if example.pictures is not None and not isinstance(example.pictures[0], str):
                path = example.save(folder / f"relation-{i}-{j}.png", title=str(check))
                print_line(f"picture saved to {path}")
