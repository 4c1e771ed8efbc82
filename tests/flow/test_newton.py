import numpy as np
import pytest

from easee import priors, unroll
from easee.flow.deterministic.max_entropy_flow import max_entropy_flow
from easee.flow.deterministic.potentials import uniform_visits
from easee.flow.network import network, push
from easee.flow.newton import HOPELESS, PATIENCE, newton_errors


class Recorded:
    """A scaling whose errors are given in advance."""

    def __init__(self, errors):
        self.errors = list(errors)
        self.steps = 0

    def error(self):
        return self.errors[self.steps]

    def improve(self):
        self.steps += 1
        return self.steps < len(self.errors)


@pytest.mark.parametrize(
    ("errors", "yielded"),
    [
        ([1e-14, 1e-15], 1),  # precise at the start
        ([1.0, 1e-5, 1e-14, 1e-15], 3),  # precise after two steps
        ([1.0, 1e-11, 0.9e-11, 1e-12], 2),  # rounding: the third error is no real progress
        ([1.0, 0.9, 0.8, 1e-14], 4),  # slow, but not yet stopped by rounding
        ([1.0, 0.5], 2),  # no further step is possible
    ],
)
def test_iteration_ends_when_precise_or_stuck(errors, yielded):
    assert list(newton_errors(Recorded(errors))) == errors[:yielded]


def test_iteration_ends_early_if_the_error_stays_large():
    errors = [2 * HOPELESS] * 100
    assert len(list(newton_errors(Recorded(errors), patience=PATIENCE))) == PATIENCE + 1
    assert len(list(newton_errors(Recorded(errors), 60))) == 61
    assert len(list(newton_errors(Recorded([HOPELESS] * 100), patience=PATIENCE))) == 41


def test_visits_without_a_flow_have_no_solution():
    net = network(unroll(priors.get("catcher"), 3))
    visits = uniform_visits(net)
    every = np.ones(len(net.tails), bool)
    solved = max_entropy_flow(net, every, visits)
    np.testing.assert_allclose(push(net, solved.shares), visits, atol=1e-12)
    visits[1:3] = 0.1, 0.9  # the first node of layer 2 would need more than its only tail has
    assert max_entropy_flow(net, every, visits).shares is None
