"""The paper's three Atari games, through ale-py's vector environment (Section 5.4, Appendix).

Preprocessing is the paper's: up to 30 no-ops at the start, frames of 84 x 84 in grey, an action for
4 frames, the last 4 observations stacked, rewards clipped to -1, 0 and 1. Two things are set on
purpose: there are no sticky actions, which would break every equivalence, and in Carnival NOOP is
taken out for every agent, as in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from easee._utils.checks import checked_count, nearest
from easee.errors import ArgumentError, MissingExtraError

try:
    from ale_py.vector_env import AtariVectorEnv
except ImportError:
    raise MissingExtraError("ale-py", "atari") from None

Stack = NDArray[np.uint8]


@dataclass(frozen=True)
class Game:
    """A game: its ROM, and the actions that are taken out."""

    rom: str
    without: tuple[str, ...] = ()


GAMES = {
    "freeway": Game("freeway"),
    "boxing": Game("boxing"),
    "carnival": Game("carnival", without=("NOOP",)),
}


class Atari(VectorEnv[Stack, NDArray[np.int64], NDArray[np.bool_]]):
    """Several copies of a game, stepped together; an episode that ends starts again in that step.

    Rewards are clipped. When an episode ends, `info["episode"]` has its unclipped score "r" and its
    length in actions "l", and `info["final_obs"]` its last observation.

    Args:
        game: "freeway", "boxing" or "carnival".
        num_envs: how many copies.
        threads: of ale-py; by default as it chooses.
        max_frames: after how many frames an episode is cut off.

    >>> env = Atari("carnival")
    >>> env.action_names
    ('FIRE', 'RIGHT', 'LEFT', 'RIGHTFIRE', 'LEFTFIRE')
    >>> env.reset(seed=0)[0].shape
    (1, 4, 84, 84)
    """

    def __init__(
        self, game: str, num_envs: int = 1, threads: int = 0, max_frames: int = 108_000
    ) -> None:
        if game not in GAMES:
            raise ArgumentError(f"no game is named {game!r}: {nearest(str(game), GAMES)}")
        self.num_envs = checked_count(num_envs, "num_envs")
        self._ale = AtariVectorEnv(
            GAMES[game].rom,
            self.num_envs,
            num_threads=threads,
            max_num_frames_per_episode=max_frames,
            repeat_action_probability=0.0,
            reward_clipping=False,  # clipped below, so that scores can be counted
            noop_max=30,
            autoreset_mode=AutoresetMode.SAME_STEP,
        )
        names = [action.name for action in self._ale.ale.get_action_set()]
        kept = [i for i, name in enumerate(names) if name not in GAMES[game].without]
        self.action_names = tuple(names[i] for i in kept)
        self._actions = np.array(kept)
        self.single_observation_space = self._ale.single_observation_space
        self.single_action_space = spaces.Discrete(len(kept))
        self.observation_space = self._ale.observation_space
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}
        self._scores = np.zeros(self.num_envs)
        self._lengths = np.zeros(self.num_envs, np.int64)

    def reset(
        self,
        *,
        seed: int | Sequence[int] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Stack, dict[str, Any]]:
        """Start all copies; a whole number seeds them with that and those that follow."""
        several = isinstance(seed, list | tuple | np.ndarray)
        seeds = np.array(seed) if several else seed if seed is None else int(seed)  # type: ignore[arg-type]
        observation, info = self._ale.reset(seed=seeds, options=options)
        begun = (options or {}).get("reset_mask", slice(None))
        self._scores[begun] = 0
        self._lengths[begun] = 0
        return observation, info

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Stack, NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Take an action in every copy."""
        self.send(actions)
        return self.receive()

    def send(self, actions: NDArray[np.int64]) -> None:
        """Begin a step, which `receive` ends; meanwhile something else can be done."""
        chosen = np.asarray(actions)
        if chosen.min() < 0 or chosen.max() >= len(self._actions):
            raise ArgumentError(
                f"expected actions from 0 to {len(self._actions) - 1}, found {chosen.tolist()}"
            )
        self._ale.send(self._actions[chosen])

    def receive(
        self,
    ) -> tuple[Stack, NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Return what the step that was begun led to."""
        observation, points, terminated, truncated, found = self._ale.recv()
        info: dict[str, Any] = dict(found)
        self._scores += points
        self._lengths += 1
        done = terminated | truncated
        if done.any():
            info["episode"] = {"r": self._scores.copy(), "l": self._lengths.copy()}
            info["_episode"] = done
            self._scores[done] = 0
            self._lengths[done] = 0
        return observation, np.sign(points).astype(np.float64), terminated, truncated, info

    def close_extras(self, **kwargs: Any) -> None:
        """Do nothing: ale-py frees its copies itself."""


def single(game: str, **options: Any) -> gym.Env[Any, Any]:
    """Return a game as ale-py's own Gymnasium environment, unprocessed and without sticky actions.

    >>> single("freeway").action_space
    Discrete(3)
    """
    import ale_py

    if game not in GAMES:
        raise ArgumentError(f"no game is named {game!r}: {nearest(str(game), GAMES)}")
    gym.register_envs(ale_py)
    name = f"ALE/{GAMES[game].rom.capitalize()}-v5"
    return gym.make(name, repeat_action_probability=0.0, **options)
