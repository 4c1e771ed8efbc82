import ale_py
import gymnasium as gym
import pytest
from gymnasium import spaces

from easee.envs import CardinalGrid, Catcher, RotationGrid
from easee.envs.action_names import action_names, names_or_numbers
from easee.envs.doorkey import DoorKey

gym.register_envs(ale_py)


@pytest.mark.parametrize(
    ("env", "names"),
    [
        (CardinalGrid(), ("right", "left", "up", "down")),
        (RotationGrid(), ("forward", "left", "right")),
        (Catcher(), ("left", "right")),
        (DoorKey(), ("left", "right", "forward", "pickup", "open")),
    ],
)
def test_our_environments_name_their_actions(env, names):
    assert action_names(env) == names
    assert action_names(gym.wrappers.TimeLimit(env, 5)) == names
    assert action_names(gym.make(f"easee/{type(env).__name__}-v0")) == names


def test_minigrid_names_its_actions():
    names = ("left", "right", "forward", "pickup", "drop", "toggle", "done")
    assert action_names(gym.make("MiniGrid-DoorKey-5x5-v0")) == names


def test_atari_names_its_actions():
    env = gym.make("ALE/Freeway-v5")
    assert action_names(env) == ("NOOP", "UP", "DOWN")
    env.close()


def test_other_environments_have_no_action_names():
    assert action_names(gym.make("CartPole-v1")) is None
    assert action_names(gym.make("Pendulum-v1")) is None


def test_names_that_do_not_match_the_action_space_are_ignored():
    env = gym.Wrapper(CardinalGrid())
    env.action_space = spaces.Discrete(2)
    assert action_names(env) is None


def test_actions_without_names_are_numbers():
    assert names_or_numbers(gym.make("CartPole-v1")) == ("0", "1")
    assert names_or_numbers(gym.make("easee/CardinalGrid-v0")) == ("right", "left", "up", "down")
    assert names_or_numbers(gym.make("ALE/Freeway-v5")) == ("NOOP", "UP", "DOWN")
