"""Does an explorer fit an environment? Made to fit where it can be, refused where it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymnasium import spaces

from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers.base import BaseExplorer
from easee.explorers.easee import Explorer
from easee.policy import ExplorationPolicy

METHODS = ("sample", "choose", "step", "reset", "n_actions", "n_envs")


def fitted(
    explorer: ExplorationPolicy | BaseExplorer,
    *,
    n_envs: int,
    n_actions: int,
    names: Sequence[str] | None = None,
    seed: int | None = None,
) -> BaseExplorer:
    """Return an explorer for so many environments with these actions.

    Args:
        explorer: a policy, which gets an explorer, or anything with an explorer's methods.
        n_envs: how many environments there are.
        n_actions: how many actions they have.
        names: what they call them, if they do.
        seed: of the explorer that a policy gets.

    Raises:
        ArgumentError: its actions or its number of environments are not these.
    """
    if isinstance(explorer, ExplorationPolicy):
        check_actions(explorer.graph.actions, n_actions, names)
        return Explorer(explorer, n_envs, seed)
    missing = [name for name in METHODS if not hasattr(explorer, name)]
    if missing:
        raise ArgumentTypeError(
            "expected an ExplorationPolicy or an explorer (with the methods of easee.Explorer), "
            f"found {type(explorer).__name__}, which has no {', '.join(missing)}"
        )
    policy = getattr(explorer, "policy", None)
    ours: Sequence[str] | int = int(explorer.n_actions)
    if isinstance(policy, ExplorationPolicy):
        ours = policy.graph.actions
    check_actions(ours, n_actions, names)
    if explorer.n_envs != n_envs:
        raise ArgumentError(
            f"the explorer is for {explorer.n_envs} environments, found {n_envs}: give the policy "
            "instead, and every environment starts at the empty word"
        )
    return explorer


def check_actions(ours: Sequence[str] | int, n_actions: int, theirs: Sequence[str] | None) -> None:
    """Raise an error that shows both lists if actions differ in number or in order."""
    count = ours if isinstance(ours, int) else len(ours)
    if count != n_actions:
        raise ArgumentError(
            f"the explorer's actions do not fit the environment's: the explorer has {count} "
            f"({_listed(ours)}), the environment {n_actions} ({_listed(theirs or n_actions)})"
        )
    if isinstance(ours, int) or theirs is None:
        return
    # Names may be spelled differently or be missing, but one that both know is the same action.
    place = {name.lower(): i for i, name in enumerate(theirs)}
    wrong = [name for i, name in enumerate(ours) if place.get(name.lower(), i) != i]
    if wrong:
        raise ArgumentError(
            f"the explorer's actions are not in the environment's order: the explorer has "
            f"{_listed(ours)}, the environment {_listed(theirs)}. An action is known by its "
            f"number: write the prior as Equivalences({list(theirs)!r}, ...)"
        )


def check_space(space: spaces.Space[Any]) -> None:
    """Raise an error that says what to do about actions that cannot be listed."""
    if isinstance(space, spaces.Discrete):
        if space.start != 0:
            raise ArgumentTypeError(
                f"expected actions from 0 on, found {space}: count them from 0 with "
                f"gymnasium.wrappers.TransformAction(env, lambda action: action + {space.start}, "
                f"gymnasium.spaces.Discrete({space.n}))"
            )
        return
    way_out = "a prior speaks of a list of actions: choose some values and offer those instead"
    if isinstance(space, spaces.MultiDiscrete):
        way_out = "wrap it in easee.envs.FlatActions(env), which lists and names all combinations"
    raise ArgumentTypeError(
        f"expected an environment with Discrete actions, found {space}: {way_out}"
    )


def _listed(actions: Sequence[str] | int) -> str:
    return ", ".join(map(str, range(actions) if isinstance(actions, int) else actions))
