import copy

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from minigrid.core.world_object import Door, Goal, Key, Wall

import easee
from easee.envs.doorkey import DoorKey
from easee.envs.table import tabulate

LEFT, RIGHT, FORWARD, PICKUP, OPEN = range(5)
LAYOUTS = [0, 1, 7]


@pytest.fixture(scope="module")
def table():
    return tabulate(DoorKey(), seed=0)


def layout(env):
    """Return where the agent starts, the key and the door are."""
    return tuple(env.state[:3].tolist()), env.key_place, tuple(env.door.cur_pos)


def places(env, kind):
    cells = [(x, y) for x in range(env.width) for y in range(env.height)]
    return [cell for cell in cells if isinstance(env.grid.get(*cell), kind)]


def shortest(table, source, found):
    """Return the actions of a shortest way from a state to one where `found` holds."""
    ways, queue = {source: []}, [source]
    for state in queue:
        if found(table.states[state]):
            return ways[state]
        for action, there in enumerate(table.successors[state].tolist()):
            if there not in ways:
                ways[there] = [*ways[state], action]
                queue.append(there)
    raise AssertionError("no way")


def test_registered_and_sound():
    check_env(gym.make("easee/DoorKey-v0").unwrapped, skip_render_check=True)


@pytest.mark.parametrize("seed", LAYOUTS)
def test_the_rooms_are_12_by_17_and_4_by_17(seed):
    env = DoorKey()
    env.reset(seed=seed)
    free = [c for c in places(env, (type(None), Key, Goal)) if c != (0, 0)]
    rooms = [c for c in free if c[0] < 13], [c for c in free if c[0] > 13]
    assert [len(room) for room in rooms] == [12 * 17, 4 * 17]
    assert {y for _, y in free} == set(range(1, 18)) and {x for x, _ in rooms[1]} == {
        14,
        15,
        16,
        17,
    }
    (door,) = places(env, Door)
    assert door[0] == 13 and places(env, Goal) == [(17, 17)]
    assert len(places(env, Wall)) == 19 * 19 - len(free) - 1
    (column, _, _), (key, _), _ = layout(env)
    assert 1 <= column <= 12 and 1 <= key <= 12


def test_the_layout_stays_until_a_seed_draws_another():
    env = DoorKey()
    env.reset(seed=0)
    first = layout(env)
    for _ in range(5):
        for action in np.random.default_rng(1).integers(5, size=50):
            env.step(action)
        env.reset()
        assert layout(env) == first
    drawn = set()
    for seed in range(30):
        env.reset(seed=seed)
        drawn.add(layout(env))
    assert len(drawn) == 30
    env.reset(seed=0)
    assert layout(env) == first


def test_an_environment_without_a_seed_keeps_its_first_layout():
    env = DoorKey()
    env.reset()
    first = layout(env)
    env.reset()
    assert layout(env) == first


@pytest.mark.parametrize("seed", LAYOUTS)
def test_the_five_relations_of_the_prior_hold_in_every_state(seed):
    successors = tabulate(DoorKey(), seed=seed).successors
    pairs = easee.priors.doorkey().indexed.pairs
    assert len(pairs) == 5
    for pair in pairs:
        one, other = (np.arange(len(successors)) for _ in pair)
        for action in pair[0]:
            one = successors[one, action]
        for action in pair[1]:
            other = successors[other, action]
        np.testing.assert_array_equal(one, other)


def test_opening_twice_is_opening_once():
    env = DoorKey()
    rng = np.random.default_rng(0)
    opened = 0
    for seed in range(5):
        table = tabulate(env, seed=seed)
        door = env.door.cur_pos
        beside = [s for s in table.states if abs(s[0] - door[0]) == 1 and s[1] == door[1]]
        for state in [*beside, *rng.permutation(table.states)[:50]]:
            env.state = state
            once, *_ = env.step(OPEN)
            twice, *_ = env.step(OPEN)
            np.testing.assert_array_equal(twice, once)
            opened += bool(once[4]) and not state[4]
    assert opened == 5  # from the one state in each layout where it does something


def test_minigrid_s_own_toggle_closes_again():
    env = gym.make("MiniGrid-DoorKey-8x8-v0").unwrapped
    env.reset(seed=0)
    (door,) = places(env, Door)
    env.agent_pos, env.agent_dir, env.carrying = (door[0] - 1, door[1]), 0, Key("yellow")
    opened = []
    for _ in range(2):
        env.step(env.actions.toggle)
        opened.append(env.grid.get(*door).is_open)
    assert opened == [True, False]


def test_the_door_needs_the_key():
    env = DoorKey()
    env.reset(seed=0)
    column, row = env.door.cur_pos
    for holds in (0, 1):
        env.state = [column - 1, row, 0, holds, 0]
        assert env.step(OPEN)[0][4] == holds
        assert env.step(FORWARD)[0][0] == column - 1 + holds


def test_a_shortest_way_fetches_the_key_opens_the_door_and_reaches_the_goal(table):
    goal = table.number(table.states[table.successors[table.ends][0]])
    way = shortest(table, 0, lambda state: (state == table.states[goal]).all())
    assert way.count(PICKUP) == way.count(OPEN) == 1 and way.index(PICKUP) < way.index(OPEN)
    env = DoorKey()
    env.reset(seed=0)
    *others, last = [env.step(action) for action in way]
    assert not any(reward or end or cut for _, reward, end, cut, _ in others)
    assert last[0][:2].tolist() == [17, 17] and last[1:4] == (1.0, True, False)


def test_the_reward_is_1_however_late():
    env = DoorKey()
    env.reset(seed=0)
    env.state = [17, 16, 1, 1, 1]
    env.step_count = 3000
    assert env.step(FORWARD)[1:4] == (1.0, True, False)


@pytest.mark.parametrize(("options", "steps"), [({}, 3249), ({"max_steps": 20}, 20)])
def test_an_episode_is_cut_off(options, steps):
    env = DoorKey(**options)
    env.reset(seed=0)
    actions = np.arange(steps) % 2 * OPEN  # everything counts as a step
    flags = [env.step(action)[2:4] for action in actions]
    assert flags == [(False, False)] * (steps - 1) + [(False, True)]


@pytest.mark.parametrize("seed", LAYOUTS)
def test_the_table_agrees_with_stepping(seed):
    env = DoorKey()
    table = tabulate(env, seed=seed)
    assert table.max_steps == 3249 and not table.rewards[~table.ends].any()
    rng = np.random.default_rng(seed)
    for start in (0, *rng.integers(len(table), size=20)):
        env.reset()
        env.state = table.states[start]
        state = start
        for action in rng.integers(5, size=100):
            observation, reward, terminated, _, _ = env.step(action)
            assert (reward, terminated) == (table.rewards[state, action], table.ends[state, action])
            state = table.successors[state, action]
            np.testing.assert_array_equal(observation, table.states[state])
            if terminated:
                break


def test_the_table_has_every_state_of_the_world(table):
    cells, door = 12 * 17, 1
    without_key = (cells - 1) * 4  # nobody stands on the key
    with_key, opened = cells * 4, (cells + door + 4 * 17) * 4
    beyond = 2  # an episode ends at the goal: nobody turns around there
    assert len(table) == without_key + with_key + opened - beyond
    assert len(np.unique(table.states, axis=0)) == len(table)


def test_a_state_can_be_set_and_read(table):
    env = DoorKey()
    first, _ = env.reset(seed=0)
    for state in table.states[:: len(table) // 200]:
        env.state = state
        np.testing.assert_array_equal(env.state, state)
        assert env.observation_space.contains(env.state)
        assert bool(places(env, Key)) != bool(state[3])
    env.state = first
    np.testing.assert_array_equal(env.reset()[0], first)


def test_a_state_that_was_set_begins_an_episode():
    env = DoorKey(max_steps=3)
    state, _ = env.reset(seed=0)
    for _ in range(2):
        env.state = state
        assert [env.step(OPEN)[3] for _ in range(3)] == [False, False, True]


def test_an_observation_stays_as_it_was():
    env = DoorKey()
    observation, _ = env.reset(seed=0)
    before = observation.copy()
    env.step(FORWARD)
    np.testing.assert_array_equal(observation, before)


def test_it_is_drawn():
    env = DoorKey(render_mode="rgb_array")
    env.reset(seed=0)
    image = env.render()
    assert image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3
    assert image.shape[0] == image.shape[1] and image.shape[0] % 19 == 0
    env.step(LEFT)
    assert (env.render() != image).any()


@pytest.mark.parametrize("action", [5, -1, 1.5])
def test_bad_actions(action):
    env = DoorKey()
    env.reset(seed=0)
    with pytest.raises(easee.ArgumentError, match="action from 0 to 4, found"):
        env.step(action)


def test_a_copy_may_be_made_before_the_first_reset():
    twin = copy.deepcopy(DoorKey())
    np.testing.assert_array_equal(twin.reset(seed=1)[0], DoorKey().reset(seed=1)[0])
