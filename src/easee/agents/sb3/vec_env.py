"""Adapter from Gymnasium's vector environments to Stable-Baselines3's."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from easee.errors import ArgumentError


class VectorAdapter(VecEnv):
    """A Gymnasium vector environment as one of Stable-Baselines3's.

    Args:
        envs: vector environment with SAME_STEP autoreset, as Stable-Baselines3 expects.

    >>> import gymnasium as gym
    >>> mode = {"autoreset_mode": AutoresetMode.SAME_STEP}
    >>> envs = gym.make_vec("CartPole-v1", 2, "sync", vector_kwargs=mode)
    >>> VectorAdapter(envs).reset().shape
    (2, 4)
    """

    def __init__(self, envs: VectorEnv[Any, Any, Any]) -> None:
        if envs.metadata.get("autoreset_mode") != AutoresetMode.SAME_STEP:
            raise ArgumentError(
                "expected environments with SAME_STEP autoreset, found "
                f"{envs.metadata.get('autoreset_mode')}: make them with "
                "autoreset_mode=AutoresetMode.SAME_STEP"
            )
        self.envs = envs
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)
        self._actions: NDArray[Any] = np.zeros(0)

    def reset(self) -> Any:
        """Reset all environments with the seeds and options that were set."""
        seeds: Any = None if None in self._seeds else list(self._seeds)
        options = self._options[0]
        if any(other != options for other in self._options):
            raise ArgumentError(
                "expected the same options for all environments, found different ones: Gymnasium's "
                "vector environments take one dictionary"
            )
        observation, _ = self.envs.reset(seed=seeds, options=options or None)
        self._reset_seeds()
        self._reset_options()
        return observation

    def step_async(self, actions: NDArray[Any]) -> None:
        """Store the actions of the next `step_wait`."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Take the stored actions."""
        observation, rewards, terminated, truncated, info = self.envs.step(self._actions)
        done = terminated | truncated
        infos = [_info_of_env(info, i) for i in range(self.num_envs)]
        for i in np.flatnonzero(done).tolist():
            # The entries of the episode's last step override those of the reset after it.
            infos[i] |= _info_of_env(info.get("final_info", {}), i)
            infos[i]["terminal_observation"] = info["final_obs"][i]
            infos[i]["TimeLimit.truncated"] = bool(truncated[i] and not terminated[i])
        return observation, np.asarray(rewards, np.float32), done, infos

    def close(self) -> None:
        """Close all environments."""
        self.envs.close()

    def has_attr(self, attr_name: str) -> bool:
        """Return whether the vector environment, or each environment in it, has an attribute."""
        return hasattr(self.envs, attr_name) or (
            # ale-py's games have no environments to call.
            hasattr(self.envs.unwrapped, "call")
            and all(self._call_each("has_wrapper_attr", attr_name))
        )

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the vector environment or of its environments, per index."""
        if hasattr(self.envs, attr_name):
            values: Sequence[Any] = [getattr(self.envs, attr_name)] * self.num_envs
        else:
            values = self._call_each("get_wrapper_attr", attr_name)
        return [values[i] for i in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the vector environment or of its environments."""
        inner: Any = self.envs.unwrapped
        if hasattr(self.envs, attr_name) or not hasattr(inner, "set_attr"):
            setattr(self.envs, attr_name, value)
            return
        chosen = set(self._get_indices(indices))
        known = all(self._call_each("has_wrapper_attr", attr_name))
        old = self._call_each("get_wrapper_attr", attr_name) if known else [value] * self.num_envs
        inner.set_attr(attr_name, [value if i in chosen else x for i, x in enumerate(old)])

    def env_method(
        self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any
    ) -> list[Any]:
        """Call a method of the vector environment or of its environments, once per index."""
        chosen = self._get_indices(indices)
        if hasattr(self.envs, method_name):
            return [getattr(self.envs, method_name)(*args, **kwargs) for _ in chosen]
        results = self._call_each(method_name, *args, **kwargs)
        return [results[i] for i in chosen]

    def _call_each(self, method_name: str, *args: Any, **kwargs: Any) -> Sequence[Any]:
        inner: Any = self.envs.unwrapped
        results: Sequence[Any] = inner.call(method_name, *args, **kwargs)
        return results

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for each index: wrappers inside a vector environment are not visible."""
        return [False] * len(list(self._get_indices(indices)))


def _info_of_env(info: dict[str, Any], env: int) -> dict[str, Any]:
    """Return the entries of a vector environment's `info` whose mask includes an environment."""
    entries: dict[str, Any] = {}
    for key, value in info.items():
        mask = info.get(f"_{key}")
        if mask is None or not mask[env] or key in ("final_obs", "final_info"):
            continue
        if isinstance(value, dict):
            entries[key] = {k: _plain(v[env]) for k, v in value.items() if not k.startswith("_")}
        else:
            entries[key] = _plain(value[env])
    return entries


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
