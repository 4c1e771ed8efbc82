"""What ends an episode: the rules of MiniGrid's tasks.

Every episode ends in success at a goal, and in failure in lava. `RULES` has what the tasks add, by
the class of the environment.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import easee.envs.jax.minigrid.codes as codes
from easee.envs.jax.minigrid.moves import (
    DONE,
    DROP,
    FORWARD,
    PICKUP,
    TOGGLE,
    MiniGridState,
    cell_ahead,
    cell_at,
    move,
)
from easee.envs.jax.world import Outcome
from easee.priors import MINIGRID_ACTIONS


class Turn(NamedTuple):
    """A step: the states before and after it, and the action."""

    before: MiniGridState
    after: MiniGridState
    action: jax.Array


Verdict = tuple[jax.Array, jax.Array]  # success and failure


@dataclass(frozen=True)
class Rule:
    """What a task adds to MiniGrid's rules.

    Attributes:
        judge: returns whether a turn ends the episode in success and in failure.
        find_target: reads from an environment what `judge` needs to know of its layout.
        actions: what each action does, if not what its name says.
    """

    judge: Callable[[Turn], Verdict]
    find_target: Callable[[Any], tuple[int, ...]]
    actions: tuple[int, ...] = tuple(range(len(MINIGRID_ACTIONS)))


@dataclass(frozen=True)
class Task:
    """The constants of a task: the limit of steps, and its rule."""

    max_steps: int
    rule: Rule

    def step(self, state: MiniGridState, action: jax.Array) -> tuple[MiniGridState, *Outcome]:
        """Return the next state, the reward, and whether the episode is terminated or truncated."""
        if self.rule.actions != tuple(range(len(MINIGRID_ACTIONS))):
            action = jnp.asarray(self.rule.actions, jnp.int32)[action]
        after = move(state, action)
        entered = jnp.where(action == FORWARD, cell_at(state.grid, cell_ahead(state)) >> 3, 0)
        success, failure = self.rule.judge(Turn(state, after, action))
        success |= entered == codes.GOAL
        terminated = success | failure | (entered == codes.LAVA)
        reward = jnp.where(success, self._rewards[after.steps], 0.0)
        return after, reward, terminated, after.steps >= self.max_steps

    @property
    def _rewards(self) -> jax.Array:
        """The reward of success after each number of steps: MiniGrid's, rounded once."""
        rewards = [1 - 0.9 * (steps / self.max_steps) for steps in range(self.max_steps + 1)]
        return jnp.asarray(rewards, jnp.float32)


def _place_of(env: Any, cell: Any) -> tuple[int, int]:
    row, column = divmod(env.grid.grid.index(cell), env.grid.width)
    return column, row


def _is_at(state: MiniGridState, place: jax.Array) -> jax.Array:
    return jnp.all(state.place == place)


def _is_open(state: MiniGridState, place: jax.Array) -> jax.Array:
    return cell_at(state.grid, place) >> 3 == codes.OPEN


def _judge_nothing(turn: Turn) -> Verdict:
    return jnp.array(False), jnp.array(False)


def _judge_pick_up(turn: Turn) -> Verdict:
    """Succeed when the target is picked up; no other object has its type and colour."""
    return (turn.action == PICKUP) & (turn.after.carried == turn.after.target[0]), jnp.array(False)


def _judge_fetch(turn: Turn) -> Verdict:
    """End when anything is picked up; succeed with an object like the target."""
    carried = turn.after.carried
    success = carried == turn.after.target[0]
    return success, (carried != codes.NOTHING) & ~success


def _judge_unlock(turn: Turn) -> Verdict:
    """Succeed when the door is opened."""
    return (turn.action == TOGGLE) & _is_open(turn.after, turn.after.target), jnp.array(False)


def _judge_go_to(turn: Turn) -> Verdict:
    """End with `toggle` and `done`; succeed with `done` beside the target."""
    distance = jnp.abs(turn.after.place - turn.after.target).sum()
    success = (turn.action == DONE) & (distance == 1)
    return success, ((turn.action == DONE) | (turn.action == TOGGLE)) & ~success


def _judge_put_near(turn: Turn) -> Verdict:
    """End when another object is picked up or one is dropped; succeed if it is near the target."""
    before, after, action = turn
    carries = (before.carried != codes.NOTHING, after.carried != codes.NOTHING)
    wrong = (action == PICKUP) & carries[1] & (after.carried != after.target[0])
    drops = (action == DROP) & carries[0]
    near = jnp.all(jnp.abs(cell_ahead(after) - after.target[1:]) <= 1)
    success = drops & ~carries[1] & near
    return success, wrong | (drops & ~success)


def _judge_red_blue(turn: Turn) -> Verdict:
    """Succeed when the blue door is opened after the red one; fail in the other order."""
    before, after, _ = turn
    red, blue = after.target[:2], after.target[2:]
    success = _is_open(after, blue) & _is_open(before, red)
    return success, ~success & (
        _is_open(after, blue) | (_is_open(after, red) & _is_open(before, blue))
    )


def _judge_memory(turn: Turn) -> Verdict:
    """End at either end of the corridor; succeed beside the matching object."""
    target = turn.after.target
    return _is_at(turn.after, target[:2]), _is_at(turn.after, target[2:])


GO_TO_GOAL = Rule(_judge_nothing, lambda env: ())
PICK_UP = Rule(_judge_pick_up, lambda env: (codes.encode(env.obj),))
GO_TO_TARGET = Rule(_judge_go_to, lambda env: env.target_pos)
FETCH = Rule(_judge_fetch, lambda env: (codes.encode_object(env.targetType, env.targetColor),))
UNLOCK = Rule(_judge_unlock, lambda env: _place_of(env, env.door))
PUT_NEAR = Rule(
    _judge_put_near,
    lambda env: (codes.encode_object(env.move_type, env.moveColor), *env.target_pos),
)
RED_BLUE = Rule(
    _judge_red_blue,
    lambda env: (*_place_of(env, env.red_door), *_place_of(env, env.blue_door)),
)
MEMORY = Rule(  # where `pickup` does what `toggle` does
    _judge_memory,
    lambda env: (*env.success_pos, *env.failure_pos),
    actions=(0, 1, 2, TOGGLE, 4, 5, 6),
)

RULES = {
    "BlockedUnlockPickupEnv": PICK_UP,
    "CrossingEnv": GO_TO_GOAL,
    "DistShiftEnv": GO_TO_GOAL,
    "DoorKeyEnv": GO_TO_GOAL,
    "EmptyEnv": GO_TO_GOAL,
    "FetchEnv": FETCH,
    "FourRoomsEnv": GO_TO_GOAL,
    "GoToDoorEnv": GO_TO_TARGET,
    "GoToObjectEnv": GO_TO_TARGET,
    "KeyCorridorEnv": PICK_UP,
    "LavaGapEnv": GO_TO_GOAL,
    "LockedRoomEnv": GO_TO_GOAL,
    "MemoryEnv": MEMORY,
    "MultiRoomEnv": GO_TO_GOAL,
    "ObstructedMaze_1Dlhb": PICK_UP,
    "ObstructedMaze_Full": PICK_UP,
    "ObstructedMaze_Full_V1": PICK_UP,
    "PlaygroundEnv": GO_TO_GOAL,
    "PutNearEnv": PUT_NEAR,
    "RedBlueDoorEnv": RED_BLUE,
    "UnlockEnv": UNLOCK,
    "UnlockPickupEnv": PICK_UP,
}
