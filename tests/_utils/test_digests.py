import numpy as np
import pytest

from easee._utils.digests import digest, leaves


class Screen:
    """An array type other than NumPy's, like a tensor, whose repr is abbreviated."""

    def __init__(self, last):
        self.last = last

    def __repr__(self):
        return "Screen(0, 0, ...)"

    def __array__(self, dtype=None, copy=None):
        return np.array([0, 0, 0, self.last], dtype)


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


def test_numpy_scalars_have_the_keys_of_python_numbers():
    for one, two in [
        (5, np.int64(5)),
        (5, np.array(5, np.int32)),
        (0.5, np.float64(0.5)),
        (0.0, -0.0),
    ]:
        assert digest((one,)) == digest((two,)) and digest(one) == digest(two)


def test_leaves_are_named_by_their_path():
    observation = {"b": (1, ()), "a": {"c": "text"}}
    assert list(leaves(observation)) == [("['a']['c']", "text"), ("['b'][0]", 1), ("['b'][1]", ())]
