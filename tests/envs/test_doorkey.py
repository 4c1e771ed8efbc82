import copy
from typing import Any

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
    """Return the positions of agent, key and door."""
    return tuple(env.state[:3].tolist()), env.key_place, tuple(env.door.cur_pos)


def cells_with(env, kind):
    cells = [(x, y) for x in range(env.width) for y in range(env.height)]
    return [cell for cell in cells if isinstance(env.grid.get(*cell), kind)]


def shortest(table, source, is_goal):
    """Return the actions of a shortest path from a state to one where `is_goal` holds."""
    paths: dict[int, list[int]] = {source: []}
    queue = [source]
    for state in queue:
        if is_goal(table.states[state]):
            return paths[state]
        for action, successor in enumerate(table.successors[state].tolist()):
            if successor not in paths:
                paths[successor] = [*paths[state], action]
                queue.append(successor)
    raise AssertionError("there is no path")


def test_is_registered_and_passes_the_checker():
    check_env(gym.make("easee/DoorKey-v0").unwrapped, skip_render_check=True)


@pytest.mark.parametrize("seed", LAYOUTS)
def test_the_rooms_are_12_by_17_and_4_by_17(seed):
    env = DoorKey()
    env.reset(seed=seed)
    free = [c for c in cells_with(env, (type(None), Key, Goal)) if c != (0, 0)]
    rooms = [c for c in free if c[0] < 13], [c for c in free if c[0] > 13]
    assert [len(room) for room in rooms] == [12 * 17, 4 * 17]
    assert {y for _, y in free} == set(range(1, 18))
    assert {x for x, _ in rooms[1]} == {14, 15, 16, 17}
    (door,) = cells_with(env, Door)
    assert door[0] == 13 and cells_with(env, Goal) == [(17, 17)]
    assert len(cells_with(env, Wall)) == 19 * 19 - len(free) - 1
    (column, _, _), (key, _), _ = layout(env)
    assert 1 <= column <= 12 and 1 <= key <= 12


def test_only_a_seed_draws_a_new_layout():
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


def test_the_first_layout_is_kept_without_a_seed():
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


@pytest.mark.slow
def test_open_is_idempotent():
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
    assert opened == 5  # in the one state of each layout in which it has an effect


def test_toggle_of_stock_minigrid_closes_the_door_again():
    env: Any = gym.make("MiniGrid-DoorKey-8x8-v0").unwrapped
    env.reset(seed=0)
    (door,) = cells_with(env, Door)
    env.agent_pos, env.agent_dir, env.carrying = (door[0] - 1, door[1]), 0, Key("yellow")
    opened = []
    for _ in range(2):
        env.step(env.actions.toggle)
        opened.append(env.grid.get(*door).is_open)
    assert opened == [True, False]


def test_opening_the_door_requires_the_key():
    env = DoorKey()
    env.reset(seed=0)
    column, row = env.door.cur_pos
    for has_key in (0, 1):
        env.state = [column - 1, row, 0, has_key, 0]
        assert env.step(OPEN)[0][4] == has_key
        assert env.step(FORWARD)[0][0] == column - 1 + has_key


def test_a_shortest_path_fetches_the_key_opens_the_door_and_reaches_the_goal(table):
    goal = table.number(table.states[table.successors[table.ends][0]])
    path = shortest(table, 0, lambda state: (state == table.states[goal]).all())
    assert path.count(PICKUP) == path.count(OPEN) == 1 and path.index(PICKUP) < path.index(OPEN)
    env = DoorKey()
    env.reset(seed=0)
    *others, last = [env.step(action) for action in path]
    assert not any(reward or end or cut for _, reward, end, cut, _ in others)
    assert last[0][:2].tolist() == [17, 17] and last[1:4] == (1.0, True, False)


def test_the_reward_does_not_depend_on_time():
    env = DoorKey()
    env.reset(seed=0)
    env.state = [17, 16, 1, 1, 1]
    env.step_count = 3000
    assert env.step(FORWARD)[1:4] == (1.0, True, False)


@pytest.mark.parametrize(("options", "steps"), [({}, 3249), ({"max_steps": 20}, 20)])
def test_episodes_are_truncated(options, steps):
    env = DoorKey(**options)
    env.reset(seed=0)
    actions = np.arange(steps) % 2 * OPEN  # actions without effect count as steps
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


def test_the_table_contains_all_states(table):
    cells, door = 12 * 17, 1
    without_key = (cells - 1) * 4  # the agent cannot stand on the key
    with_key, opened = cells * 4, (cells + door + 4 * 17) * 4
    beyond = 2  # the agent cannot turn at the goal, where the episode ends
    assert len(table) == without_key + with_key + opened - beyond
    assert len(np.unique(table.states, axis=0)) == len(table)


def test_a_state_can_be_set_and_read(table):
    env = DoorKey()
    first, _ = env.reset(seed=0)
    for state in table.states[:: len(table) // 200]:
        env.state = state
        np.testing.assert_array_equal(env.state, state)
        assert env.observation_space.contains(env.state)
        assert bool(cells_with(env, Key)) != bool(state[3])
    env.state = first
    np.testing.assert_array_equal(env.reset()[0], first)


def test_setting_a_state_starts_an_episode():
    env = DoorKey(max_steps=3)
    state, _ = env.reset(seed=0)
    for _ in range(2):
        env.state = state
        assert [env.step(OPEN)[3] for _ in range(3)] == [False, False, True]


def test_observations_are_copies():
    env = DoorKey()
    observation, _ = env.reset(seed=0)
    before = observation.copy()
    env.step(FORWARD)
    np.testing.assert_array_equal(observation, before)


def test_images_change_with_the_state():
    env = DoorKey(render_mode="rgb_array")
    env.reset(seed=0)
    image = env.render()
    assert image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3
    assert image.shape[0] == image.shape[1] and image.shape[0] % 19 == 0
    env.step(LEFT)
    assert (env.render() != image).any()


@pytest.mark.parametrize("action", [5, -1, 1.5])
def test_invalid_actions_are_rejected(action):
    env = DoorKey()
    env.reset(seed=0)
    with pytest.raises(easee.ArgumentError, match="action from 0 to 4, found"):
        env.step(action)


def test_copies_can_be_made_before_the_first_reset():
    twin = copy.deepcopy(DoorKey())
    np.testing.assert_array_equal(twin.reset(seed=1)[0], DoorKey().reset(seed=1)[0])
