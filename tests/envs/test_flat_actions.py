import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import easee
from easee.envs import CardinalGrid, FlatActions
from easee.envs.action_names import action_names

FACTORS = [["left", "straight", "right"], ["coast", "gas"]]


class Car(gym.Env):
    """An environment with MultiDiscrete actions that records them."""

    observation_space = spaces.Discrete(1)

    def __init__(self, space=None):
        self.action_space = spaces.MultiDiscrete([3, 2]) if space is None else space
        self.taken = []

    def step(self, action):
        assert self.action_space.contains(action)
        self.taken.append(action.tolist())
        return 0, 0.0, False, False, {}


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


def test_default_names_are_a_letter_and_a_number():
    assert FlatActions(Car(spaces.MultiDiscrete([2, 2]))).action_names == (
        *("a0+b0", "a0+b1"),
        *("a1+b0", "a1+b1"),
    )


def test_choices_may_start_at_another_number():
    car = Car(spaces.MultiDiscrete([2, 3], start=[5, -1]))
    env = FlatActions(car)
    for action in np.arange(6):
        env.step(action)
    assert car.taken == [[5, -1], [5, 0], [5, 1], [6, -1], [6, 0], [6, 1]]


def test_one_factor_is_enough():
    assert FlatActions(Car(spaces.MultiDiscrete([3])), [["a", "b", "c"]]).action_names == (
        *("a", "b", "c"),
    )


def test_actions_passed_to_the_environment_are_copies():
    env = FlatActions(Car())
    env.action(3)[:] = 0
    assert env.action(3).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: FlatActions(CardinalGrid()), r"MultiDiscrete actions, found Discrete\(4"),
        (lambda: FlatActions(Car(spaces.MultiDiscrete(np.array([[2, 2]])))), "one-dimensional"),
        (lambda: FlatActions(Car(), [["a", "b"], ["c", "d"]]), r"\[3, 2\] .*found \[2, 2\]"),
        (lambda: FlatActions(Car(), [["a", "b", "c"]]), r"\[3, 2\] .*found \[3\]"),
        (lambda: FlatActions(Car(spaces.MultiDiscrete([1] * 27))), "27 factors: pass `factors`"),
    ],
)
def test_invalid_factors_are_rejected(make, error):
    with pytest.raises(easee.ArgumentError, match=error):
        make()


def test_duplicate_names_are_rejected():
    with pytest.raises(easee.PriorError, match="named twice"):
        FlatActions(Car(), [["a", "a", "b"], ["c", "d"]])
