"""Tests that every explorer must pass."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

import easee
from easee import ZetaExplorer
from tests.explorers.conftest import MAKERS

INVALID_FOR_ALL: list[tuple[str, Any]] = [
    ("uniforms", None),
    ("uniforms", [5.0]),
    ("rng", {}),
    ("rng", None),
]
INVALID: dict[str, list[tuple[str, Any]]] = {
    "easee": [
        ("nodes", None),
        ("nodes", "text"),
        ("nodes", -1),
        ("nodes", 0.5),
        ("nodes", 10**6),
        ("lengths", -9),
        ("lengths", 99),
    ],
    "uniform": [],
    "zeta": [("repeated", 9), ("remaining", -1)],
    "tabu": [("last", 9), ("last", [[0], [0, 1]])],
}
INVALID_STATES = [
    (kind, key, value)
    for kind, entries in INVALID.items()
    for key, value in INVALID_FOR_ALL + entries
]


def roll(explorer, steps, epsilon=0.5, mask=None):
    """Return the actions of epsilon-greedy steps, (steps, n_envs)."""
    rng = np.random.default_rng(7)
    taken = []
    for _ in range(steps):
        greedy = rng.integers(explorer.n_actions, size=explorer.n_envs)
        actions = explorer.choose(greedy, epsilon, mask)
        explorer.step(actions, rng.random(explorer.n_envs) < 0.1)
        taken.append(actions)
    return np.array(taken)


# --- random numbers ----------------------------------------------------------------------------


@pytest.mark.parametrize("n_envs", [1, 5])
def test_equal_seeds_give_equal_actions(make, n_envs):
    np.testing.assert_array_equal(roll(make(n_envs, 3), 200), roll(make(n_envs, 3), 200))
    assert (roll(make(n_envs, 3), 200) != roll(make(n_envs, 4), 200)).any()


def test_the_global_generator_is_not_used(make):
    state = np.random.get_state(legacy=False)
    roll(make(2, 0), 20)
    np.testing.assert_equal(np.random.get_state(legacy=False), state)


@pytest.mark.parametrize("n_envs", [1, 5])
def test_reseed_discards_random_numbers_drawn_ahead(make, n_envs):
    explorer = make(n_envs, 3)
    roll(explorer, 20)
    explorer.reset()
    explorer.reseed(5)
    np.testing.assert_array_equal(roll(explorer, 100), roll(make(n_envs, 5), 100))


def test_a_generator_may_be_shared(make):
    rng = np.random.default_rng(0)
    explorer = make(1, rng)
    assert explorer.rng is rng
    explorer.reseed(other := np.random.default_rng(1))
    assert explorer.rng is other


@pytest.mark.parametrize("seed", [-1, "0", 0.5])
def test_invalid_seeds_are_rejected(make, seed):
    with pytest.raises(TypeError, match="expected a seed as None, a non-negative integer"):
        make(1, seed)


# --- a single environment ------------------------------------------------------------------------


@pytest.mark.parametrize("masked", [False, True])
def test_plain_numbers_and_arrays_give_the_same_actions(make, masked):
    arrays, numbers = make(1, 0), make(1, 0)
    rng = np.random.default_rng(7)
    for _ in range(500):
        greedy, done = int(rng.integers(3)), bool(rng.random() < 0.1)
        mask = None
        if masked:
            mask = rng.random(3) < 0.6
            mask[rng.integers(3)] = True
        if rng.random() < 0.2:
            (action,) = arrays.sample(mask)
            assert numbers.sample_one(mask) == action
        else:
            (action,) = arrays.choose([greedy], 0.5, mask)
            assert numbers.choose_one(greedy, 0.5, mask) == action
        assert numbers.explored.tolist() == arrays.explored.tolist()
        arrays.step([action], [done])
        numbers.step_one(int(action), done)
    np.testing.assert_equal(numbers.state_dict(), arrays.state_dict())


def test_a_mask_that_allows_everything_changes_nothing(make):
    np.testing.assert_array_equal(
        roll(make(1, 0), 500), roll(make(1, 0), 500, np.array([0.5]), [True] * 3)
    )


@pytest.mark.parametrize(
    "call",
    [lambda e: e.sample_one(), lambda e: e.choose_one(0, 0.5), lambda e: e.step_one(0, False)],
)
def test_methods_of_a_single_environment_reject_several(make, call):
    explorer = make(2, 0)
    if isinstance(explorer, ZetaExplorer):
        explorer.remaining[:] = 5  # a repetition needs no random numbers
    with pytest.raises(easee.ArgumentError, match="one environment, found 2.*use sample"):
        call(explorer)


def test_scalars_are_accepted_for_one_environment(make):
    explorer = make(1, 0)
    explorer.step(2, False)
    assert explorer.choose(1, 0.0).tolist() == [1]


# --- states --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_envs", [1, 4])
def test_an_explorer_resumes_exactly_from_a_state(make, n_envs):
    explorer = make(n_envs, 0)
    roll(explorer, 50)
    state = explorer.state_dict()
    expected = roll(explorer, 50)
    fresh = make(n_envs, 99)
    fresh.load_state_dict(state)
    np.testing.assert_array_equal(roll(fresh, 50), expected)


def test_a_state_does_not_change_with_its_explorer(make):
    explorer = make(4, 0)
    roll(explorer, 5)
    state = explorer.state_dict()
    fresh = make(4, 0)
    fresh.load_state_dict(state)
    before = fresh.state_dict()
    roll(fresh, 5)
    roll(explorer, 5)
    np.testing.assert_equal(state, before)


def test_a_state_of_another_explorer_is_rejected(make):
    state = make(4, 0).state_dict()
    with pytest.raises(easee.ArgumentError, match="n_envs=3"):
        make(3, 0).load_state_dict(state)
    with pytest.raises(easee.ArgumentError, match="another"):
        make(4, 0).load_state_dict(state | {"kind": "SomeExplorer"})
    with pytest.raises(easee.ArgumentError, match="a state with the entries"):
        make(4, 0).load_state_dict(None)


@pytest.mark.parametrize("n_envs", [1, 40])
@pytest.mark.parametrize(("kind", "key", "value"), INVALID_STATES)
def test_an_invalid_state_is_rejected_and_changes_nothing(kind, key, value, n_envs):
    explorer = MAKERS[kind](n_envs, 0)
    roll(explorer, 5)
    before = explorer.state_dict()
    assert key in before
    if isinstance(value, int | float):
        value = np.full(n_envs, value)
    with pytest.raises(easee.ArgumentError, match=f"{key}|generator"):
        explorer.load_state_dict(before | {key: value})
    np.testing.assert_equal(explorer.state_dict(), before)


# --- choosing ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.array, int])
@pytest.mark.parametrize("n_envs", [1, 2, 40])
def test_epsilon_may_be_any_number(make, kind, n_envs):
    for epsilon in (0.0, 1.0):
        expected = roll(make(n_envs, 3), 30, epsilon)
        np.testing.assert_array_equal(roll(make(n_envs, 3), 30, kind(epsilon)), expected)


def test_every_environment_has_its_own_coin(make):
    explorer = make(4000, 0)
    actions = explorer.choose(np.full(4000, 1), 0.5)
    assert 0.55 < (actions == 1).mean() < 0.85  # half are greedy, and some explore with 1


def test_epsilon_0_is_greedy_and_1_explores(make):
    greedy = np.array([2, 1, 0])
    np.testing.assert_array_equal(make(3, 0).choose(greedy, 0.0), greedy)
    assert (make(3000, 0).choose(np.zeros(3000, int), 1.0) != 0).any()


def test_epsilon_may_differ_by_environment(make):
    explorer = make(2000, 0)
    epsilon = np.repeat([0.0, 1.0], 1000)
    actions = explorer.choose(np.zeros(2000, int), epsilon)
    assert not actions[:1000].any() and actions[1000:].any()


@pytest.mark.parametrize("n_envs", [1, 300])
def test_masks_are_obeyed(make, n_envs):
    explorer = make(n_envs, 0)
    rng = np.random.default_rng(1)
    for _ in range(40):
        mask = rng.random((n_envs, 3)) < 0.5
        mask[np.arange(n_envs), rng.integers(3, size=n_envs)] = True
        actions = explorer.sample(mask)
        assert mask[np.arange(n_envs), actions].all()
        explorer.step(actions)
    assert (explorer.sample([False, True, False]) == 1).all()
    explorer.reset()
    assert not explorer.choose(np.zeros(n_envs, int), 0.0, mask=[False, True, True]).any()  # greedy


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n_envs", [1, 4])
def test_greedy_actions_may_be_given_by_a_function(make, n_envs, epsilon):
    by_value, by_function = make(n_envs, 0), make(n_envs, 0)
    rng = np.random.default_rng(7)
    for _ in range(200):
        greedy = rng.integers(3, size=n_envs)
        expected = by_value.choose(greedy, epsilon)
        actions = by_function.choose(lambda greedy=greedy: greedy, epsilon)
        np.testing.assert_array_equal(actions, expected)
        np.testing.assert_array_equal(by_function.explored, by_value.explored)
        dones = rng.random(n_envs) < 0.1
        by_value.step(expected, dones)
        by_function.step(actions, dones)
    np.testing.assert_equal(by_function.state_dict(), by_value.state_dict())


@pytest.mark.parametrize("n_envs", [1, 4])
def test_the_greedy_function_is_called_only_if_some_environment_is_greedy(make, n_envs):
    calls = []

    def greedy():
        calls.append(1)
        return np.zeros(n_envs, int)

    explorer = make(n_envs, 0)
    for _ in range(50):
        explorer.step(explorer.choose(greedy, 1.0))
    assert not calls
    explorer.reset()
    explorer.choose(greedy, 0.0)
    assert len(calls) == 1


@pytest.mark.parametrize("n_envs", [1, 20])
def test_actions_of_the_greedy_function_are_checked(make, n_envs):
    with pytest.raises(easee.ArgumentError, match="from 0 to 2"):
        make(n_envs, 0).choose(lambda: np.full(n_envs, 3), 0.0)
    with pytest.raises(easee.ArgumentError, match="one action for each"):
        make(n_envs, 0).choose(lambda: np.zeros(n_envs + 1, int), 0.0)


@pytest.mark.parametrize("n_envs", [1, 4])
def test_explored_tells_which_actions_are_exploratory(make, n_envs):
    explorer = make(n_envs, 0)
    assert explorer.explored.shape == (n_envs,) and not explorer.explored.any()
    explorer.sample()
    assert explorer.explored.dtype == bool and explorer.explored.all()
    explorer.reset()
    explorer.choose(np.zeros(n_envs, int), 0.0)
    assert not explorer.explored.any()
    explorer.choose(np.zeros(n_envs, int), 1.0)
    assert explorer.explored.all()
    explorer.sample(mask=[True, True, False])
    assert explorer.explored.all()
    explorer.explored[:] = False  # a copy
    assert explorer.explored.all()


def test_explored_has_the_probability_epsilon(make):
    explorer = make(20, 0)
    flags = []
    for _ in range(400):
        actions = explorer.choose(np.full(20, 1), np.repeat([0.2, 0.7], 10))
        flags.append(explorer.explored)
        assert (actions[~explorer.explored] == 1).all()
        explorer.step(actions)
        explorer.reset()  # ends repetitions
    counts = np.sum(flags, axis=0).reshape(2, 10).sum(axis=1)
    for count, epsilon in zip(counts, (0.2, 0.7), strict=True):
        expected = [4000 * epsilon, 4000 * (1 - epsilon)]
        assert chisquare([count, 4000 - count], expected).pvalue > 0.001


# --- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda e: e.step([0, 1], [False] * 3), "one action for each of 3"),
        (lambda e: e.step([0, 1, 3], [False] * 3), "from 0 to 2"),
        (lambda e: e.step([0, 1, -1], [False] * 3), "from 0 to 2"),
        (lambda e: e.step([0.0, 1.0, 2.0], [False] * 3), "integers"),
        (lambda e: e.step([0, 1, 2], [False] * 2), "dones of shape"),
        (lambda e: e.step([0, 1, 2], [0.5] * 3), "booleans"),
        (lambda e: e.sample(np.zeros(3, bool)), "allows no action"),
        (lambda e: e.sample([[True] * 3, [False] * 3, [True] * 3]), "environment 1 allows no"),
        (lambda e: e.sample(np.ones(4, bool)), "mask of shape"),
        (lambda e: e.sample([0.5, 1, 1]), "mask of booleans"),
        (lambda e: e.choose([0, 0, 0], 1.5), "between 0 and 1"),
        (lambda e: e.choose([0, 0, 0], -0.1), "between 0 and 1"),
        (lambda e: e.choose([0, 0, 0], float("nan")), "between 0 and 1"),
        (lambda e: e.choose([0, 0, 0], [0.1, 0.2]), "epsilon as a number or"),
        (lambda e: e.choose([0, 0, 0], "0.5"), "epsilon as a number, found '0.5'"),
        (lambda e: e.choose([0, 0, 0], None), "epsilon as a number, found None"),
        (lambda e: e.choose([0, 0, 0], [[0.1], [0.1, 0.2]]), "epsilon as a number"),
        (lambda e: e.choose([0, 0, 0], [0.1, 0.2, 2]), "between 0 and 1"),
        (lambda e: e.choose([0, 0, 9], 0.1), "from 0 to 2"),
        (lambda e: e.reset([True]), "which of shape"),
        (lambda e: e.reset([0, 1, 0]), "which as booleans"),
    ],
)
def test_invalid_arguments_are_rejected(make, call, error):
    with pytest.raises(easee.ArgumentError, match=error):
        call(make(3, 0))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda e: e.step([3]), "from 0 to 2"),
        (lambda e: e.step([-1]), "from 0 to 2"),
        (lambda e: e.step(np.array([3])), "from 0 to 2"),
        (lambda e: e.step(np.array([0.0])), "integers"),
        (lambda e: e.step([0, 1]), "one action for each of 1"),
        (lambda e: e.step([0], [0.5]), "booleans"),
        (lambda e: e.sample([False] * 3), "allows no action"),
        (lambda e: e.choose([0], [0.1, 0.2]), "epsilon as a number or"),
        (lambda e: e.choose([3], 0.0), "from 0 to 2"),
    ],
)
def test_invalid_arguments_of_a_single_environment_are_rejected(make, call, error):
    with pytest.raises(easee.ArgumentError, match=error):
        call(make(1, 0))


@pytest.mark.parametrize("n_envs", [0, -1, 1.5, True])
def test_invalid_numbers_of_environments_are_rejected(make, n_envs):
    with pytest.raises(easee.ArgumentError, match="n_envs"):
        make(n_envs, 0)


# --- damaged arguments -------------------------------------------------------------------------

RAGGED = [[0], [0, 1]]


def contents(explorer):
    """Return the state of an explorer as plain values."""
    state = explorer.state_dict()
    return {key: getattr(value, "tolist", lambda v=value: v)() for key, value in state.items()}


@pytest.mark.parametrize("n_envs", [1, 2])
@pytest.mark.parametrize(
    "call",
    [
        lambda explorer: explorer.step(RAGGED),
        lambda explorer: explorer.step([0] * explorer.n_envs, RAGGED),
        lambda explorer: explorer.step([0, [0]]),
        lambda explorer: explorer.step([0] * (explorer.n_envs - 1) + [99]),
        lambda explorer: explorer.step([0] * (explorer.n_envs - 1) + [10**30]),
        lambda explorer: explorer.step([0] * (explorer.n_envs - 1) + [None]),
        lambda explorer: explorer.step([0] * explorer.n_envs, np.zeros(explorer.n_envs, "V4")),
        lambda explorer: explorer.reset(RAGGED),
        lambda explorer: explorer.reset("nonsense"),
        lambda explorer: explorer.sample(RAGGED),
        lambda explorer: explorer.sample(np.zeros(explorer.n_actions, "V4")),
        lambda explorer: explorer.choose(RAGGED, 0.5),
        lambda explorer: explorer.choose([0] * explorer.n_envs, RAGGED),
        lambda explorer: explorer.probabilities(RAGGED),
    ],
)
def test_a_bad_entry_is_an_own_error_and_changes_nothing(make, n_envs, call):
    explorer = make(n_envs, 0)
    roll(explorer, 3)
    before = contents(explorer)
    with pytest.raises(easee.ArgumentError):
        call(explorer)
    assert contents(explorer) == before


@pytest.mark.parametrize("n_envs", [10**30, 2**63, 10**12])
def test_absurd_numbers_of_environments_are_rejected(make, n_envs):
    with pytest.raises(easee.ArgumentError, match="n_envs of at most 10,000,000"):
        make(n_envs, 0)


@pytest.mark.parametrize("value", [np.array([1, 2]), [1, 2], None, {}, np.array(["a"])])
def test_arrays_in_the_scalars_of_a_state_are_rejected(make, value):
    explorer = make(2, 0)
    state = explorer.state_dict()
    for key in ("kind", "n_actions", "n_envs", *explorer._settings()):
        with pytest.raises(easee.ArgumentError, match="of another explorer"):
            explorer.load_state_dict(state | {key: value})
    with pytest.raises(easee.ArgumentError, match="expected a state with the entries"):
        explorer.load_state_dict(state | {1: value, "x": value})
    for key in explorer._history():
        large = np.full(2, 2**64 - 1, np.uint64)  # as int64 it would be -1
        with pytest.raises(easee.ArgumentError, match="damaged"):
            explorer.load_state_dict(state | {key: large})


@pytest.mark.parametrize("n_envs", [1, 3])
def test_nodes_keep_their_type(n_envs):
    explorer = easee.Explorer(easee.compile(easee.commute("a", "b"), 4), n_envs, 0)
    for kind in (np.int64, np.uint8, np.uint64, np.int32):
        explorer.step(np.ones(n_envs, kind))
        assert explorer.nodes.dtype == explorer.lengths.dtype == np.int64
    explorer.load_state_dict(explorer.state_dict())
    assert explorer.nodes.dtype == explorer.lengths.dtype == np.int64


@pytest.mark.parametrize("n_envs", [1, 4])
def test_a_mask_that_forbids_nothing_changes_nothing(make, n_envs):
    plain, masked = make(n_envs, 5), make(n_envs, 5)
    mask = np.ones(plain.n_actions, bool)
    np.testing.assert_array_equal(roll(plain, 300), roll(masked, 300, mask=mask))
    assert contents(plain) == contents(masked)


@pytest.mark.parametrize("n_envs", [1, 4])
def test_all_ways_to_ask_give_the_same_actions(make, n_envs):
    first, second, third = (make(n_envs, 6) for _ in range(3))
    greedy = np.zeros(n_envs, np.int64)
    for i in range(200):
        epsilon = (i % 11) / 10
        actions = first.choose(greedy, epsilon)
        np.testing.assert_array_equal(second.choose(lambda: greedy, epsilon), actions)
        each = third.choose(greedy.tolist(), np.full(n_envs, epsilon))
        np.testing.assert_array_equal(each, actions)
        for explorer in (first, second, third):
            explorer.step(actions)


def test_an_environment_without_a_mask_is_not_changed_by_the_masks_of_others(make):
    plain, masked = make(4, 5), make(4, 5)
    mask = np.ones((4, plain.n_actions), bool)
    mask[1, 1:] = False
    expected, found = plain.sample(), masked.sample(mask)
    np.testing.assert_array_equal(np.delete(found, 1), np.delete(expected, 1))
    assert found[1] == 0
