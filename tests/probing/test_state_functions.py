import gymnasium as gym
import numpy as np
import pytest

import easee
from easee.envs import CardinalGrid
from easee.envs.minigrid import minigrid_state
from easee.probing.state_functions import resolve_state, state_function
from easee.probing.state_keys import ObservationFunction, label_of


def same(text, one, two):
    function = state_function(text)
    assert isinstance(function, ObservationFunction)
    return function(one) == function(two)


@pytest.mark.parametrize(
    ("text", "one", "two"),
    [
        ("round:1", np.array([0.11, -0.04]), np.array([0.12, 0.04])),
        ("round:-1", np.array([12.0]), np.array([8.0])),
        ("round:0:1", np.array([5.0, 0.2]), np.array([9.0, 0.1])),
        ("cells:0.5", {"x": np.array([0.6]), "name": "a"}, {"x": np.array([0.9]), "name": "a"}),
        ("cells:2:0", (0, 7), (1, 3)),
        ("observation:0,2", np.array([1, 2, 3]), np.array([1, 9, 3])),
        ("round:1", 0.31, 0.29),
    ],
)
def test_observations_that_differ_little_are_equal(text, one, two):
    assert same(text, one, two) and not same("observation", one, two)


@pytest.mark.parametrize(
    ("text", "one", "two"),
    [
        ("round:1", np.array([0.14]), np.array([0.16])),
        ("cells:0.5", {"x": np.array([0.4])}, {"x": np.array([0.6])}),
        ("cells:0.5", {"x": 0.1, "name": "a"}, {"x": 0.1, "name": "b"}),
        ("observation:2", np.array([1, 2, 3]), np.array([1, 2, 4])),
    ],
)
def test_observations_that_differ_more_are_not_equal(text, one, two):
    assert not same(text, one, two)


def test_functions_of_the_environment():
    env = gym.make("FrozenLake-v1", is_slippery=False)
    env.reset(seed=0)
    read = state_function("attribute:s")
    before = read(env)
    env.step(1)
    assert read(env) != before
    assert state_function("minigrid") is minigrid_state
    assert state_function("function:easee.envs.minigrid.minigrid_state") is minigrid_state
    assert label_of(state_function("ram:3,14")) == "byte 3, 14 of the game's memory"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rnd:2", "did you mean 'round'"),
        ("", "expected one of: observation, round"),
        ("round", "decimal places as round:2, found ''"),
        ("round:x", "found 'x'"),
        ("cells:0", "positive width"),
        ("cells:nan", "positive width"),
        ("round:2:a", "entries of the observation as round:2:0,2"),
        ("observation:-1", "entries of the observation"),
        ("ram:200", "bytes from 0 to 127"),
        ("minigrid:3", "without an argument"),
        ("attribute:", "name of an attribute"),
        ("function:nothing", "function:MODULE.NAME"),
        ("function:no_such_module.f", "no_such_module"),
        ("function:easee.no_such_function", "no_such_function"),
        ("function:easee.__version__", "expected a function"),
    ],
)
def test_wrong_texts_are_explained(text, says):
    with pytest.raises(easee.ArgumentError, match=says):
        state_function(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("minigrid", "requires a MiniGrid"),
        ("ram:3", "requires an Atari game"),
        ("attribute:stat", "did you mean 'state'"),
        ("observation:2", "has 2 numbers.*no entry 2"),
    ],
)
def test_texts_that_do_not_fit_the_environment_are_explained(text, says):
    with pytest.raises(easee.ArgumentError, match=says):
        easee.discover(CardinalGrid(), state=text, states=10, rollout=100)


def test_verify_and_discover_take_texts():
    grid, options = CardinalGrid(), dict(states=20, rollout=500)
    omega = easee.Equivalences(grid.action_names, ["up ~ "])
    column = easee.verify(grid, omega, state="observation:0", **options)
    assert column.holds and column.compares == "observations (entries 0)"
    assert not easee.verify(grid, omega, **options).holds
    found = easee.discover(grid, max_length=1, state="observation:0", **options)
    assert found.equivalences.pairs == ((("up",), ()), (("down",), ()))


def test_counters_are_found_in_what_is_compared():
    env = gym.wrappers.TimeAwareObservation(gym.make("easee/CardinalGrid-v0", max_episode_steps=60))
    options = dict(states=10, rollout=500, max_length=1)
    with pytest.raises(easee.ArgumentError, match="count steps"):
        easee.discover(env, state="round:3", **options)
    easee.discover(env, state="observation:0,1", **options)


def test_the_default_is_the_observation_or_the_whole_minigrid():
    assert resolve_state(CardinalGrid(), None) is resolve_state(CardinalGrid(), "observation")
    assert resolve_state(CardinalGrid(), None) is None
    assert resolve_state(gym.make("easee/DoorKey-v0"), None) is minigrid_state
