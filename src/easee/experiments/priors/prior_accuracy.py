"""How often do the paper's priors hold? Every relation of every prior on its real environment.

In the Atari games other things move too, so two words of different lengths never leave the same
screen. There the player's own position is compared as well, read from the game's memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import gymnasium as gym

from easee import priors
from easee.envs import register
from easee.envs.atari import PLAYER, ram_state
from easee.envs.minigrid import minigrid_state
from easee.experiments.harness.figure import Figure, Measured, Row, Run
from easee.experiments.harness.plots import COLOURS, bare
from easee.probing.significance import interval
from easee.probing.state_keys import StateOf
from easee.probing.verify import verify
from easee.viz.files import pyplot, save

STATES = 300
BESIDE = 0.17  # of a line, between two ways to compare
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
    """Draw how often each relation holds, environment by environment."""
    found = checks(rows)
    places = _places(found)
    plt = pyplot()
    height = 0.2 * len(places) + 1.4
    figure, axes = plt.subplots(figsize=(9, height), layout="constrained")
    for i, kind in enumerate(dict.fromkeys(_split(arm)[1] for arm, _ in found)):
        chosen = {key: counts for key, counts in found.items() if _split(key[0])[1] == kind}
        beside = (-BESIDE, BESIDE)[i % 2] if kind else 0.0  # there are two of a kind
        lines = [places[_split(arm)[0], relation] + beside for arm, relation in chosen]
        label = kind or "observations, which are the state"
        _draw(axes, lines, list(chosen.values()), color=COLOURS[i], label=label)
    names = [relation or env for env, relation in places]
    axes.set_yticks(range(len(names)), names, fontsize=8)
    for text, (_, relation) in zip(axes.get_yticklabels(), places, strict=True):
        text.set_fontweight("normal" if relation else "bold")
    axes.set_ylim(len(names) - 0.3, -0.7)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("share of states in which the relation holds, 95% intervals")
    axes.set_title("How often the relations of the paper's priors hold")
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.legend(frameon=False, fontsize=9, loc="center", bbox_to_anchor=(0.5, 0.8))
    bare(axes)
    return [save(figure, folder / "holding.png")]


def _split(arm: str) -> tuple[str, str]:
    """Return the environment of an arm, and what is special about it."""
    env, _, kind = arm.partition(", ")
    return env, kind


def _places(found: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return the line of every environment's name, with an empty relation, and of its relations."""
    by_env: dict[str, dict[str, None]] = {}
    for arm, relation in found:
        by_env.setdefault(_split(arm)[0], {})[relation] = None
    lines = [(env, relation) for env, names in by_env.items() for relation in ("", *names)]
    return {line: i for i, line in enumerate(lines)}


def _draw(axes: Any, lines: list[float], counts: list[tuple[int, int]], **style: Any) -> None:
    """Draw the share of trials without a violation on each line, with its interval."""
    held = [1 - violations / trials for trials, violations in counts]
    limits = [interval(violations, trials) for trials, violations in counts]
    below = [x - (1 - high) for x, (_, high) in zip(held, limits, strict=True)]
    above = [(1 - low) - x for x, (low, _) in zip(held, limits, strict=True)]
    axes.errorbar(held, lines, xerr=[below, above], fmt="o", markersize=5, linewidth=1.4, **style)


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
