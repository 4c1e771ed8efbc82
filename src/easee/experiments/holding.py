"""How often do the paper's priors hold? Every relation of every prior on its real environment.

In the Atari games other things move too, so two words of different lengths never leave the same
screen. There the player's own position is compared as well, read from the game's memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym

from easee import priors
from easee.envs import register
from easee.experiments.pictures import COLOURS, bare
from easee.experiments.runs import Figure, Measured, Row, Run
from easee.plotting import pyplot, save
from easee.probing.comparing import interval
from easee.probing.keys import PLAYER, StateOf, minigrid_state, ram_state
from easee.verification import verify

STATES = 300
ARMS: dict[str, dict[str, Any]] = {
    "CardinalGrid": {"prior": "cardinal-grid"},
    "RotationGrid": {"prior": "rotation-grid-complete"},
    "DoorKey, OPEN only opens": {"prior": "doorkey"},
    "DoorKey, stock MiniGrid": {"prior": "doorkey", "rename": {"open": "toggle"}},
    "Catcher": {"prior": "catcher"},
    **{
        f"{game.capitalize()}, {what}": {"prior": game, "game": game, "position": position}
        for game in PLAYER
        for what, position in (("screen", False), ("player's position", True))
    },
}


def runs(seeds: int) -> list[Run]:
    """Return one run for each environment."""
    return [Run(name, seed, settings) for name, settings in ARMS.items() for seed in range(seeds)]


def measure(run: Run) -> Measured:
    """Verify a prior in states as random actions meet them; return trials and violations."""
    env, state = make_env(run.arm, run.settings)
    found = verify(
        env,
        priors.get(run.settings["prior"]),
        states=STATES,
        state=state,
        seed=run.seed,
        eventful=0.0,
        rename=run.settings.get("rename"),
    )
    rows = []
    for i, check in enumerate(found.relations):
        rows += [(i, f"{check}: trials", float(check.trials))]
        rows += [(i, f"{check}: violations", float(check.violations))]
    return rows


def make_env(arm: str, settings: Any) -> tuple[gym.Env[Any, Any], StateOf | None]:
    """Return the environment of an arm, and what reads its state."""
    register()
    if "game" in settings:
        from easee.envs.atari import single

        reader = ram_state(*PLAYER[settings["game"]]) if settings["position"] else None
        return single(settings["game"]), reader
    if arm == "DoorKey, stock MiniGrid":
        return gym.make("minigrid:MiniGrid-DoorKey-16x16-v0"), minigrid_state
    return gym.make(f"easee/{arm.partition(',')[0]}-v0"), None


def checks(rows: list[Row]) -> dict[tuple[str, str], tuple[int, int]]:
    """Return by arm and relation how many trials and violations there were."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        relation, _, what = row.metric.rpartition(": ")
        counts = found.setdefault((row.arm, relation), {"trials": 0, "violations": 0})
        counts[what] += int(row.value)
    return {key: (counts["trials"], counts["violations"]) for key, counts in found.items()}


def table(rows: list[Row]) -> list[list[str]]:
    """Return a line for every relation in every environment."""
    lines = [["environment", "relation", "trials", "holds in [95%]"]]
    for (arm, relation), (trials, violations) in checks(rows).items():
        low, high = interval(violations, trials)
        share = f"{1 - violations / trials:.1%} [{1 - high:.1%}, {1 - low:.1%}]"
        lines.append([arm, relation, str(trials), share])
    return lines


def plot(rows: list[Row], folder: Path) -> list[Path]:
    """Draw how often each relation holds as a bar."""
    found = checks(rows)
    plt = pyplot()
    height = 0.24 * len(found) + 1
    figure, axes = plt.subplots(figsize=(9, height), layout="constrained")
    arms = list(dict.fromkeys(arm for arm, _ in found))
    for i, ((arm, _), (trials, violations)) in enumerate(found.items()):
        low, high = interval(violations, trials)
        held = 1 - violations / trials
        error = [[held - (1 - high)], [(1 - low) - held]]
        colour = COLOURS[arms.index(arm) % len(COLOURS)]
        axes.barh(i, held, xerr=error, color=colour, height=0.7, error_kw={"linewidth": 0.8})
    axes.set_yticks(
        range(len(found)), [f"{arm}:  {relation}" for arm, relation in found], fontsize=8
    )
    axes.invert_yaxis()
    axes.set_xlim(0, 1.02)
    axes.set_xlabel("share of states in which the relation holds")
    axes.margins(y=0.01)
    bare(axes)
    return [save(figure, folder / "holding.png")]


FIGURE = Figure(
    name="holding",
    title="how often the relations of the paper's priors hold",
    runs=runs,
    seeds=1,
    measure=measure,
    plot=plot,
    table=table,
    config={"states": STATES},
)
