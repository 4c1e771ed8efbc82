"""Coverage: how many distinct states an explorer sees within a number of steps."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import iterate

from easee._utils.digests import observation_key
from easee.agents.compat import EXECUTED, check_space, executed_action, executed_actions
from easee.envs.action_names import action_names, vector_action_names
from easee.envs.copying import Env, without_checks
from easee.errors import ArgumentError, ArgumentTypeError, EaseeError, ProbeError
from easee.explorers.base import BaseExplorer
from easee.explorers.sampling import Mask
from easee.probing.state_functions import resolve_state, state_function
from easee.probing.state_keys import AnyState, ObservationFunction, state_key


@dataclass
class Coverage:
    """The states seen so far.

    Attributes:
        first_steps: the step at which each state was seen first, in order.
        steps: number of steps.
        blocked: number of steps that did not change the state.
        longest: length of the longest episode that ended; 0 if none did.
    """

    first_steps: list[int] = field(default_factory=list)
    steps: int = 0
    blocked: int = 0
    longest: int = 0
    seen: set[int] = field(default_factory=set, repr=False)

    def add(self, key: Hashable) -> None:
        """Add a state."""
        number = hash(key)  # needs less memory than the key
        if number not in self.seen:
            self.seen.add(number)
            self.first_steps.append(self.steps)


class World:
    """An environment in which an explorer's states are counted.

    Args:
        env: environment with discrete actions. It is stepped and reset.
        state: as in `easee.verify`.
        names: names of the actions, instead of the environment's own.
    """

    n_envs = 1

    def __init__(self, env: Env, state: AnyState, names: Sequence[str] | None) -> None:
        check_space(env.action_space)
        self.n_actions = int(env.action_space.n)  # type: ignore[attr-defined]
        self.names = action_names(env, names)
        self.env = without_checks(env)
        self.state = _checked_state(resolve_state(env, state))

    def cover(self, explorer: BaseExplorer, steps: int, seed: int) -> Coverage:
        """Let an explorer act for a number of steps, from a new episode on."""
        env, coverage = self.env, Coverage()
        explorer.reset()
        key = self._key(_reset(env, seed))
        coverage.add(key)
        length = 0
        for _ in range(steps):
            action = explorer.sample_one()
            observation, _, terminated, truncated, info = _step(env, action)
            done = bool(terminated or truncated)
            if EXECUTED in info:
                action = executed_action(info[EXECUTED], self.n_actions)
            explorer.step_one(action, done)
            before, key = key, self._key(observation)
            coverage.steps += 1
            coverage.blocked += before == key
            coverage.add(key)
            length += 1
            if done:
                coverage.longest = max(coverage.longest, length)
                length = 0
                key = self._key(_reset(env, None))
                coverage.add(key)
        return coverage

    def _key(self, observation: Any) -> Hashable:
        if self.state is None:
            return observation_key(observation)
        return state_key(self.env, observation, self.state)


class VectorWorld:
    """Vector environments, of every autoreset mode, in which an explorer's states are counted.

    Arguments and methods are those of `World`. A state function that is not one of the observation
    reads the environments themselves, which needs those of `gymnasium.vector.SyncVectorEnv`, and
    another autoreset mode than SAME_STEP.
    """

    def __init__(
        self, envs: VectorEnv[Any, Any, Any], state: AnyState, names: Sequence[str] | None
    ) -> None:
        check_space(envs.single_action_space)
        self.n_actions = int(envs.single_action_space.n)  # type: ignore[attr-defined]
        self.n_envs = envs.num_envs
        self.names = vector_action_names(envs, names)
        self.envs = envs
        self.single: list[Env] = list(getattr(envs.unwrapped, "envs", ()))
        if self.single:
            state = resolve_state(self.single[0], state)
        elif isinstance(state, str):
            state = None if state == "observation" else state_function(state)
        self.state = _checked_state(state)
        self.of_observation = state is None or isinstance(state, ObservationFunction)
        if not self.of_observation and not self.single:
            raise ArgumentTypeError(
                "expected environments in this process for a state function, found "
                f"{type(envs.unwrapped).__name__}: pass one environment, or a SyncVectorEnv, or "
                "state='observation'"
            )
        self.mode = envs.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        if self.mode == AutoresetMode.SAME_STEP and not self.of_observation:
            raise ArgumentError(
                "expected environments that keep the last state of an episode for one step, found "
                "autoreset_mode SAME_STEP and a state that is read from them: use NEXT_STEP or "
                "DISABLED, or state='observation'"
            )

    def cover(self, explorer: BaseExplorer, steps: int, seed: int) -> Coverage:
        """Let an explorer act for a number of steps of all environments together."""
        coverage = Coverage()
        explorer.reset()
        observations, _ = self.envs.reset(seed=seed)
        keys = list(self._keys(observations))
        for key in keys:
            coverage.add(key)
        resetting, lengths = np.zeros(self.n_envs, bool), np.zeros(self.n_envs, np.int64)
        while coverage.steps < steps:
            actions = explorer.sample()
            observations, _, terminated, truncated, info = _step(self.envs, actions)
            dones: Mask = np.asarray(terminated) | np.asarray(truncated)
            explorer.step(executed_actions(actions, info, self.n_actions), dones | resetting)
            lengths = np.where(resetting, 0, lengths + 1)
            moved = ~resetting
            if self.mode == AutoresetMode.SAME_STEP:
                moved &= ~dones  # the observations are those of the next episodes
                for env in np.flatnonzero(dones).tolist():
                    coverage.add(self._key(info["final_obs"][env]))
            before, keys = keys, list(self._keys(observations))
            for env, key in enumerate(keys):
                coverage.steps += not resetting[env]
                coverage.blocked += bool(moved[env]) and before[env] == key
                coverage.add(key)
            coverage.longest = int(max(coverage.longest, *lengths[dones], 0))
            lengths[dones] = 0
            if self.mode == AutoresetMode.NEXT_STEP:
                resetting = dones & ~resetting
            elif self.mode == AutoresetMode.DISABLED and dones.any():
                observations, _ = self.envs.reset(options={"reset_mask": dones})
                keys = list(self._keys(observations))
                for key in keys:
                    coverage.add(key)
        return coverage

    def _keys(self, observations: Any) -> Iterator[Hashable]:
        if self.of_observation:
            yield from map(self._key, iterate(self.envs.observation_space, observations))
        else:
            yield from (state_key(env, None, self.state) for env in self.single)

    def _key(self, observation: Any) -> Hashable:
        return observation_key(observation) if self.state is None else self.state(observation)


def make_world(env: Any, state: AnyState, names: Sequence[str] | None) -> World | VectorWorld:
    """Return an environment or vector environments to count states in."""
    if isinstance(env, VectorEnv):
        return VectorWorld(env, state, names)
    if not isinstance(env, gym.Env):
        raise ArgumentTypeError(
            f"expected a Gymnasium environment or vector environments, found {type(env).__name__}"
        )
    return World(env, state, names)


def _checked_state(state: Any) -> Any:
    if state is not None and not callable(state):
        raise ArgumentTypeError(
            "expected state as a string such as 'observation' or 'round:2', or as a function from "
            f"the environment to something hashable, found {state!r}"
        )
    return state


def _reset(env: Env, seed: int | None) -> Any:
    return env.reset(seed=seed)[0]


def _step(env: Any, action: Any) -> Any:
    try:
        return env.step(action)
    except EaseeError:
        raise
    except Exception as error:
        raise ProbeError(
            f"the environment raised {type(error).__name__} in step with action {action}: {error}"
        ) from error
