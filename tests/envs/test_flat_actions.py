import ale_py
import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import easee
from easee.envs import CardinalGrid, Catcher, FlatActions, RotationGrid
from easee.envs.action_names import action_names
from easee.envs.doorkey import DoorKey

gym.register_envs(ale_py)

FACTORS = [["left", "straight", "right"], ["coast", "gas"]]


class Car(gym.Env):
    """Several actions at a time; keeps them."""

    observation_space = spaces.Discrete(1)

    def __init__(self, space=None):
        self.action_space = spaces.MultiDiscrete([3, 2]) if space is None else space
        self.taken = []

    def step(self, action):
        assert self.action_space.contains(action)
        self.taken.append(action.tolist())
        return 0, 0.0, False, False, {}


# --- FlatActions ---------------------------------------------------------------------------------


def test_flat_actions_are_all_combinations_in_order():
    car = Car()
    env = FlatActions(car, FACTORS)
    assert env.action_space == spaces.Discrete(6)
    for action in range(6):
        env.step(action)
    assert car.taken == [[i, j] for i in range(3) for j in range(2)]
    names = tuple(f"{FACTORS[0][i]}+{FACTORS[1][j]}" for i, j in car.taken)
    assert env.action_names == action_names(env) == names


def test_a_prior_can_be_written_in_the_names_of_flat_actions():
    env = FlatActions(Car(), FACTORS)
    omega = easee.Equivalences(env.action_names, [easee.commute("left+gas", "right+gas")])
    assert easee.compile(omega, 2).graph.layer_sizes == (1, 6, 35)


def test_choices_without_names_get_a_letter_and_a_number():
    assert FlatActions(Car(spaces.MultiDiscrete([2, 2]))).action_names == (
        *("a0+b0", "a0+b1"),
        *("a1+b0", "a1+b1"),
    )


def test_choices_may_start_anywhere():
    car = Car(spaces.MultiDiscrete([2, 3], start=[5, -1]))
    env = FlatActions(car)
    for action in np.arange(6):
        env.step(action)
    assert car.taken == [[5, -1], [5, 0], [5, 1], [6, -1], [6, 0], [6, 1]]


def test_one_factor_will_do():
    assert FlatActions(Car(spaces.MultiDiscrete([3])), [["a", "b", "c"]]).action_names == (
        *("a", "b", "c"),
    )


def test_the_environment_may_change_the_action_that_it_gets():
    env = FlatActions(Car())
    env.action(3)[:] = 0
    assert env.action(3).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: FlatActions(CardinalGrid()), r"MultiDiscrete actions in a row, found Discrete\(4"),
        (lambda: FlatActions(Car(spaces.MultiDiscrete([[2, 2]]))), "in a row, found"),
        (lambda: FlatActions(Car(), [["a", "b"], ["c", "d"]]), r"\[3, 2\] .*found \[2, 2\]"),
        (lambda: FlatActions(Car(), [["a", "b", "c"]]), r"\[3, 2\] .*found \[3\]"),
        (lambda: FlatActions(Car(spaces.MultiDiscrete([1] * 27))), "27 factors are too many"),
    ],
)
def test_bad_factors(make, error):
    with pytest.raises(easee.ArgumentError, match=error):
        make()


def test_two_actions_of_one_name_are_refused():
    with pytest.raises(easee.PriorError):
        FlatActions(Car(), [["a", "a", "b"], ["c", "d"]])


# --- action_names --------------------------------------------------------------------------------


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


def test_minigrid_s_enumeration_names_its_actions():
    names = ("left", "right", "forward", "pickup", "drop", "toggle", "done")
    assert action_names(gym.make("MiniGrid-DoorKey-5x5-v0")) == names


def test_atari_s_meanings_name_its_actions():
    env = gym.make("ALE/Freeway-v5")
    assert action_names(env) == ("NOOP", "UP", "DOWN")
    env.close()


def test_most_environments_have_no_names():
    assert action_names(gym.make("CartPole-v1")) is None
    assert action_names(gym.make("Pendulum-v1")) is None
    assert action_names(Car()) is None


def test_names_of_other_actions_than_those_offered_are_none():
    class Fewer(gym.ActionWrapper):
        action_space = spaces.Discrete(2)

    assert action_names(Fewer(CardinalGrid())) is None
