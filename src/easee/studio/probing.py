"""Checks against an environment: verify, discover and tune, with results as JSON."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from easee.errors import ArgumentError, EaseeError
from easee.probing.discover import Discovery, discover
from easee.probing.environments import (
    make_env,
    parse_pairs,
    register_known,
    state_reader,
    sticky_note,
)
from easee.probing.evidence import Counterexample, RelationCheck
from easee.probing.probe import Progress
from easee.probing.tune import tune
from easee.probing.tuning import COLUMNS
from easee.probing.verify import verify
from easee.studio.limits import MAX_DEPTH, checked_between
from easee.studio.png import data_url
from easee.studio.prior_text import read_prior

# These load another environment by a name that may import any module, so they are refused.
_WRAPPERS = ("GymV21Environment-v0", "GymV26Environment-v0")
_NUMBER = re.compile(r"-?\d+(\.\d+)?|true|false|none", re.IGNORECASE)
_STATE = re.compile(
    r"auto|minigrid|(observation|ram)(:[\d,]+)?|(round|cells):[\d.]+(:[\d,]+)?|attribute:[a-z]\w*",
    re.IGNORECASE,
)

Json = dict[str, Any]


def list_environments() -> Json:
    """Return the ids of all environments that are registered, those of our own first."""
    register_known()
    ids = [name for name in gym.registry if name not in _WRAPPERS]
    return {"ids": sorted(ids, key=lambda name: (not name.startswith("easee/"), name.lower()))}


def verify_prior(
    text: str,
    env: str,
    *,
    states: int = 200,
    state: str = "auto",
    rename: str = "",
    options: str = "",
    seed: int = 0,
    progress: Progress | None = None,
) -> Json:
    """Check each relation of a prior in an environment."""
    omega = read_prior(text)
    states = checked_between(states, "states", 5, 2_000)
    environment = _make(env, options, render=True)
    found = verify(
        environment,
        omega,
        states=states,
        state=state_reader(_checked_state(state), environment),
        rename=parse_pairs(_parts(rename), "rename"),
        seed=checked_between(seed, "seed", 0, 2**31),
        progress=progress,
    )
    return {
        "env": env,
        "relations": [check_values(check) for check in found.relations],
        "holds": found.holds,
        "random": found.random,
        "notes": _notes(found.notes, found.env_steps, env, options),
        "measured": str(found.equivalences),
    }


def discover_prior(
    env: str,
    *,
    max_length: int = 4,
    states: int = 200,
    usually: float = 0.0,
    budget: int = 1_000_000,
    state: str = "auto",
    options: str = "",
    seed: int = 0,
    progress: Progress | None = None,
) -> Json:
    """Find the relations of an environment; if it is interrupted, those found so far."""
    environment = _make(env, options)
    found: Discovery = discover(
        environment,
        max_length=checked_between(max_length, "max_length", 1, 8),
        states=checked_between(states, "states", 5, 2_000),
        usually=usually,
        budget=checked_between(budget, "budget", 1, 20_000_000),
        state=state_reader(_checked_state(state), environment),
        seed=checked_between(seed, "seed", 0, 2**31),
        progress=progress,
    )
    return {
        "env": env,
        "relations": [check_values(check) for check in found.evidence],
        "finished": found.finished,
        "notes": _notes(found.notes, found.env_steps, env, options),
        "prior": str(found.equivalences),
    }


def tune_prior(
    text: str,
    env: str,
    *,
    steps: int = 100_000,
    state: str = "auto",
    options: str = "",
    seed: int = 0,
    progress: Progress | None = None,
) -> Json:
    """Measure how many states each depth of a prior sees in an environment."""
    omega = read_prior(text)
    environment = _make(env, options)
    found = tune(
        environment,
        omega,
        steps=checked_between(steps, "steps", 1_000, 5_000_000),
        state=state_reader(_checked_state(state), environment),
        seed=checked_between(seed, "seed", 0, 2**31),
        max_nodes=20_000,
        progress=progress,
    )
    return {
        "env": env,
        "columns": list(COLUMNS),
        "rows": found.rows(),
        "depth": found.depth if found.depth is None else min(found.depth, MAX_DEPTH),
        "reason": found.reason,
        "notes": _notes(found.notes, found.env_steps, env, options),
        "measurements": [
            {"name": m.name, "depth": m.depth, "mean": m.mean, "interval": list(m.interval)}
            for m in found.measurements
        ],
    }


def _make(env: object, options: str, *, render: bool = False) -> gym.Env[Any, Any]:
    """Make an environment that is registered; nothing is imported because a page says so."""
    if not isinstance(env, str) or ":" in env or env in _WRAPPERS:
        raise ArgumentError(
            f"expected the id of a registered environment, found {env!r}: to use those of another "
            "package, start the studio with --import PACKAGE, and leave the package out here"
        )
    parts = _parts(options)
    for name, value in parse_pairs(parts, "options").items():
        if not _NUMBER.fullmatch(value.strip()):
            raise ArgumentError(
                f"expected options as numbers, true, false or none, found {name}={value}"
            )
    if render:
        try:
            return make_env(env, parts, render=True)
        except EaseeError:
            pass  # it has no pictures, or there is another error, which the next line raises
    return make_env(env, parts)


def _parts(text: object) -> list[str]:
    """Return the parts of a list such as open=toggle, go=forward.

    >>> _parts("open=toggle, go=forward")
    ['open=toggle', 'go=forward']
    """
    if not isinstance(text, str):
        raise ArgumentError(f"expected NAME=VALUE, NAME=VALUE, found {text!r}")
    return [part for part in re.split(r"[\s,]+", text) if part]


def _checked_state(state: object) -> str:
    if not isinstance(state, str) or not _STATE.fullmatch(state):
        raise ArgumentError(
            "expected the state as auto, observation, observation:0,2, round:2, cells:0.5, "
            f"attribute:NAME, minigrid or ram:14,16, found {state!r}. A function of your own works "
            "with easee verify --state"
        )
    return state


def check_values(check: RelationCheck) -> Json:
    """Return the evidence for and against a relation as JSON."""
    low, high = check.interval
    return {
        "relation": str(check),
        "left": " ".join(check.left),
        "right": " ".join(check.right),
        "trials": check.trials,
        "violations": check.violations,
        "rate": check.rate,
        "interval": [low, high],
        "prior_rate": check.prior_rate,
        "verdict": check.verdict,
        "pictures": next((p for p in map(_pictures, check.counterexamples) if p), None),
    }


def _pictures(example: Counterexample) -> Mapping[str, Any] | None:
    """Return the three pictures of a counterexample, as images or as texts."""
    if example.pictures is None:
        observations = (example.start, example.left, example.right)
        texts = [str(observation) for observation in observations]
        return {"texts": texts} if max(map(len, texts)) < 2_000 else None
    if isinstance(example.pictures[0], str):
        return {"texts": list(example.pictures)}
    return {"images": [data_url(image) for image in example.pictures]}


def _notes(notes: Sequence[str], steps: int, env: str, options: str) -> list[str]:
    return [*notes, *sticky_note(env, _parts(options)), f"{steps:,} steps in the environment"]
