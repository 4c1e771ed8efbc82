"""Accuracy of the paper's priors: how often each relation holds in the real environment.

In the Atari games other objects move too, so two words of different lengths never lead to the same
screen. There the player's position is compared as well, read from the game's memory.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import gymnasium as gym

from easee import priors
from easee.envs import register
from easee.envs.atari import PLAYER, ram_state
from easee.envs.minigrid import minigrid_state
from easee.experiments.harness.backends import one_by_one
from easee.experiments.harness.figure import Figure, Measured, Row, Run, runs_of
from easee.experiments.harness.plots import add_legend, beside, points
from easee.experiments.harness.rows import group
from easee.experiments.harness.statistics import Estimate, cell
from easee.probing.significance import interval
from easee.probing.state_keys import StateOf
from easee.probing.verify import verify
from easee.viz.files import subplots
from easee.viz.style import SMALL, WIDTH, Look

STATES = 300
LOOKS = {  # what is compared, by the end of an arm's name
    "screen": Look("same screen", "#8a6d1b", marker="s"),
    "player's position": Look("same position of the player", "#7a3e9d", marker="D"),
    "": Look("same state", "#000000"),
}
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


def measure(run: Run) -> Measured:
    """Verify a prior in states that random actions reach; return trials and violations."""
    env, state = make_env(run.arm, run.settings)
    prior, rename = priors.get(run.settings["prior"]), run.settings.get("rename")
    options: dict[str, Any] = {"states": STATES, "state": state, "seed": run.seed, "eventful": 0.0}
    return [
        (i, f"{check}: {what}", float(getattr(check, what)))
        for i, check in enumerate(verify(env, prior, rename=rename, **options).relations)
        for what in ("trials", "violations")
    ]


def make_env(arm: str, settings: Any) -> tuple[gym.Env[Any, Any], StateOf | None]:
    """Return the environment of an arm, and the function that reads its state."""
    register()
    if "game" in settings:
        from easee.envs.atari import single

        reader = ram_state(*PLAYER[settings["game"]]) if settings["position"] else None
        return single(settings["game"]), reader
    if arm == "DoorKey, stock MiniGrid":
        return gym.make("minigrid:MiniGrid-DoorKey-16x16-v0"), minigrid_state
    return gym.make(f"easee/{arm.partition(',')[0]}-v0"), None


def shares(rows: list[Row]) -> dict[tuple[str, str], tuple[int, Estimate]]:
    """Return the number of trials and the share that held, by arm and relation."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        relation, _, what = row.metric.rpartition(": ")
        counts.setdefault((row.arm, relation), Counter())[what] += int(row.value)
    shares = {}
    for key, count in counts.items():
        trials, held = count["trials"], count["trials"] - count["violations"]
        shares[key] = trials, Estimate(held / trials, *interval(held, trials))
    return shares


def table(rows: list[Row]) -> list[list[str]]:
    """Return a line for every relation in every environment."""
    lines = [["environment", "relation", "trials", "holds in [95%]"]]
    for (arm, relation), (trials, share) in shares(rows).items():
        lines.append([arm, relation, str(trials), cell(share, ".1%")])
    return lines


def draw(rows: list[Row]) -> dict[str, Any]:
    """Draw how often each relation holds, environment by environment."""
    found = _without_perfect(shares(rows))
    places = _places(found)
    figure, axes = subplots(figsize=(WIDTH, 0.27 * len(places) + 1.5))
    for i, (reader, look) in enumerate(LOOKS.items()):
        chosen = [key for key in found if _split(key[0])[1] == reader]
        y: list[float] = [places[_split(arm)[0], relation] for arm, relation in chosen]
        if reader:  # the two readers of a game share its lines
            y = beside(y, i, 2, apart=0.3)
        if chosen:
            points(axes, y, [found[key] for key in chosen], look, across=True)
    names = [relation or env for env, relation in places]
    axes.set_yticks(range(len(names)), names, fontsize=SMALL)
    for text, (_, relation) in zip(axes.get_yticklabels(), places, strict=True):
        text.set_fontweight("normal" if relation else "bold")
    label = "share of states in which the relation holds, 95% intervals"
    axes.set(ylim=(len(names) - 0.3, -0.7), xlim=(-0.03, 1.03))
    axes.grid(axis="x", color="#dddddd", linewidth=0.8)
    figure.supxlabel(label)
    add_legend(figure, [axes], [look.name for look in LOOKS.values()])
    return {"holding": figure}


def _split(arm: str) -> tuple[str, str]:
    """Return the environment of an arm with its variant, and what is compared."""
    env, _, reader = arm.rpartition(", ")
    return (env, reader) if reader in LOOKS else (arm, "")


def _without_perfect(
    by_relation: Mapping[tuple[str, str], tuple[int, Estimate]],
) -> dict[tuple[str, str], Estimate]:
    """Return the shares, with one line for all relations of an arm if none of them ever failed."""
    found: dict[tuple[str, str], Estimate] = {}
    for arm, keys in group(by_relation, lambda key: key[0]).items():
        trials = sum(by_relation[key][0] for key in keys)
        if len(keys) > 1 and all(by_relation[key][1].value == 1.0 for key in keys):
            found[f"{arm}: all {len(keys)} relations", ""] = Estimate(
                1.0, *interval(trials, trials)
            )
        else:
            found |= {key: by_relation[key][1] for key in keys}
    return found


def _places(keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return the line of each environment's name, with an empty relation, and of its relations."""
    by_env: dict[str, dict[str, None]] = {}
    for arm, relation in keys:
        by_env.setdefault(_split(arm)[0], {})[relation] = None
    names = [
        (env, relation) for env, relations in by_env.items() for relation in {"": None} | relations
    ]
    return {name: i for i, name in enumerate(names)}


FIGURE = Figure(
    name="holding",
    title="how often the relations of the paper's priors hold",
    runs=runs_of(ARMS),
    seeds=1,
    backends=one_by_one(measure),
    draw=draw,
    table=table,
    config={"states": STATES},
)
