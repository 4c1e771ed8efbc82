"""Checks that an explorer fits an environment's actions and number of environments."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from easee._utils.checks import excerpt
from easee.envs.action_names import logger, match_actions
from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers.base import BaseExplorer
from easee.explorers.easee import Explorer
from easee.explorers.sampling import Actions
from easee.policy import ExplorationPolicy
from easee.policy_text import AnyPolicy, read_policy
from easee.priors.equivalences import Equivalences

EXECUTED = "executed_action"  # entry of `info` with the action that a wrapper really executed
METHODS = ("sample", "choose", "step", "reset", "n_actions", "n_envs")


def fit_explorer(
    explorer: AnyPolicy | BaseExplorer,
    *,
    n_envs: int,
    n_actions: int,
    names: Sequence[str] | None = None,
    seed: int | None = None,
) -> BaseExplorer:
    """Return a new explorer with a policy and a random seed, or the given explorer if it fits.

    A policy may be a text, see `easee.read_policy`.

    Raises:
        ArgumentError: the actions, their names (if any) or the number of environments differ.
    """
    if isinstance(explorer, str | os.PathLike):
        explorer = read_policy(explorer)
    if isinstance(explorer, ExplorationPolicy):
        check_actions(explorer.graph.actions, n_actions, names)
        return Explorer(explorer, n_envs, seed)
    missing = [name for name in METHODS if not hasattr(explorer, name)]
    if missing:
        expected = (
            "an ExplorationPolicy, a string such as 'doorkey:6' or an explorer (with the methods "
            "of easee.Explorer)"
        )
        raise explorer_type_error(explorer, expected, f", which has no {', '.join(missing)}")
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


def fit_scalar_explorer(
    explorer: AnyPolicy | BaseExplorer,
    n_actions: int,
    names: Sequence[str] | None,
    seed: int,
) -> BaseExplorer:
    """Return an explorer that fits one environment and has `choose_one` and `step_one`."""
    fitted = fit_explorer(explorer, n_envs=1, n_actions=n_actions, names=names, seed=seed)
    if not isinstance(fitted, BaseExplorer):
        raise explorer_type_error(explorer, "an ExplorationPolicy or one of easee's explorers")
    return fitted


def explorer_type_error(explorer: object, expected: str, reason: str = "") -> ArgumentTypeError:
    """Return the error for an object of another type; shows how to compile a prior."""
    if isinstance(explorer, Equivalences):
        reason = ": compile them first, e.g. easee.compile(omega, depth=6)"
    return ArgumentTypeError(f"expected {expected}, found {type(explorer).__name__}{reason}")


def check_actions(
    actions: Sequence[str] | int, n_actions: int, names: Sequence[str] | None
) -> None:
    """Check an explorer's actions (or their number) against those of the environment.

    If the environment has no names, a warning of the logger "easee.names" says which action of the
    explorer has which number.
    """
    count = actions if isinstance(actions, int) else len(actions)
    if count != n_actions:
        raise ArgumentError(
            f"the explorer's actions do not fit the environment's: the explorer has {count} "
            f"({_listed(actions)}), the environment {n_actions} ({_listed(names or n_actions)})"
        )
    if isinstance(actions, int):
        return
    numbers, note = match_actions(actions, names, "the explorer")
    if note is not None:
        logger.warning(note)
    if numbers != list(range(n_actions)):
        raise ArgumentError(
            f"the explorer's actions are not in the environment's order: the explorer has "
            f"{_listed(actions)}, the environment {_listed(names or n_actions)}. Actions are "
            f"identified by their number: write the prior as "
            f"Equivalences({list(names or map(str, range(n_actions)))!r}, ...)"
        )


def check_space(space: spaces.Space[Any]) -> None:
    """Check that the actions are discrete and numbered from 0."""
    if not isinstance(space, spaces.Discrete):
        way_out = "a prior needs a finite list of actions: discretise them first"
        if isinstance(space, spaces.MultiDiscrete):
            way_out = "wrap it in easee.envs.FlatActions(env), which lists all combinations"
        raise ArgumentTypeError(
            f"expected an environment with Discrete actions, found {space}: {way_out}"
        )
    if space.start != 0:
        raise ArgumentTypeError(
            f"expected actions numbered from 0, found {space}: shift them with "
            f"gymnasium.wrappers.TransformAction(env, lambda action: action + {space.start}, "
            f"gymnasium.spaces.Discrete({space.n}))"
        )


def executed_action(value: Any, n_actions: int, env: int = 0) -> int:
    """Return the action that `info["executed_action"]` reports.

    >>> executed_action(1.7, n_actions=3)
    Traceback (most recent call last):
    easee.errors.ArgumentTypeError: expected info['executed_action'] as an action from 0 to 2, ...
    """
    number = (
        value.item() if isinstance(value, np.ndarray | np.generic) and value.size == 1 else value
    )
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < n_actions:
        return number
    raise ArgumentTypeError(
        f"expected info[{EXECUTED!r}] as an action from 0 to {n_actions - 1}, found "
        f"{excerpt(repr(value))} in environment {env}: report the number of the action that was "
        "executed, or leave the entry out"
    )


def executed_actions(actions: Actions, info: dict[str, Any], n_actions: int) -> Actions:
    """Return actions of vector environments, or those executed instead where `info` reports them.

    >>> executed_actions(np.array([0, 1]), {EXECUTED: np.array([2, 0])}, n_actions=3)
    array([2, 0])
    """
    if EXECUTED not in info:
        return actions
    reported = info.get(f"_{EXECUTED}", np.ones(len(actions), bool))
    followed = actions.copy()
    for env in np.flatnonzero(reported).tolist():
        followed[env] = executed_action(info[EXECUTED][env], n_actions, env)
    return followed


def _listed(actions: Sequence[str] | int) -> str:
    return ", ".join(map(str, range(actions) if isinstance(actions, int) else actions))
