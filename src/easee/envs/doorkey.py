"""DoorKey: fetch the key, open the door, reach the goal, built on MiniGrid (Section 5.2).

It differs from stock MiniGrid in three points. OPEN only opens, whereas MiniGrid's `toggle` closes
an open door, so that opening twice is not opening once. There is no DROP and no DONE. The reward at
the goal is always 1. The rooms are those of the paper, 12 x 17 and 4 x 17.
"""

from __future__ import annotations

from copy import copy, deepcopy
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from easee._utils.extras import requires_extra
from easee.errors import ArgumentError
from easee.priors import DOORKEY_ACTIONS

with requires_extra("minigrid"):
    from minigrid.core.grid import Grid
    from minigrid.core.mission import MissionSpace
    from minigrid.core.world_object import Door, Goal, Key
    from minigrid.minigrid_env import MiniGridEnv

State = NDArray[np.int64]

SIZE = 19  # including walls
SPLIT = 13  # column of the wall between the rooms of 12 and 4 columns
MAX_STEPS = 3249  # the paper's, 9 * 19 * 19
MISSION = "use the key to open the door and then get to the goal"


class DoorKey(MiniGridEnv):  # type: ignore[misc]
    """MiniGrid's DoorKey with five actions: left, right, forward, pickup, open.

    Observations are states, int (5,): column, row, heading (0 is east, then clockwise), whether the
    key is carried, whether the door is open. The first `reset` and every `reset` with a seed draw a
    layout (positions of agent, key and door); a `reset` without a seed keeps it.

    Args:
        render_mode: "rgb_array" or "human", drawn by MiniGrid.
        max_steps: number of steps after which an episode is truncated; the paper's by default.

    >>> env = DoorKey()
    >>> env.reset(seed=0)[0]
    array([3, 5, 0, 0, 0])
    >>> env.step(2)[0]  # forward, to the east
    array([4, 5, 0, 0, 0])
    """

    action_names = DOORKEY_ACTIONS

    def __init__(self, render_mode: str | None = None, max_steps: int = MAX_STEPS) -> None:
        super().__init__(
            mission_space=MissionSpace(mission_func=lambda: MISSION),
            grid_size=SIZE,
            max_steps=max_steps,
            see_through_walls=True,
            highlight=False,
            render_mode=render_mode,
        )
        self.action_space = spaces.Discrete(len(self.action_names))
        self.observation_space = spaces.MultiDiscrete([SIZE, SIZE, 4, 2, 2])
        self._minigrid = [self.actions[name] for name in ("left", "right", "forward", "pickup")]
        self._layout: int | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[State, dict[str, Any]]:
        """Start an episode; with a seed, draw a new layout first."""
        if seed is None and self._layout is None:
            seed = int(np.random.default_rng().integers(2**31))
        if seed is not None:
            self._layout = seed
        observation, info = super().reset(seed=self._layout, options=options)
        return observation, info

    def _gen_grid(self, width: int, height: int) -> None:
        self.grid = Grid(width, height)
        self.grid.wall_rect(0, 0, width, height)
        self.grid.vert_wall(SPLIT, 0)
        self.put_obj(Goal(), width - 2, height - 2)
        self.door = Door("yellow", is_locked=True)
        self.put_obj(self.door, SPLIT, self._rand_int(1, height - 1))
        self.key = Key("yellow")
        self.key_place = tuple(self.place_obj(self.key, top=(0, 0), size=(SPLIT, height)))
        self.place_agent(top=(0, 0), size=(SPLIT, height))
        self.mission = MISSION

    def step(self, action: np.int64 | int) -> tuple[State, float, bool, bool, dict[str, Any]]:
        """Take one of the five actions."""
        if not self.action_space.contains(action):
            raise ArgumentError(
                f"expected an action from 0 to {len(self.action_names) - 1}, found {action!r}"
            )
        if action < len(self._minigrid):
            minigrid_action = self._minigrid[action]
        else:  # MiniGrid's `done` does nothing but counts as a step
            ahead = self.grid.get(*self.front_pos)
            closed = isinstance(ahead, Door) and not ahead.is_open
            minigrid_action = self.actions.toggle if closed else self.actions.done
        observation, reward, terminated, truncated, info = super().step(minigrid_action)
        return observation, float(reward), terminated, truncated, info

    def _reward(self) -> float:
        return 1.0

    def gen_obs(self) -> State:
        """Return the state instead of MiniGrid's partial view."""
        return self.state

    def __deepcopy__(self, memo: dict[int, Any]) -> DoorKey:
        """Copy only what can change: the agent, the door and the contents of the cells."""
        twin = copy(self)
        twin._np_random = deepcopy(self._np_random, memo)
        if not hasattr(self, "door"):  # not reset yet
            return twin
        twin.grid, twin.door = copy(self.grid), copy(self.door)
        twin.grid.grid = [twin.door if cell is self.door else cell for cell in self.grid.grid]
        return twin

    @property
    def state(self) -> State:
        """Column, row, heading, whether the key is carried, whether the door is open."""
        has_key, is_open = self.carrying is not None, self.door.is_open
        return np.array([*self.agent_pos, self.agent_dir, has_key, is_open], np.int64)

    @state.setter
    def state(self, state: ArrayLike) -> None:
        """Set a state of the same layout and start an episode there."""
        column, row, heading, has_key, is_open = np.asarray(state).tolist()
        self.agent_pos, self.agent_dir = (column, row), heading
        self.carrying = self.key if has_key else None
        self.grid.set(*self.key_place, None if has_key else self.key)
        self.door.is_open, self.door.is_locked = bool(is_open), not is_open
        self.step_count = 0
