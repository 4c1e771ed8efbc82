"""Fitting explorers to the environments of a Stable-Baselines3 model, and following its actions."""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from easee.agents.compat import EXECUTED, check_space, executed_action, fit_explorer
from easee.envs.action_names import action_names, checked_names, read_names
from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers.base import BaseExplorer
from easee.policy import ExplorationPolicy
from easee.priors.equivalences import check_action_names


def check_env(env: object) -> None:
    """Check that environments are not one of Gymnasium's vector environments."""
    if isinstance(env, gym.vector.VectorEnv):
        raise ArgumentTypeError(
            "expected an environment or one of Stable-Baselines3's vector environments, found one "
            "of Gymnasium's: wrap it in easee.agents.sb3.vec_env.VectorAdapter(envs)"
        )


def check_env_count(expected: int, found: int, argument: str) -> None:
    """Check that the number of environments is still the one that an explorer was made for."""
    if expected != found:
        raise ArgumentError(
            f"the model's explorer is for {expected} environments, found {found}: load the model "
            f"with `{argument}=POLICY`, which starts every environment at the empty word"
        )


def fit_to_model(
    explorer: ExplorationPolicy | BaseExplorer,
    model: BaseAlgorithm,
    names: Sequence[str] | None,
    env: VecEnv | None = None,
) -> BaseExplorer:
    """Return an explorer that fits a model and the names of its environments' actions.

    An explorer made from a policy has the model's seed. `names` replaces the environments' own
    names, `env` the model's environments.
    """
    check_space(model.action_space)
    n_actions = int(model.action_space.n)  # type: ignore[attr-defined]
    return fit_explorer(
        explorer,
        n_envs=model.n_envs,
        n_actions=n_actions,
        names=env_action_names(env or model.env, names),
        seed=model.seed,
    )


def env_action_names(
    env: VecEnv | None, names: Sequence[str] | None = None
) -> tuple[str, ...] | None:
    """Return the names of the actions of the first environment, or None if it has no names.

    Args:
        env: the environments.
        names: names that replace the environments' own.
    """
    if env is None:
        return None if names is None else check_action_names(names)
    if names is not None:
        return checked_names(names, env.action_space)
    local = getattr(env.unwrapped, "envs", None)
    if isinstance(local, list) and isinstance(local[0], gym.Env):
        return action_names(local[0])
    return read_names(
        env.action_space,
        has=env.has_attr,
        get=lambda name: env.get_attr(name, [0])[0],
        call=lambda name: env.env_method(name, indices=[0])[0],
    )


def resume_explorer(explorer: BaseExplorer, saved: BaseExplorer, argument: str) -> None:
    """Set a new explorer to the state of a saved one, which must have the same policy.

    Explorers without a `state_dict`, or for another number of environments, are left as they are.
    """
    if not (hasattr(saved, "state_dict") and hasattr(explorer, "state_dict")):
        return
    state = saved.state_dict()
    if explorer.state_dict().get("policy") != state.get("policy"):
        raise ArgumentError(
            f"the model was saved with another prior or depth than the {argument}'s: load it "
            f"without `{argument}` to resume with its own, or set `model.{argument}` after loading"
        )
    if saved.n_envs == explorer.n_envs:
        explorer.load_state_dict(state)


def executed_actions(
    actions: NDArray[Any], infos: list[dict[str, Any]], n_actions: int
) -> NDArray[Any]:
    """Return the actions with those replaced for which `info` reports another executed action.

    Raises:
        ArgumentTypeError: what an `info` reports is not an action.
    """
    if not any(EXECUTED in info for info in infos):
        return actions
    followed = actions.reshape(-1).copy()
    for env, info in enumerate(infos):
        if EXECUTED in info:
            followed[env] = executed_action(info[EXECUTED], n_actions, env)
    return followed


def has_action_masks(env: VecEnv) -> bool:
    """Return whether environments tell which actions are allowed, as those of sb3-contrib do."""
    return bool(env.has_attr("action_masks"))


def action_masks(env: VecEnv) -> NDArray[np.bool_]:
    """Return the allowed actions of all environments, bool (n_envs, k)."""
    masks = env.env_method("action_masks")
    try:
        return np.stack([np.asarray(mask) for mask in masks])
    except ValueError:
        shapes = [np.shape(mask) for mask in masks]
        raise ArgumentError(
            f"expected env.action_masks() of one shape in all environments, found {shapes}"
        ) from None
