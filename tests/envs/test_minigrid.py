from typing import Any

import gymnasium as gym
import minigrid
from minigrid.core.world_object import Key

from easee.envs.minigrid import is_minigrid, minigrid_state

gym.register_envs(minigrid)


def test_the_state_includes_what_the_view_may_hide():
    env = gym.make("MiniGrid-DoorKey-6x6-v0")
    env.reset(seed=0)
    world: Any = env.unwrapped
    states = [minigrid_state(env)]
    env.step(world.actions.left)
    states.append(minigrid_state(env))
    world.carrying = Key("yellow")
    states.append(minigrid_state(env))
    world.carrying = Key("red")
    states.append(minigrid_state(env))
    door = next(cell for cell in world.grid.grid if cell is not None and cell.type == "door")
    door.is_locked = False
    states.append(minigrid_state(env))
    assert len(set(states)) == 5
    env.step(world.actions.done)  # changes only the step count
    assert minigrid_state(env) == states[-1]


def test_minigrids_are_recognised_in_wrappers():
    assert is_minigrid(gym.make("MiniGrid-Empty-5x5-v0"))
    assert not is_minigrid(gym.make("CartPole-v1"))
