from itertools import product

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit
from scipy.stats import chisquare

from easee.envs import CardinalGrid, Catcher, RotationGrid
from easee.envs.doorkey import DoorKey
from easee.probing.probe import make_probe
from easee.probing.state_sampling import sample_states

LEFT, RIGHT, FORWARD, PICKUP, OPEN = range(5)
HAS_KEY, IS_OPEN = 3, 4  # in DoorKey's observations
MOVES = [word for n in range(4) for word in product((LEFT, RIGHT, FORWARD), repeat=n)]


@pytest.fixture(scope="module")
def doorkey():
    probe = make_probe(DoorKey())
    return probe, sample_states(probe, 60, seed=0, rollout=20_000)


def near(probe, state, action, flag):
    """Return whether a word of at most four actions ends in a rare effect."""
    ends = [probe.after(state, (*moves, action)) for moves in MOVES]
    return not state.observation[flag] and any(end.observation[flag] for end in ends)


def keys(result):
    return [state.key for state in result.states]


@pytest.mark.parametrize("env", [CardinalGrid(9), Catcher(), DoorKey(max_steps=60)])
@pytest.mark.parametrize(("count", "eventful"), [(1, 0.5), (40, 0.5), (40, 0.0), (7, 1.0)])
def test_the_requested_number_of_unfinished_states_is_sampled(env, count, eventful):
    result = sample_states(make_probe(env), count, seed=0, eventful=eventful, rollout=1000)
    assert len(result.states) == count
    assert not any(state.ended for state in result.states)
    assert result.eventful <= eventful * count + 0.5
    assert 1000 <= result.steps < 1050


def test_equal_seeds_sample_equal_states():
    def sampled(seed):
        return sample_states(make_probe(DoorKey()), 30, seed=seed, rollout=2000)

    one, again, other = sampled(3), sampled(3), sampled(4)
    assert keys(one) == keys(again) and keys(one) != keys(other)
    assert (one.rare, one.eventful, one.steps) == (again.rare, again.eventful, again.steps)


def test_states_can_be_restored():
    probe = make_probe(RotationGrid(9))
    states = sample_states(probe, 20, seed=0, rollout=500).states
    assert len(states) == 20
    for state in states:
        x, y, heading = state.observation
        assert probe.after(state, [1]).observation.tolist() == [x, y, (heading - 1) % 4]


@pytest.mark.slow
def test_eventful_states_are_near_rare_effects(doorkey):
    probe, result = doorkey
    assert result.rare == {PICKUP, OPEN} and result.eventful == 30
    special = result.states[:30]
    near_key = sum(near(probe, state, PICKUP, HAS_KEY) for state in special)
    near_door = sum(near(probe, state, OPEN, IS_OPEN) for state in special)
    assert near_key > 5 and near_door >= 1
    by_chance = sum(
        near(probe, state, PICKUP, HAS_KEY) or near(probe, state, OPEN, IS_OPEN)
        for state in result.states[30:]
    )
    assert by_chance < near_key + near_door


@pytest.mark.slow
def test_near_contains_the_eventful_states_and_more(doorkey):
    probe, result = doorkey
    keys_near = {state.key for state in result.near}
    assert {state.key for state in result.states[:30]} <= keys_near
    assert any(near(probe, state, OPEN, IS_OPEN) for state in result.near)


@pytest.mark.parametrize("env", [RotationGrid(), CardinalGrid(), Catcher()])
def test_open_environments_have_no_rare_effects(env):
    result = sample_states(make_probe(env), 20, seed=0, rollout=2000)
    assert not result.rare and not result.near and result.eventful == 0
    assert len(result.states) == 20


def test_eventful_zero_samples_no_states_near_rare_effects():
    result = sample_states(make_probe(DoorKey()), 20, seed=0, eventful=0.0, rollout=5000)
    assert result.eventful == 0 and not result.near


@pytest.mark.slow
def test_ordinary_states_are_distributed_as_in_a_random_walk():
    result = sample_states(make_probe(CardinalGrid(3)), 900, seed=0, eventful=0.0, rollout=20_000)
    squares = np.array([state.observation for state in result.states])
    counts = np.bincount(squares @ [3, 1], minlength=9)
    assert chisquare(counts).pvalue > 0.001  # the stationary distribution is uniform


def test_short_episodes_are_restarted():
    probe = make_probe(TimeLimit(CardinalGrid(), 3))
    result = sample_states(probe, 50, seed=0, rollout=300)
    start = np.array([50, 50])
    distances = [int(np.abs(state.observation - start).sum()) for state in result.states]
    assert set(distances) == {0, 1, 2}  # the third step truncates


def test_pickup_and_toggle_are_rare_effects_in_minigrid():
    world = gym.make("MiniGrid-DoorKey-6x6-v0")
    actions = world.get_wrapper_attr("actions")
    result = sample_states(make_probe(world), 10, seed=0, rollout=2000)
    assert {actions.pickup, actions.toggle} <= result.rare
    assert not {actions.left, actions.right, actions.done} & result.rare
