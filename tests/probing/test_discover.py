import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import TimeAwareObservation, TimeLimit

import easee
from easee import Equivalences, discover, priors, unroll
from easee.envs import CardinalGrid, RotationGrid
from easee.envs.doorkey import DoorKey
from easee.envs.table import tabulate
from easee.errors import ProbeError


class Ring(gym.Env):
    """Squares in a circle; every action goes on by a number of them."""

    observation_space = gym.spaces.Discrete(1000)

    def __init__(self, size=5, **strides):
        self.size = size
        self.strides = tuple(strides.values())
        self.action_names = tuple(strides)
        self.action_space = gym.spaces.Discrete(len(strides))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return self.at, {}

    def step(self, action):
        self.at = (self.at + self.strides[action]) % self.size
        return self.at, 0.0, False, False, {}


class Uncopyable(Ring):
    def __deepcopy__(self, memo):
        raise TypeError("no copies of this one")


class Slippery(gym.Wrapper):
    """Some steps go elsewhere."""

    def step(self, action):
        random = self.unwrapped.np_random
        return self.env.step(random.integers(4) if random.random() < 0.3 else action)


class Counting(gym.Wrapper):
    """Counts the steps of all copies together."""

    taken = 0

    def step(self, action):
        Counting.taken += 1
        return self.env.step(action)


def found_in(env, **options):
    return discover(env, **{"states": 40, "rollout": 2000, **options})


def texts(found):
    return [str(evidence) for evidence in found.evidence]


def same_graph(one, two, depth):
    """Tell whether two priors merge the same words; nodes are numbered alike if so."""
    graphs = [unroll(omega, depth) for omega in (one, two)]
    return graphs[0].layer_sizes == graphs[1].layer_sizes and np.array_equal(
        graphs[0].successors, graphs[1].successors
    )


def assert_none_follows_from_those_before(omega):
    for i, (left, right) in enumerate(omega):
        assert Equivalences(omega.actions, omega.pairs[:i]).equivalent(left, right) is not True


# --- worlds whose equivalences are known ---------------------------------------------------------


def test_all_there_is_to_know_of_the_rotation_grid_is_found():
    found = discover(RotationGrid(), states=100, rollout=5000)
    assert same_graph(found.equivalences, priors.get("rotation-grid-complete"), 12)
    assert found.length == 4 and all(e.violations == 0 for e in found.evidence)
    assert_none_follows_from_those_before(found.equivalences)


def test_four_moves_are_found_to_be_the_plane():
    found = found_in(CardinalGrid(), max_length=3)
    graph = unroll(found.equivalences, 8)
    assert graph.layer_sizes == (1, *(4 * n for n in range(1, 9)))
    assert same_graph(found.equivalences, priors.get("cardinal-grid"), 8)
    assert_none_follows_from_those_before(found.equivalences)


def test_a_tolerance_looks_past_the_walls():
    complete = priors.get("rotation-grid-complete")
    world = RotationGrid(8)
    strict = found_in(world, states=100, eventful=0.0)
    assert not same_graph(strict.equivalences, complete, 6)
    tolerant = found_in(world, states=100, eventful=0.0, tolerance=0.3)
    assert same_graph(tolerant.equivalences, complete, 6)
    assert any(e.violations for e in tolerant.evidence)
    assert all(e.violations <= 0.3 * e.trials for e in tolerant.evidence)
    assert any("30%" in note for note in tolerant.notes)


def test_a_finite_world_is_found_to_be_finite():
    found = found_in(Ring(5, one=1, two=2), max_length=5)
    assert len(unroll(found.equivalences, 6)) == 5
    assert_none_follows_from_those_before(found.equivalences)
    assert "two ~ one one" in texts(found) or "one one ~ two" in texts(found)


def test_an_action_that_does_nothing_is_found():
    assert texts(found_in(Ring(50, wait=0, go=1), max_length=1)) == ["wait ~ Λ"]


def test_two_actions_that_do_the_same_are_found():
    found = found_in(Ring(50, go=1, run=1, leap=9), max_length=1)
    assert texts(found) == ["run ~ go"]


def test_what_has_no_equivalences_gets_none():
    found = found_in(Ring(1000, go=1, leap=30), max_length=1)
    assert found.evidence == () and len(found.equivalences) == 0
    assert found.equivalences.actions == ("go", "leap")


def test_actions_without_names_are_numbers():
    world = Ring(50, go=1, back=-1)
    del world.action_names
    assert texts(found_in(world, max_length=2)) == ["0 1 ~ Λ", "1 0 ~ Λ"]


@pytest.mark.slow
def test_the_door_and_the_key_are_not_overlooked():
    found = discover(DoorKey(), max_length=3, states=100, seed=1)
    for left, right in priors.doorkey():
        assert found.equivalences.equivalent(left, right) is True
    assert_none_follows_from_those_before(found.equivalences)
    assert "near effects of" in " ".join(found.notes)
    for layout in range(3):
        table = tabulate(DoorKey(), seed=layout)
        ended = np.zeros(len(table), bool)
        ended[table.successors[table.ends]] = True  # at the goal nothing goes on
        for pair in found.equivalences.indexed.pairs:
            ends = []
            for word in pair:
                end = np.flatnonzero(~ended)
                for action in word:
                    end = np.where(ended[end], end, table.successors[end, action])
                ends.append(end)
            assert (ends[0] != ends[1]).mean() <= 0.001


# --- what it costs -------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [1, 50, 200, 700, 1200, 1500])
@pytest.mark.parametrize("world", [Ring, Uncopyable])
def test_a_budget_is_never_exceeded(world, budget):
    Counting.taken = 0
    env = TimeLimit(Counting(world(997, go=1, leap=31)), 20)
    found = discover(env, states=20, rollout=100, max_length=15, budget=budget)
    assert found.env_steps == Counting.taken <= budget
    assert found.length < 15 and any(f"budget of {budget:,} steps" in n for n in found.notes)


def test_a_larger_budget_gets_further():
    lengths = [
        discover(RotationGrid(), states=30, budget=budget).length
        for budget in (100, 3000, 4500, 10_000)
    ]
    assert lengths == sorted(lengths) and lengths[0] == 0 and lengths[-1] == 4


def test_words_that_follow_from_what_is_known_cost_nothing():
    two, three = (found_in(CardinalGrid(), max_length=n).env_steps for n in (2, 3))
    new = 4 * 3  # places at a distance of three: one more step for each, in the first 16 states
    assert three - two == 16 * new


def test_what_was_found_within_the_budget_is_true():
    found = discover(RotationGrid(), states=30, budget=3500)
    assert found.length < 4
    complete = priors.get("rotation-grid-complete")
    assert found.evidence
    assert all(complete.equivalent(e.left, e.right) for e in found.evidence)


def test_nothing_is_said_about_a_budget_that_lasted():
    found = found_in(Ring(5, one=1), max_length=2)
    assert found.length == 2 and not any("budget" in note for note in found.notes)


def test_the_same_seed_finds_the_same():
    one, again, other = (found_in(DoorKey(), max_length=2, seed=seed) for seed in (3, 3, 4))
    assert one == again
    assert one.env_steps != other.env_steps


def test_progress_is_told():
    told = []
    found_in(RotationGrid(), max_length=2, progress=lambda *now: told.append(now))
    assert [tried for tried, _ in told] == list(range(1, 3 + 9 + 1))
    assert told[-1][1] == 1 + 3 + 6  # the empty word, three letters, nine words less three


# --- what is compared ----------------------------------------------------------------------------


def test_a_function_may_say_what_is_compared():
    found = found_in(CardinalGrid(), max_length=1, state=lambda env: int(env.unwrapped.state[0]))
    assert texts(found) == ["up ~ Λ", "down ~ Λ"]
    assert not any("compared observations" in note for note in found.notes)
    assert any("compared observations" in n for n in found_in(CardinalGrid(), max_length=1).notes)


# --- worlds that nothing can be found in ---------------------------------------------------------


def test_observations_that_count_steps_are_refused_by_name():
    env = TimeAwareObservation(TimeLimit(CardinalGrid(), 50), flatten=False)
    with pytest.raises(easee.ArgumentError, match=r"count steps: \['time'\].*state="):
        found_in(env)
    found = found_in(env, max_length=2, state=lambda env: tuple(env.unwrapped.state.tolist()))
    assert "right left ~ Λ" in texts(found)


def test_a_random_world_is_refused_with_a_way_out():
    with pytest.raises(ProbeError, match=r"random.*repeat_action_probability=0.*verify"):
        found_in(Slippery(CardinalGrid()))


def test_observations_that_never_repeat_are_refused_with_a_way_out():
    with pytest.raises(easee.ArgumentError, match="state="):
        found_in(gym.make("CartPole-v1"))


def test_names_that_no_prior_can_have_are_refused_before_the_work():
    world = Counting(Ring(5, **{"go on": 1, "back": -1}))
    Counting.taken = 0
    with pytest.raises(easee.PriorError, match="'go on'"):
        found_in(world)
    assert Counting.taken < 100


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_length": 0}, "max_length of at least 1"),
        ({"states": 0}, "states of at least 1"),
        ({"budget": 0}, "budget of at least 1"),
        ({"tolerance": 1.5}, "tolerance between 0 and 1"),
        ({"eventful": -0.5}, "eventful between 0 and 1"),
        ({"rollout": 0}, "rollout of at least 1"),
        ({"env": "CartPole-v1"}, "Gymnasium environment, found str"),
        ({"env": gym.make("Pendulum-v1")}, "Discrete"),
    ],
)
def test_bad_arguments(options, says):
    env = options.pop("env", CardinalGrid())
    with pytest.raises(easee.ArgumentError, match=says):
        found_in(env, **options)
