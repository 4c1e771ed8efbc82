import ale_py
import gymnasium as gym
import pytest
from gymnasium import spaces

import easee
from easee.envs import CardinalGrid, Catcher, RotationGrid
from easee.envs.action_names import (
    action_names,
    match_actions,
    names_or_numbers,
    vector_action_names,
)
from easee.envs.atari import Atari
from easee.envs.doorkey import DoorKey
from tests.worlds import Line

gym.register_envs(ale_py)

BOTH = ("RIGHTFIRE", "LEFTFIRE")


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


def test_names_of_vector_environments_themselves_come_first():
    class Named(gym.vector.VectorWrapper):
        action_names = ("push", "pull")

    envs = gym.make_vec("CartPole-v1", 2, "vector_entry_point")
    assert vector_action_names(envs) is None
    assert vector_action_names(Named(envs)) == ("push", "pull")
    assert vector_action_names(gym.vector.VectorWrapper(Named(envs))) == ("push", "pull")
    assert vector_action_names(Named(gym.make_vec("CartPole-v1", 2, "sync"))) == ("push", "pull")
    four = gym.make_vec("FrozenLake-v1", 2, "sync")  # not two actions
    assert vector_action_names(Named(four)) == ("left", "down", "right", "up")


def test_vectorised_atari_games_name_their_actions():
    envs = Atari("carnival")
    assert vector_action_names(envs) == envs.action_names == ("FIRE", "RIGHT", "LEFT", *BOTH)


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


# --- matching ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actions", "names", "expected"),
    [
        (["A", "a"], ["a", "A"], [1, 0]),  # exactly
        (["A", "B"], ["b", "a"], [1, 0]),  # ignoring case
        (["b", "A", "B"], ["B", "b", "a"], [1, 2, 0]),  # both
        (["1", "0"], ["left", "right"], [1, 0]),  # numbers
        (["0", "1", "2"], ["1", "2", "3"], [0, 1, 2]),  # numbers, because 0 is not a name
        (["2", "1"], ["1", "2"], [1, 0]),  # names that are digits
        (["1", "0"], None, [1, 0]),
    ],
)
def test_actions_are_matched_exactly_then_ignoring_case_then_as_numbers(actions, names, expected):
    assert match_actions(actions, names) == (expected, None)


def test_some_of_the_environment_s_actions_can_be_matched():
    names = ["left", "right", "forward"]
    assert match_actions(["Forward", "left"], names, n_actions=3) == ([2, 0], None)
    assert match_actions(["2", "0"], names, n_actions=3) == ([2, 0], None)
    assert match_actions(["2", "0"], None, n_actions=3) == ([2, 0], None)
    assert match_actions(["a", "b"], names, n_actions=3, rename={"a": "1", "b": "0"})[0] == [1, 0]


@pytest.mark.parametrize(
    ("actions", "names", "rename", "message"),
    [
        (["left", "up"], ["left", "right"], None, r"pass names=\['left', 'up'\].*--names left,up"),
        (["a", "A"], ["a", "b"], None, r"pass names=\['a', 'A'\].*--names a,A"),
        (["UP"], ["up", "Up"], {}, "'UP' is not one .*rename={'UP': .*may be any of: up, Up"),
        (["up"], ["up", "up"], {}, r"'up' is not one .*several .*names=\[...\] \(--names"),
        (["0", "up"], None, {}, "'up' is not one .*environment 0, 1, 2"),
        (["a", "A"], ["a", "b"], {}, r"'a' and 'A' would both be .* 'a': .*rename={'A': ...}"),
        (["a", "b"], ["a", "b"], {"a": "b"}, r"would both be .* 'b': .*--rename b=..."),
        (["a"], ["a"], {"a": 1}, "name of 'a' as text, found 1"),
    ],
)
def test_actions_that_cannot_be_matched_are_errors(actions, names, rename, message):
    count = len(names) if names else 3
    with pytest.raises(easee.ArgumentError, match=message):
        match_actions(actions, names, "the prior", n_actions=count, rename=rename)
