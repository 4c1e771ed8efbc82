"""Fitting explorers to the environments of a Stable-Baselines3 model, and following its actions."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from easee.agents.compat import fit_explorer
from easee.envs.action_names import read_names
from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers.base import BaseExplorer
from easee.policy import ExplorationPolicy

EXECUTED = "executed_action"  # entry of `info` with the action that a wrapper really executed


def check_env(env: object) -> None:
    """Check that environments are not one of Gymnasium's vector environments."""
    if isinstance(env, gym.vector.VectorEnv):
        raise ArgumentTypeError(
            "expected an environment or one of Stable-Baselines3's vector environments, found one "
            "of Gymnasium's: wrap it in easee.agents.sb3.vec_env.VectorAdapter(envs)"
        )


def fit_to_model(
    explorer: ExplorationPolicy | BaseExplorer, model: BaseAlgorithm, env: VecEnv | None = None
) -> BaseExplorer:
    """Return an explorer that fits a model's actions and number of environments.

    Args:
        explorer: policy to make an explorer from, or an explorer to check.
        model: its random seed is that of an explorer made from a policy.
        env: environments whose action names are checked; by default the model's.
    """
    return fit_explorer(
        explorer,
        n_envs=model.n_envs,
        n_actions=int(model.action_space.n),  # type: ignore[attr-defined]
        names=action_names(env or model.env),
        seed=model.seed,
    )


def action_names(env: VecEnv | None) -> tuple[str, ...] | None:
    """Return the environments' names of actions, or None if there are none."""
    if env is None:
        return None
    return read_names(
        env.action_space,
        has=env.has_attr,
        get=lambda name: env.get_attr(name, [0])[0],
        call=lambda name: env.env_method(name, indices=[0])[0],
    )


def check_env_count(expected: int, found: int) -> None:
    """Check that the number of environments is still the one that an explorer was made for."""
    if expected != found:
        raise ArgumentError(
            f"the model's explorer is for {expected} environments, found {found}: load the model "
            "with `explorer=POLICY`, which starts every environment at the empty word"
        )


def executed_actions(actions: NDArray[Any], infos: list[dict[str, Any]]) -> NDArray[Any]:
    """Return the actions with those replaced for which `info` reports another executed action."""
    for info in infos:
        if EXECUTED in info:
            pairs = zip(infos, actions, strict=True)
            return np.array([int(info.get(EXECUTED, action)) for info, action in pairs])
    return actions
