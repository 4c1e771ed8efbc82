"""From what is typed on the command line to environments and states, and from results to tables."""

from __future__ import annotations

import ast
import difflib
import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import gymnasium as gym
from rich.markup import escape
from rich.table import Table

from easee._utils.checks import nearest
from easee.envs.atari import PLAYER, ram_state
from easee.envs.atari import STICKY_OPTION as STICKY
from easee.envs.minigrid import minigrid_state
from easee.errors import ArgumentError, EaseeError, MissingExtraError
from easee.probing.discover import Discovery
from easee.probing.evidence import RelationCheck
from easee.probing.state_keys import StateOf
from easee.probing.verify import Verification

# Packages that register environments, by how their ids begin, with the extra that brings them.
HOMES = {
    "easee/": ("easee.envs", ""),
    "MiniGrid-": ("minigrid", "minigrid"),
    "BabyAI-": ("minigrid", "minigrid"),
    "ALE/": ("ale_py", "atari"),
}


def make_env(name: str, options: Iterable[str] = (), *, render: bool = False) -> gym.Env[Any, Any]:
    """Make a registered environment; Atari games without sticky actions unless asked for."""
    for start, (package, extra) in HOMES.items():
        if name.startswith(start):
            _register(package, extra)
    package, colon, plain = name.rpartition(":")
    if package:
        _register(package, "")
    elif colon or name not in gym.registry:
        close = difflib.get_close_matches(name, gym.registry, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ArgumentError(
            f"no environment is registered as {name!r}: {hint}PACKAGE:ID imports a package that "
            "registers its own"
        )
    chosen: dict[str, Any] = {
        key: _value(text) for key, text in pairs_of(options, "--option").items()
    }
    if plain.startswith("ALE/"):
        chosen.setdefault(STICKY, 0.0)
    if render:
        chosen.setdefault("render_mode", "rgb_array")
    try:
        return gym.make(name, **chosen)
    except EaseeError:
        raise
    except Exception as error:  # whatever its own code makes of the options
        raise ArgumentError(f"{name} cannot be made with {chosen}: {error}") from None


def _register(package: str, extra: str) -> None:
    try:
        module = importlib.import_module(package)
    except ImportError:
        if not extra:
            raise ArgumentError(f"no package named {package!r} can be imported") from None
        raise MissingExtraError(package.replace("_", "-"), extra) from None
    gym.register_envs(module)


def remark(name: str, options: Iterable[str]) -> list[str]:
    """Say what was set without being asked for."""
    atari = name.rpartition(":")[2].startswith("ALE/")
    if atari and not any(o.startswith(STICKY) for o in options):
        return [f"sticky actions, which break every equivalence, were turned off ({STICKY}=0)"]
    return []


def pairs_of(texts: Iterable[str], option: str) -> dict[str, str]:
    """Return NAME=VALUE texts as a dictionary.

    >>> pairs_of(["open=toggle"], "--rename")
    {'open': 'toggle'}
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ArgumentError(f"expected {option} NAME=VALUE, found {text!r}")
        found[name] = value
    return found


def _value(text: str) -> Any:
    """Return a number or another literal as such, anything else as text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def state_reader(name: str, env: gym.Env[Any, Any]) -> StateOf | None:
    """Return what reads the state; None where observations are compared."""
    world: Any = env.unwrapped
    minigrid = hasattr(world, "grid") and hasattr(world, "carrying")
    kind, _, places = name.partition(":")
    if kind == "auto":
        player = PLAYER.get(str(getattr(world, "_game", "")))
        kind = "minigrid" if minigrid else "ram" if player else "observation"
        places = ",".join(map(str, player or ()))
    if kind == "observation":
        return None
    if kind == "minigrid":
        if not minigrid:
            raise ArgumentError("--state minigrid is for MiniGrid's environments only")
        return minigrid_state
    if kind == "ram":
        if not hasattr(world, "ale"):
            raise ArgumentError("--state ram is for Atari games only")
        return ram_state(*_bytes(places))
    known = ("auto", "observation", "minigrid", "ram")
    raise ArgumentError(f"no state is named {name!r}: {nearest(kind, known)}")


def _bytes(text: str) -> list[int]:
    found = [place for place in text.split(",") if place]
    if not all(place.isdecimal() and int(place) < 128 for place in found):
        raise ArgumentError(f"expected bytes from 0 to 127 as ram:14,16, found {text!r}")
    return [int(place) for place in found]


def verification_table(found: Verification, title: str) -> Table:
    """Return one line for each relation."""
    table = _table(title, "violations")
    for check in found.relations:
        verdict = "BROKEN" if check.violations else "holds"
        table.add_row(escape(str(check)), *_counts(check), verdict)
    return table


def discovery_table(found: Discovery, title: str) -> Table:
    """Return one line for each relation."""
    table = _table(title, "violations")
    for evidence in found.evidence:
        table.add_row(escape(str(evidence)), *_counts(evidence), "")
    return table


def _table(title: str, what: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("relation")
    for column in ("trials", what, "rate [95%]"):
        table.add_column(column, justify="right")
    table.add_column("")
    return table


def _counts(check: RelationCheck) -> tuple[str, str, str]:
    low, high = check.interval
    rate = f"{check.rate:.3f} [{low:.3f}, {high:.3f}]"
    return f"{check.trials:,}", f"{check.violations:,}", rate


def save_counterexamples(found: Verification, folder: Path) -> list[Path]:
    """Write a picture of every counterexample."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        example.save(folder / f"relation-{i + 1}-{j + 1}.png", title=str(check))
        for i, check in enumerate(found.relations)
        for j, example in enumerate(check.counterexamples)
        if example.pictures is not None and not isinstance(example.pictures[0], str)
    ]
