import copy
import pickle

import pytest

import easee


@pytest.mark.parametrize(
    "error",
    [
        easee.MissingExtraError("matplotlib", "plot"),
        easee.ConvergenceError("no", 1.0, 0.5, None),
        easee.GraphTooLargeError.at_depth(3, [1, 4, 13], 5),
    ],
)
def test_errors_can_be_pickled_and_copied(error):
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is type(error)
        assert str(twin) == str(error) and vars(twin) == vars(error)


def test_graph_too_large_names_the_largest_depth_that_fits():
    error = easee.GraphTooLargeError.at_depth(9, [1, 4, 13], 5)
    message = str(error)
    assert error.fits == 1
    assert "depth 9 does not fit" in message and "13 up to layer 2" in message
    assert message.endswith("depth 1 fits (4 nodes)")
    assert str(easee.GraphTooLargeError.at_depth(9, [1, 4], 3)).endswith("no depth fits")
