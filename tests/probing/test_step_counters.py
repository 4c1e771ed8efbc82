import gymnasium as gym
import minigrid
import numpy as np
import pytest
from gymnasium.wrappers import TimeAwareObservation, TimeLimit

import easee
from easee.envs import CardinalGrid, Catcher, RotationGrid
from easee.probing.probe import make_probe
from easee.probing.step_counters import check_counters, counters, find_counters, numbers

gym.register_envs(minigrid)


class Clock(gym.ObservationWrapper):
    """A wrapper whose observations are the number of steps."""

    def observation(self, observation):
        return self.env.get_wrapper_attr("_elapsed_steps")


def test_numbers_are_named_by_their_path():
    values = numbers({"time": np.int64(4), "at": (1.5, np.array([[1], [0]])), "mission": "go"})
    assert values == {"['at'][0]": 1.5, "['at'][1][0]": 1.0, "['at'][1][1]": 0.0, "['time']": 4.0}


def counters_of(env):
    return find_counters(make_probe(env), np.random.default_rng(0))


def test_a_counter_is_named_in_a_dictionary():
    env = TimeAwareObservation(TimeLimit(CardinalGrid(), 50), flatten=False)
    assert counters_of(env) == ["['time'][0]"]


def test_a_counter_is_named_in_an_array():
    assert counters_of(TimeAwareObservation(gym.make("CartPole-v1"))) == ["[4]"]


def test_an_observation_that_is_a_counter_is_rejected():
    env = Clock(TimeLimit(CardinalGrid(), 50))
    with pytest.raises(easee.ArgumentError, match="count steps: the number itself"):
        check_counters(make_probe(env), np.random.default_rng(0))


def test_the_error_names_the_counter():
    probe = make_probe(TimeAwareObservation(gym.make("CartPole-v1")))
    with pytest.raises(easee.ArgumentError, match=r"count steps: \[4\].*state="):
        check_counters(probe, np.random.default_rng(0))


def test_counters_are_allowed_with_a_state_function():
    env = TimeAwareObservation(TimeLimit(CardinalGrid(), 50), flatten=False)
    probe = make_probe(env, state=lambda env: env.get_wrapper_attr("state").tobytes())
    assert find_counters(probe, np.random.default_rng(0)) != []
    check_counters(probe, np.random.default_rng(0))  # does not raise


@pytest.mark.parametrize(
    "make",
    [
        Catcher,
        CardinalGrid,
        RotationGrid,
        lambda: gym.make("easee/DoorKey-v0"),
        lambda: gym.make("MiniGrid-DoorKey-6x6-v0"),
        lambda: gym.make("CartPole-v1"),
        lambda: gym.make("FrozenLake-v1"),
    ],
)
def test_ordinary_environments_have_no_counters(make):
    assert counters_of(make()) == []


def test_fields_that_depend_on_actions_or_repeat_are_not_counters():
    walks = [[{"x": 0, "t": 9}, {"x": 1, "t": 8}], [{"x": 0, "t": 9}, {"x": -1, "t": 8}]]
    assert counters(walks) == ["['t']"]
    periodic = [[(0, 5), (0, 6), (0, 5)], [(0, 5), (0, 6), (0, 5)]]
    assert counters(periodic) == []
