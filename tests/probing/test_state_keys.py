import gymnasium as gym
import minigrid
import numpy as np
import pytest
from gymnasium.wrappers import TimeAwareObservation, TimeLimit
from minigrid.core.world_object import Key

import easee
from easee._utils.digests import digest
from easee.envs import CardinalGrid, Catcher, RotationGrid
from easee.envs.atari import single
from easee.probing.probe import make_probe
from easee.probing.state_keys import counters, label_of, minigrid_state, numbers, ram_state
from easee.probing.step_counters import find_counters, refuse_counters

gym.register_envs(minigrid)


class Screen:
    """An array of its own kind, as tensors are, that prints its beginning only."""

    def __init__(self, last):
        self.last = last

    def __repr__(self):
        return "Screen(0, 0, ...)"

    def __array__(self, dtype=None, copy=None):
        return np.array([0, 0, 0, self.last], dtype)


class Clock(gym.ObservationWrapper):
    """Shows nothing but the number of steps."""

    def observation(self, observation):
        return self.env.get_wrapper_attr("_elapsed_steps")


OBSERVATIONS = [
    0,
    1,
    "1",
    None,
    True,
    0.5,
    np.array([1, 2]),
    np.array([1, 2], np.int32),
    np.array([1.0, 2.0]),
    np.array([[1, 2]]),
    np.array([[1], [2]]),
    np.array([1, 3]),
    np.array([1, 2, 0]),
    np.array([np.nan, 2.0]),
    np.array(["left", "right"]),
    np.array([1, "two", None], dtype=object),
    np.array([1, "three", None], dtype=object),
    (1, 2),
    (2, 1),
    (1, (2,)),
    {"a": 1, "b": 2},
    {"a": 2, "b": 1},
    {"a": 1, "b": {"c": 2}},
    {"a": np.array([1, 2]), "b": 0},
    {"a": np.array([1]), "b": np.array([2])},
    {"a": np.array([1, 2]), "b": np.array([])},
    {"image": np.zeros((7, 7, 3), np.uint8), "mission": "go to the goal"},
    {"image": np.zeros((7, 7, 3), np.uint8), "mission": "go to the door"},
    (),
    ((),),
    ((), ()),
    {"a": ()},
    Screen(0),
    Screen(1),
]


def test_different_observations_have_different_keys():
    keys = [digest(observation) for observation in OBSERVATIONS]
    for i, key in enumerate(keys):
        assert keys.index(key) == i, (OBSERVATIONS[keys.index(key)], OBSERVATIONS[i])


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (np.arange(6).reshape(2, 3).T, np.array([[0, 3], [1, 4], [2, 5]])),
        (np.arange(10)[::2], np.array([0, 2, 4, 6, 8])),
        ({"a": 1, "b": np.array([2])}, {"b": np.array([2]), "a": 1}),
        ({"x": {"a": 1, "b": 2}}, {"x": {"b": 2, "a": 1}}),
        (np.int64(3), np.array(3)),
        (np.array([np.nan, 1.0]), np.array([np.nan, 1.0])),
        (np.array([0.0, 1.0]), np.array([-0.0, 1.0])),
        (0.0, -0.0),
        (np.array(["ab", None], object), np.array(["".join("ab"), None], object)),
        ((1, {"a": [2, 3]}), (1, {"a": [2, 3]})),
        (Screen(5), Screen(5)),
    ],
)
def test_equal_observations_have_equal_keys(one, two):
    assert digest(one) == digest(two)


def test_numbers_are_named_by_where_they_are():
    found = numbers({"time": np.int64(4), "at": (1.5, np.array([[1], [0]])), "mission": "go"})
    assert found == {"['at'][0]": 1.5, "['at'][1][0]": 1.0, "['at'][1][1]": 0.0, "['time']": 4.0}


# --- observations that count steps ---------------------------------------------------------------


def found_in(env):
    return find_counters(make_probe(env), np.random.default_rng(0))


def test_a_counter_is_named_in_a_dictionary():
    env = TimeAwareObservation(TimeLimit(CardinalGrid(), 50), flatten=False)
    assert found_in(env) == ["['time'][0]"]


def test_a_counter_is_named_in_an_array():
    assert found_in(TimeAwareObservation(gym.make("CartPole-v1"))) == ["[4]"]


def test_a_number_that_counts_is_named_too():
    env = Clock(TimeLimit(CardinalGrid(), 50))
    with pytest.raises(easee.ArgumentError, match="count steps: the number itself"):
        refuse_counters(make_probe(env), np.random.default_rng(0))


def test_an_error_names_the_counter():
    probe = make_probe(TimeAwareObservation(gym.make("CartPole-v1")))
    with pytest.raises(easee.ArgumentError, match=r"count steps: \[4\].*state="):
        refuse_counters(probe, np.random.default_rng(0))


def test_a_function_that_reads_the_state_may_leave_the_counter_out():
    env = TimeAwareObservation(TimeLimit(CardinalGrid(), 50), flatten=False)
    probe = make_probe(env, state=lambda env: env.unwrapped.state.tobytes())
    refuse_counters(probe, np.random.default_rng(0))


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
def test_nothing_counts_steps_where_nothing_does(make):
    assert found_in(make()) == []


def test_a_field_that_actions_change_is_no_counter():
    walks = [[{"x": 0, "t": 9}, {"x": 1, "t": 8}], [{"x": 0, "t": 9}, {"x": -1, "t": 8}]]
    assert counters(walks) == ["['t']"]
    stands = [[(0, 5), (0, 6), (0, 5)], [(0, 5), (0, 6), (0, 5)]]  # the same again is no count
    assert counters(stands) == []


# --- states that are read ------------------------------------------------------------------------


def test_minigrid_s_state_is_all_that_its_view_may_hide():
    env = gym.make("MiniGrid-DoorKey-6x6-v0")
    env.reset(seed=0)
    world = env.unwrapped
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
    env.step(world.actions.done)  # time passes, and that is all
    assert minigrid_state(env) == states[-1]


def test_what_is_compared_has_a_name():
    assert label_of(None) == "observations"
    assert label_of(minigrid_state) == "MiniGrid's whole states"
    assert label_of(ram_state(14, 3)) == "byte 14, 3 of the game's memory"
    assert label_of(ram_state()) == "the game's memory"
    assert "function" in label_of(lambda env: 0)


def test_bytes_of_an_atari_game_are_read():
    env = single("freeway")
    env.reset(seed=0)
    before = ram_state(14)(env)
    for _ in range(5):
        env.step(1)
    memory = env.unwrapped.ale.getRAM()
    assert ram_state(14)(env) == bytes([memory[14]]) > before  # the chicken went up
    assert ram_state(14, 3)(env) == bytes([memory[14], memory[3]])
    assert ram_state()(env) == bytes(memory)


def test_numbers_of_numpy_are_numbers():
    for one, two in [
        (5, np.int64(5)),
        (5, np.array(5, np.int32)),
        (0.5, np.float64(0.5)),
        (0.0, -0.0),
    ]:
        assert digest((one,)) == digest((two,)) and digest(one) == digest(two)
