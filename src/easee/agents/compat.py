"""Checks that an explorer fits an environment's actions and number of environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gymnasium import spaces

from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers.base import BaseExplorer
from easee.explorers.easee import Explorer
from easee.policy import ExplorationPolicy
from easee.priors.equivalences import Equivalences

METHODS = ("sample", "choose", "step", "reset", "n_actions", "n_envs")


def fit_explorer(
    explorer: ExplorationPolicy | BaseExplorer,
    *,
    n_envs: int,
    n_actions: int,
    names: Sequence[str] | None = None,
    seed: int | None = None,
) -> BaseExplorer:
    """Return an explorer that fits the environments.

    Args:
        explorer: policy to make an explorer from, or an object with an explorer's methods, which
            is checked and returned.
        n_envs: number of environments.
        n_actions: number of actions.
        names: names of the actions, if the environments have any.
        seed: random seed of the explorer made from a policy.

    Raises:
        ArgumentError: the actions or the number of environments differ.
    """
    if isinstance(explorer, ExplorationPolicy):
        check_actions(explorer.graph.actions, n_actions, names)
        return Explorer(explorer, n_envs, seed)
    check_compiled(explorer)
    missing = [name for name in METHODS if not hasattr(explorer, name)]
    if missing:
        raise ArgumentTypeError(
            "expected an ExplorationPolicy or an explorer (with the methods of easee.Explorer), "
            f"found {type(explorer).__name__}, which has no {', '.join(missing)}"
        )
    policy = getattr(explorer, "policy", None)
    if isinstance(policy, ExplorationPolicy):
        check_actions(policy.graph.actions, n_actions, names)
    else:
        check_actions(int(explorer.n_actions), n_actions, names)
    if explorer.n_envs != n_envs:
        raise ArgumentError(
            f"the explorer is for {explorer.n_envs} environments, found {n_envs}: pass the policy "
            "instead to start every environment at the empty word"
        )
    return explorer


def check_scalar(explorer: object) -> None:
    """Check that an explorer has `choose_one` and `step_one`, as easee's explorers do."""
    if not isinstance(explorer, BaseExplorer):
        raise ArgumentTypeError(
            "expected an ExplorationPolicy or one of easee's explorers, "
            f"found {type(explorer).__name__}"
        )


def check_compiled(explorer: object) -> None:
    """Raise an error that shows how to compile a prior if one is given instead of a policy."""
    if isinstance(explorer, Equivalences):
        raise ArgumentTypeError(
            "expected an ExplorationPolicy or an explorer, found Equivalences: compile them first, "
            "e.g. easee.compile(omega, depth=6)"
        )


def check_actions(
    actions: Sequence[str] | int, n_actions: int, names: Sequence[str] | None
) -> None:
    """Check an explorer's actions (or their number) against those of the environment."""
    count = actions if isinstance(actions, int) else len(actions)
    if count != n_actions:
        raise ArgumentError(
            f"the explorer's actions do not fit the environment's: the explorer has {count} "
            f"({_listed(actions)}), the environment {n_actions} ({_listed(names or n_actions)})"
        )
    if isinstance(actions, int) or names is None:
        return
    # Spellings may differ, but a name that both lists have must be the same action.
    index = {name.lower(): i for i, name in enumerate(names)}
    if any(index.get(name.lower(), i) != i for i, name in enumerate(actions)):
        raise ArgumentError(
            f"the explorer's actions are not in the environment's order: the explorer has "
            f"{_listed(actions)}, the environment {_listed(names)}. Actions are identified by "
            f"their number: write the prior as Equivalences({list(names)!r}, ...)"
        )


def check_space(space: spaces.Space[Any]) -> None:
    """Check that the actions are discrete and numbered from 0."""
    if isinstance(space, spaces.Discrete):
        if space.start != 0:
            raise ArgumentTypeError(
                f"expected actions numbered from 0, found {space}: shift them with "
                f"gymnasium.wrappers.TransformAction(env, lambda action: action + {space.start}, "
                f"gymnasium.spaces.Discrete({space.n}))"
            )
        return
    way_out = "a prior needs a finite list of actions: discretise them first"
    if isinstance(space, spaces.MultiDiscrete):
        way_out = "wrap it in easee.envs.FlatActions(env), which lists and names all combinations"
    raise ArgumentTypeError(
        f"expected an environment with Discrete actions, found {space}: {way_out}"
    )


def _listed(actions: Sequence[str] | int) -> str:
    return ", ".join(map(str, range(actions) if isinstance(actions, int) else actions))
