"""The paper's three Atari games, their sticky actions and their memory (Section 5.4, Appendix).

Preprocessing follows the paper: up to 30 no-ops at the start, grey frames of 84 x 84, each action
repeated for 4 frames, the last 4 observations stacked, rewards clipped to -1, 0 and 1. Sticky
actions are off because they break every equivalence, and Carnival has no NOOP, as in the paper.

The module can be imported without ale-py, which is needed only to make a game.
"""

import math
from collections.abc import Hashable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from easee._utils.checks import checked_count, nearest
from easee._utils.extras import requires_extra
from easee.errors import ArgumentError

Stack = NDArray[np.uint8]
StepResult = tuple[Stack, NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]

# Games, with the actions that are left out.
GAMES: dict[str, tuple[str, ...]] = {"freeway": (), "boxing": (), "carnival": ("NOOP",)}
STICKY_OPTION = "repeat_action_probability"  # of ale-py's environments, 0.25 by default
# Bytes of the memory that hold the player's position: Freeway's y, Boxing's x and y, Carnival's x.
PLAYER = {"freeway": (14,), "boxing": (32, 34), "carnival": (2,)}


class Atari(VectorEnv[Stack, NDArray[np.int64], NDArray[np.bool_]]):
    """A vector environment of one game, with same-step autoreset.

    Rewards are clipped. When an episode ends, `info["episode"]` has its unclipped score "r" and its
    length in actions "l", and `info["final_obs"]` its last observation.

    Args:
        game: "freeway", "boxing" or "carnival".
        num_envs: number of environments.
        threads: number of ale-py's threads; by default ale-py chooses.
        max_frames: number of frames after which an episode is truncated.

    >>> env = Atari("carnival")
    >>> env.action_names
    ('FIRE', 'RIGHT', 'LEFT', 'RIGHTFIRE', 'LEFTFIRE')
    >>> env.reset(seed=0)[0].shape
    (1, 4, 84, 84)
    """

    def __init__(
        self, game: str, num_envs: int = 1, threads: int = 0, max_frames: int = 108_000
    ) -> None:
        _check_game(game)
        self.num_envs = checked_count(num_envs, "num_envs")
        self._ale = _ale_py().vector_env.AtariVectorEnv(
            game,
            self.num_envs,
            num_threads=threads,
            max_num_frames_per_episode=max_frames,
            repeat_action_probability=0.0,
            reward_clipping=False,  # clipped in `receive`, which also sums the scores
            noop_max=30,
            autoreset_mode=AutoresetMode.SAME_STEP,
        )
        names = [action.name for action in self._ale.ale.get_action_set()]
        numbers = [i for i, name in enumerate(names) if name not in GAMES[game]]
        self.action_names = tuple(names[i] for i in numbers)
        self._actions = np.array(numbers)
        self.single_observation_space = self._ale.single_observation_space
        self.single_action_space = spaces.Discrete(len(numbers))
        self.observation_space = self._ale.observation_space
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}
        self._scores = np.zeros(self.num_envs)
        self._lengths = np.zeros(self.num_envs, np.int64)

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Stack, dict[str, Any]]:
        """Reset all environments; an integer seeds them with consecutive numbers from it on."""
        seeds = None if seed is None else np.array(seed) if np.ndim(seed) else int(seed)  # type: ignore[arg-type]
        observation, info = self._ale.reset(seed=seeds, options=options)
        mask = (options or {}).get("reset_mask", slice(None))
        self._scores[mask] = 0
        self._lengths[mask] = 0
        return observation, info

    def step(self, actions: NDArray[np.int64]) -> StepResult:
        """Take one action in each environment."""
        self.send(actions)
        return self.receive()

    def send(self, actions: NDArray[np.int64]) -> None:
        """Start a step without waiting for it; `receive` returns its result."""
        chosen = np.asarray(actions)
        if chosen.min() < 0 or chosen.max() >= len(self._actions):
            raise ArgumentError(
                f"expected actions from 0 to {len(self._actions) - 1}, found {chosen.tolist()}"
            )
        self._ale.send(self._actions[chosen])

    def receive(self) -> StepResult:
        """Wait for the step that `send` started and return its result, as `step` does."""
        observation, points, terminated, truncated, ale_info = self._ale.recv()
        info: dict[str, Any] = dict(ale_info)
        self._scores += points
        self._lengths += 1
        done = terminated | truncated
        if done.any():
            info["episode"] = {"r": self._scores.copy(), "l": self._lengths.copy()}
            info["_episode"] = done
            self._scores[done] = 0
            self._lengths[done] = 0
        return observation, np.sign(points).astype(np.float64), terminated, truncated, info


def single(game: str, **options: Any) -> gym.Env[Any, Any]:
    """Make ale-py's own Gymnasium environment of a game, unprocessed and without sticky actions.

    >>> single("freeway").action_space
    Discrete(3)
    """
    _check_game(game)
    gym.register_envs(_ale_py())
    return gym.make(f"ALE/{game.capitalize()}-v5", repeat_action_probability=0.0, **options)


def _check_game(game: str) -> None:
    if game not in GAMES:
        raise ArgumentError(f"no game is named {game!r}: {nearest(str(game), GAMES)}")


def _ale_py() -> Any:
    with requires_extra("atari", "ale-py"):
        import ale_py.vector_env
    return ale_py


def forget_last_action(world: Any) -> None:
    """Make NOOP the action that sticky actions would repeat next; ignore other environments.

    A clone of a game does not include its last action, so a restored game could repeat an action
    that was taken elsewhere.
    """
    ale = getattr(world, "ale", None)
    if ale is None:
        return
    stickiness = ale.getFloat(STICKY_OPTION)
    if 0.0 < stickiness < 1.0:
        for _ in range(math.ceil(math.log(1e-9) / math.log(stickiness))):
            ale.act(0)


class ram_state:  # noqa: N801, used like a function
    """A function that reads bytes of an Atari game's memory, for `state=` of `easee.verify`.

    Args:
        places: indices of the bytes; all of them by default.

    >>> ram_state(14).label
    "byte 14 of the game's memory"
    """

    def __init__(self, *places: int) -> None:
        self.places = list(places)
        indices = ", ".join(map(str, places))
        self.label = f"byte {indices} of the game's memory" if places else "the game's memory"

    def __call__(self, env: gym.Env[Any, Any]) -> Hashable:
        """Return the bytes."""
        world: Any = env.unwrapped
        memory = world.ale.getRAM()
        return bytes(memory[self.places] if self.places else memory)
