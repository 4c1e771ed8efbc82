"""Gymnasium wrappers that show a reference policy's log-probabilities to any agent.

A policy gradient agent adds them to its logits, and uses -KL(pi || reference) instead of its
entropy bonus. See `easee.agents.reference_policy` for the formulas.
"""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, iterate
from numpy.typing import NDArray

from easee._utils.checks import nearest
from easee.agents.compat import EXECUTED, check_space, executed_action, executed_actions
from easee.agents.reference_policy import FLOOR, IMPOSSIBLE, Reference, fit_reference, log_reference
from easee.envs.action_names import action_names, vector_action_names
from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers.sampling import Mask

Where = Literal["dict", "flat", "info"]
KEY = "reference"  # in dictionaries of observations and in `info`


class ReferenceObservation(gym.Wrapper[Any, Any, Any, Any]):
    """Adds a reference's log-probabilities at the present node to observations or to `info`.

    The node follows the actions taken and returns to the empty word when the environment is reset.
    If `info` has an entry "executed_action", the node follows that action instead.

    Args:
        env: environment with discrete actions.
        reference: a policy, a string such as "doorkey:6", or an explorer for one environment.
        where: "dict" makes observations a dictionary with the keys "observation" and "reference",
            or adds "reference" to those that are dictionaries; "flat" appends the log-probabilities
            to observations that are vectors; "info" puts them into `info["reference"]`.
        floor: weight of the uniform policy mixed into a policy, so that log 0 does not occur.
        names: names of the environment's actions, instead of its own.

    >>> import easee
    >>> policy = easee.compile(easee.priors.get("rotation-grid"), depth=6)
    >>> env = ReferenceObservation(easee.envs.GoalGrid(7), policy)
    >>> observation, _ = env.reset()
    >>> observation, *_ = env.step(1)  # left; then right would only undo it
    >>> observation["reference"].round(1)
    array([-0.3, -1.5, -3.4], dtype=float32)
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        reference: Reference,
        where: Where = "dict",
        floor: float = FLOOR,
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(env)
        check_space(env.action_space)
        k = int(env.action_space.n)  # type: ignore[attr-defined]
        self.explorer = fit_reference(
            reference, floor, n_envs=1, n_actions=k, names=action_names(env, names)
        )
        self._where = _checked_where(where)
        if where != "info":
            self.observation_space = extended_space(env.observation_space, k, where)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment, and return to the empty word."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.explorer.reset()
        return self._extended(observation, info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take an action, and move the node along it."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        # Not reset at the end of an episode: the last observation shows the node reached.
        taken = info.get(EXECUTED, action)
        self.explorer.step_one(executed_action(taken, self.explorer.n_actions), False)
        observation, info = self._extended(observation, info)
        return observation, reward, terminated, truncated, info

    def _extended(self, observation: Any, info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        row = log_reference(self.explorer.probabilities())[0]
        if self._where == "info":
            return observation, info | {KEY: row}
        return extended(observation, row, self._where), info


class VectorReferenceObservation(gym.vector.VectorWrapper):
    """Adds a reference's log-probabilities to the observations or `info` of vector environments.

    Works with every autoreset mode. `info["final_obs"]` is extended too, with the log-probabilities
    at the nodes reached. Dictionaries in it are in an array of objects, as those of Gymnasium's
    vector environments.

    Args:
        env: vector environment with discrete actions.
        reference: a policy, a string such as "doorkey:6", or an explorer for as many environments.
        where: as in `ReferenceObservation`; arrays have one more axis, of length `num_envs`.
        floor, names: as in `ReferenceObservation`.

    >>> import easee
    >>> policy = easee.compile(easee.priors.get("rotation-grid"), depth=6)
    >>> envs = gym.make_vec("easee/GoalGrid-v0", 2, "sync")
    >>> observations, _ = VectorReferenceObservation(envs, policy).reset()
    >>> observations["reference"].shape
    (2, 3)
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        reference: Reference,
        where: Where = "dict",
        floor: float = FLOOR,
        names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(env)
        check_space(env.single_action_space)
        k = int(env.single_action_space.n)  # type: ignore[attr-defined]
        self.explorer = fit_reference(
            reference,
            floor,
            n_envs=env.num_envs,
            n_actions=k,
            names=vector_action_names(env, names),
        )
        self._where = _checked_where(where)
        self._ended = np.zeros(env.num_envs, bool)
        self._mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        if where != "info":
            single = extended_space(env.single_observation_space, k, where)
            self.single_observation_space = single
            self.observation_space = batch_space(single, env.num_envs)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environments, or those of `options["reset_mask"]`."""
        mask = None if options is None else options.get("reset_mask")
        which = np.ones(self.num_envs, bool) if mask is None else np.array(mask, bool)
        observations, info = self.env.reset(seed=seed, options=options)
        self.explorer.reset(which)
        self._ended[which] = False
        return self._extended(observations, info, self._rows())

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take actions, and move the nodes along them."""
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        dones: Mask = np.asarray(terminated) | np.asarray(truncated)
        n_actions = self.explorer.n_actions
        executed = executed_actions(np.asarray(actions), info, n_actions)
        # With SAME_STEP, the entries of an episode's last step are here.
        self.explorer.step(executed_actions(executed, info.get("final_info", {}), n_actions))
        if self._mode == AutoresetMode.SAME_STEP:
            info = self._with_final(info, dones)
            self.explorer.reset(dones)
        elif self._mode == AutoresetMode.NEXT_STEP:
            self.explorer.reset(self._ended)  # this step reset them, whatever the action
            self._ended = dones & ~self._ended
        observations, info = self._extended(observations, info, self._rows())
        return observations, rewards, terminated, truncated, info

    def _rows(self) -> NDArray[np.float32]:
        return log_reference(self.explorer.probabilities())

    def _with_final(self, info: dict[str, Any], dones: Mask) -> dict[str, Any]:
        """Extend the last observations of episodes, before the nodes return to the empty word."""
        if "final_obs" not in info:
            return info
        rows = self._rows()
        if self._where == "info":
            return info | {f"final_{KEY}": rows, f"_final_{KEY}": dones}
        final = self._extended_final(info["final_obs"], rows, dones)
        return info | {"final_obs": final, "_final_obs": dones}

    def _extended_final(self, final: Any, rows: NDArray[np.float32], dones: Mask) -> NDArray[Any]:
        """Extend the last observations of episodes: objects, or a batch such as that of ale-py."""
        if self._where == "flat" and isinstance(final, np.ndarray) and final.dtype != object:
            batch: NDArray[np.float32] = extended(final, rows, "flat")
            return batch
        if isinstance(final, dict | tuple):  # a batch of a composite space
            final = list(iterate(self.env.observation_space, final))
        shown = np.full(self.num_envs, None, object)
        for env in np.flatnonzero(dones).tolist():
            shown[env] = extended(final[env], rows[env], self._where)
        return shown

    def _extended(
        self, observations: Any, info: dict[str, Any], rows: NDArray[np.float32]
    ) -> tuple[Any, dict[str, Any]]:
        if self._where == "info":
            return observations, info | {KEY: rows, f"_{KEY}": np.ones(self.num_envs, bool)}
        return extended(observations, rows, self._where), info


def extended_space(space: spaces.Space[Any], n_actions: int, where: Where) -> spaces.Space[Any]:
    """Return the space of observations with log-probabilities."""
    added = spaces.Box(IMPOSSIBLE, 0.0, (n_actions,), np.float32)
    if where == "flat":
        if not isinstance(space, spaces.Box) or len(space.shape) != 1:
            raise ArgumentTypeError(
                f"expected observations that are vectors, found {space}: use where='dict' or "
                "where='info', or flatten them with gymnasium.wrappers.FlattenObservation(env)"
            )
        low, high = (
            np.concatenate((np.asarray(side, np.float32), more))
            for side, more in ((space.low, added.low), (space.high, added.high))
        )
        return spaces.Box(low, high, dtype=np.float32)
    if not isinstance(space, spaces.Dict):
        return spaces.Dict({"observation": space, KEY: added})
    if KEY in space.spaces:
        raise ArgumentError(
            f"expected observations without an entry {KEY!r}, found {list(space.spaces)}: use "
            "where='info'"
        )
    return spaces.Dict({**space.spaces, KEY: added})


def extended(observation: Any, rows: NDArray[np.float32], where: Where) -> Any:
    """Add log-probabilities (k,) or (n, k) to an observation or a batch of them."""
    if where == "flat":
        return np.concatenate((np.asarray(observation, np.float32), rows), axis=-1)
    if isinstance(observation, dict):
        return observation | {KEY: rows}
    return {"observation": observation, KEY: rows}


def _checked_where(where: Where) -> Where:
    known = get_args(Where)
    if where not in known:
        raise ArgumentError(f"unknown where {where!r}: {nearest(str(where), known)}")
    return where
