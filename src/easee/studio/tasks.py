"""The tasks of worker processes, by name. Their arguments come from a page, as JSON."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from easee._utils.checks import nearest
from easee.errors import ArgumentError
from easee.probing.probe import Progress
from easee.studio.compilation import compile_prior, forecast
from easee.studio.export import figure, policy_file
from easee.studio.probing import discover_prior, list_environments, tune_prior, verify_prior
from easee.studio.race import race
from easee.studio.walking import describe_node, sample_walk

TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "compile": compile_prior,
    "growth": forecast,
    "node": describe_node,
    "walk": sample_walk,
    "race": race,
    "policy-file": policy_file,
    "figure": figure,
    "environments": list_environments,
    "verify": verify_prior,
    "discover": discover_prior,
    "tune": tune_prior,
}
# These count their steps, can be interrupted between two of them, and keep what they found.
INTERRUPTIBLE = ("verify", "discover", "tune")


def check_arguments(kind: object, arguments: Mapping[str, Any]) -> str:
    """Return the name of a task if there is one that takes these arguments.

    >>> check_arguments("growth", {"txt": ""})
    Traceback (most recent call last):
    easee.errors.ArgumentError: growth takes text, found txt
    """
    if not isinstance(kind, str) or kind not in TASKS:
        raise ArgumentError(f"unknown task {kind!r}: {nearest(str(kind), TASKS)}")
    parameters = inspect.signature(TASKS[kind]).parameters.values()
    known = [p.name for p in parameters if p.name != "progress"]
    needed = [p.name for p in parameters if p.default is p.empty]
    if not set(needed) <= set(arguments) <= set(known):
        found = ", ".join(arguments) or "nothing"
        raise ArgumentError(f"{kind} takes {', '.join(known) or 'nothing'}, found {found}")
    return kind


def perform(kind: str, arguments: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Do a task. If it takes steps in an environment, it reports how many."""
    more = {"progress": progress} if kind in INTERRUPTIBLE else {}
    return TASKS[kind](**arguments, **more)
