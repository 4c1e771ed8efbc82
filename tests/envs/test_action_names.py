import ale_py
import gymnasium as gym
import pytest
from gymnasium import spaces

import easee
from easee.envs import CardinalGrid, Catcher, RotationGrid
from easee.envs.action_names import action_names, names_or_numbers, vector_action_names
from easee.envs.doorkey import DoorKey
from tests.worlds import Line

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


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("FrozenLake8x8-v1", "left down right up"),
        ("CliffWalking-v1", "up right down left"),
        ("Taxi-v4", "south north east west pickup dropoff"),
        ("Blackjack-v1", "stick hit"),
        ("CartPole-v1", "left right"),
        ("MountainCar-v0", "left noop right"),
        ("Acrobot-v1", "negative zero positive"),
    ],
)
def test_gymnasium_s_environments_have_built_in_names(name, names):
    env = gym.make(name)
    assert action_names(env) == tuple(names.split())
    assert action_names(env.unwrapped.__class__()) == tuple(names.split())


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_vector_environments_have_the_names_of_their_environments(kind):
    for name in ("FrozenLake-v1", "easee/RotationGrid-v0", "ALE/Freeway-v5"):
        envs = gym.make_vec(name, 1, kind)
        assert vector_action_names(envs) == action_names(gym.make(name))
        envs.close()


def test_frozen_lake_s_names_are_its_moves():
    env = gym.make("FrozenLake-v1", is_slippery=False)
    moves = {"left": 0, "down": 4, "right": 1, "up": 0}  # from the corner of a 4 x 4 lake
    for action, name in enumerate(action_names(env)):
        env.reset(seed=0)
        assert env.step(action)[0] == moves[name]


def test_other_environments_have_no_action_names():
    assert action_names(Line()) is None
    assert action_names(gym.make("Pendulum-v1")) is None


def test_an_environment_of_the_same_name_elsewhere_has_no_built_in_names():
    class TaxiEnv(Line):
        action_space = spaces.Discrete(6)

    assert action_names(TaxiEnv()) is None


def test_given_names_replace_the_environment_s():
    assert action_names(gym.make("CartPole-v1"), ["a", "b"]) == ("a", "b")
    with pytest.raises(easee.ArgumentError, match="environment's 2 actions.*found 3: a, b, c"):
        action_names(gym.make("CartPole-v1"), ["a", "b", "c"])


def test_names_that_do_not_match_the_action_space_are_ignored():
    env = gym.Wrapper(CardinalGrid())
    env.action_space = spaces.Discrete(2)
    assert action_names(env) is None


def test_actions_without_names_are_numbers():
    assert names_or_numbers(Line()) == ("0", "1")
    assert names_or_numbers(gym.make("easee/CardinalGrid-v0")) == ("right", "left", "up", "down")
    assert names_or_numbers(gym.make("ALE/Freeway-v5")) == ("NOOP", "UP", "DOWN")
