"""Environments and state readers from command-line options."""

import ast
import difflib
import importlib
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import gymnasium as gym

from easee.envs.atari import PLAYER, STICKY_OPTION
from easee.envs.minigrid import is_minigrid
from easee.errors import ArgumentError, EaseeError, MissingExtraError
from easee.probing.state_functions import resolve_state
from easee.probing.state_keys import AnyState

# Prefix of environment ids: the package that registers them and the extra that installs it.
PACKAGES = {
    "easee/": ("easee.envs", ""),
    "MiniGrid-": ("minigrid", "minigrid"),
    "BabyAI-": ("minigrid", "minigrid"),
    "ALE/": ("ale_py", "atari"),
}


def make_env(name: str, options: Iterable[str] = (), *, render: bool = False) -> gym.Env[Any, Any]:
    """Make an environment from its id and NAME=VALUE options, without sticky actions by default."""
    for prefix, (package, extra) in PACKAGES.items():
        if name.startswith(prefix):
            _register(package, extra)
    package, colon, env_id = name.rpartition(":")
    if package:
        _register(package, "")
    elif colon or name not in gym.registry:
        matches = difflib.get_close_matches(name, gym.registry, n=1)
        hint = f"did you mean {matches[0]!r}? " if matches else ""
        raise ArgumentError(
            f"no environment is registered as {name!r}: {hint}PACKAGE:ID imports a package that "
            "registers its own"
        )
    pairs = parse_pairs(options, "--option")
    arguments = {key: _parse_literal(value) for key, value in pairs.items()}
    if env_id.startswith("ALE/"):
        arguments.setdefault(STICKY_OPTION, 0.0)
    if render:
        arguments.setdefault("render_mode", "rgb_array")
    try:
        env = gym.make(name, **arguments)
        if render:  # fail before the work, not after it
            env.reset(seed=0)
            env.render()
        return env
    except EaseeError:
        raise
    except Exception as error:  # the environment's own code may raise anything
        raise ArgumentError(f"{name} cannot be made with {arguments}: {error}") from None


def _register(package: str, extra: str) -> None:
    try:
        module = importlib.import_module(package)
    except ImportError:
        if not extra:
            raise ArgumentError(f"no package named {package!r} can be imported") from None
        raise MissingExtraError(package.replace("_", "-"), extra) from None
    gym.register_envs(module)


def register_known() -> None:
    """Register the environments of all packages in `PACKAGES` that are installed."""
    for package, extra in set(PACKAGES.values()):
        with suppress(MissingExtraError):
            _register(package, extra)


def sticky_note(name: str, options: Iterable[str]) -> list[str]:
    """Return a note if `make_env` turned sticky actions off, else an empty list."""
    atari = name.rpartition(":")[2].startswith("ALE/")
    off = atari and not any(option.startswith(STICKY_OPTION) for option in options)
    note = f"sticky actions, which break every equivalence, were turned off ({STICKY_OPTION}=0)"
    return [note] if off else []


def parse_pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    """Return NAME=VALUE texts as a dictionary.

    >>> parse_pairs(["open=toggle"], "--rename")
    {'open': 'toggle'}
    """
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ArgumentError(f"expected {option} NAME=VALUE, found {text!r}")
        pairs[name] = value
    return pairs


def parse_names(text: str | None) -> list[str] | None:
    """Return the names of a list such as left,down,right,up.

    >>> parse_names("left, down")
    ['left', 'down']
    """
    return None if text is None else [name.strip() for name in text.split(",")]


def _parse_literal(text: str) -> Any:
    """Return the value of a Python literal, of true, false or none, or the text itself."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def state_reader(text: str, env: gym.Env[Any, Any]) -> AnyState:
    """Return the `state` argument of `verify` and `discover` for a value of `--state`."""
    if text == "auto":
        player = PLAYER.get(str(getattr(env.unwrapped, "_game", "")))
        addresses = ",".join(map(str, player or ()))
        text = "minigrid" if is_minigrid(env) else f"ram:{addresses}" if player else "observation"
    return resolve_state(env, text) or "observation"
