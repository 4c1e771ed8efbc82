from itertools import product

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit
from scipy.stats import chisquare

import easee
from easee.envs import CardinalGrid, Catcher, RotationGrid
from easee.envs.doorkey import DoorKey
from easee.probing.probe import make_probe
from easee.probing.state_sampling import sample

LEFT, RIGHT, FORWARD, PICKUP, OPEN = range(5)
HOLDS, OPENED = 3, 4  # of DoorKey's observations
MOVES = [word for n in range(4) for word in product((LEFT, RIGHT, FORWARD), repeat=n)]


@pytest.fixture(scope="module")
def doorkey():
    probe = make_probe(DoorKey())
    return probe, sample(probe, 60, seed=0, rollout=20_000)


def near(probe, place, action, flag):
    """Tell whether a word of at most four actions ends in a rare effect."""
    ends = [probe.after(place, (*moves, action)) for moves in MOVES]
    return not place.observation[flag] and any(end.observation[flag] for end in ends)


def keys(found):
    return [place.key for place in found.places]


@pytest.mark.parametrize("env", [CardinalGrid(9), Catcher(), DoorKey(max_steps=60)])
@pytest.mark.parametrize(("count", "eventful"), [(1, 0.5), (40, 0.5), (40, 0.0), (7, 1.0)])
def test_there_are_as_many_states_as_asked_for_and_none_is_an_end(env, count, eventful):
    found = sample(make_probe(env), count, seed=0, eventful=eventful, rollout=1000)
    assert len(found.places) == count
    assert not any(place.terminated or place.truncated for place in found.places)
    assert found.eventful <= eventful * count + 0.5
    assert 1000 <= found.seen < 1050


def test_the_same_seed_chooses_the_same_states():
    def chosen(seed):
        return sample(make_probe(DoorKey()), 30, seed=seed, rollout=2000)

    one, again, other = chosen(3), chosen(3), chosen(4)
    assert keys(one) == keys(again) and keys(one) != keys(other)
    assert (one.rare, one.eventful, one.seen) == (again.rare, again.eventful, again.seen)


def test_states_can_be_gone_on_from():
    probe = make_probe(RotationGrid(9))
    for place in sample(probe, 20, seed=0, rollout=500).places:
        x, y, heading = place.observation
        assert probe.after(place, [1]).observation.tolist() == [x, y, (heading - 1) % 4]


def test_states_near_rare_effects_are_near_them(doorkey):
    probe, found = doorkey
    assert found.rare == {PICKUP, OPEN} and found.eventful == 30
    special = found.places[:30]
    fetch = sum(near(probe, place, PICKUP, HOLDS) for place in special)
    enter = sum(near(probe, place, OPEN, OPENED) for place in special)
    assert fetch > 5 and enter >= 1
    by_chance = sum(
        near(probe, place, PICKUP, HOLDS) or near(probe, place, OPEN, OPENED)
        for place in found.places[30:]
    )
    assert by_chance < fetch + enter


def test_all_places_near_rare_effects_are_kept_for_later(doorkey):
    probe, found = doorkey
    keys_near = {place.key for place in found.near}
    assert {place.key for place in found.places[:30]} <= keys_near
    assert any(near(probe, place, OPEN, OPENED) for place in found.near)


@pytest.mark.parametrize("env", [RotationGrid(), CardinalGrid(), Catcher()])
def test_there_are_no_rare_effects_in_the_open(env):
    found = sample(make_probe(env), 20, seed=0, rollout=2000)
    assert not found.rare and not found.near and found.eventful == 0
    assert len(found.places) == 20


def test_no_share_of_eventful_states_is_none_of_them():
    found = sample(make_probe(DoorKey()), 20, seed=0, eventful=0.0, rollout=5000)
    assert found.eventful == 0 and not found.near


def test_states_come_as_random_actions_meet_them():
    found = sample(make_probe(CardinalGrid(3)), 900, seed=0, eventful=0.0, rollout=20_000)
    places = np.array([place.observation for place in found.places])
    counts = np.bincount(places @ [3, 1], minlength=9)
    assert chisquare(counts).pvalue > 0.001  # walls make the walk wait, so all squares are alike


def test_short_episodes_are_begun_again():
    probe = make_probe(TimeLimit(CardinalGrid(), 3))
    found = sample(probe, 50, seed=0, rollout=300)
    start = np.array([50, 50])
    away = [int(np.abs(place.observation - start).sum()) for place in found.places]
    assert set(away) == {0, 1, 2}  # before the last step, which cuts off


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"count": 0}, "states of at least 1"),
        ({"count": 5, "eventful": 1.5}, "eventful between 0 and 1"),
        ({"count": 5, "rollout": 0}, "rollout of at least 1"),
    ],
)
def test_bad_numbers_are_refused(options, says):
    with pytest.raises(easee.ArgumentError, match=says):
        sample(make_probe(CardinalGrid()), seed=0, **options)


def test_minigrid_s_own_actions_have_rare_effects():
    world = gym.make("MiniGrid-DoorKey-6x6-v0")
    actions = world.unwrapped.actions
    found = sample(make_probe(world), 10, seed=0, rollout=2000)
    assert {actions.pickup, actions.toggle} <= found.rare
    assert not {actions.left, actions.right, actions.done} & found.rare
