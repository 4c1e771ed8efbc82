from functools import cache

import gymnasium as gym
import numpy as np
import pytest
import torch
from scipy.stats import chi2_contingency, chisquare
from scipy.stats.contingency import crosstab
from stable_baselines3.common.preprocessing import preprocess_obs

from easee.envs import catcher, doorkey, grids
from easee.errors import ArgumentError, ArgumentTypeError

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

from easee.envs import jax as worlds  # noqa: E402
from easee.envs.jax import doorkey as doorkey_world  # noqa: E402

LEFT, RIGHT, FORWARD, PICKUP, OPEN = range(5)
GOAL = (17, 17)
FIELDS = [(60, 30), (10, 3), (2, 1), (5, 9), (1, 2)]
ROOMS = [
    (worlds.CardinalGrid, grids.CardinalGrid, 100, None),
    (worlds.CardinalGrid, grids.CardinalGrid, (4, 7), (3, 0)),
    (worlds.CardinalGrid, grids.CardinalGrid, 1, None),
    (worlds.RotationGrid, grids.RotationGrid, 100, None),
    (worlds.RotationGrid, grids.RotationGrid, (6, 3), (5, 1, 2)),
    (worlds.RotationGrid, grids.RotationGrid, (1, 4), None),
]
GOAL_GRIDS = [(5, None), ((3, 4), (2, 3, 1)), ((2, 1), None)]
LAYOUTS = [((12, 9), 9), ((1, 1), 1), ((12, 17), 16), ((6, 8), 17)]  # key and door
WORLDS = [
    worlds.Catcher(),
    worlds.Catcher(7, 4),
    worlds.CardinalGrid(5),
    worlds.RotationGrid((6, 3), (5, 1, 2), max_steps=9),
    worlds.DoorKey(),
]


def preprocessed(observations, space):
    """Return observations as Stable-Baselines3 feeds them to its network."""
    tensor = preprocess_obs(torch.as_tensor(np.asarray(observations)), space)
    assert isinstance(tensor, torch.Tensor)
    return tensor.numpy()


@cache
def compiled(world):
    return jax.jit(world.step), jax.jit(world.observe), jax.jit(world.restart)


def play(env, world, first, state, choose, n_episodes):
    """Play an environment and its world with the same actions and compare them.

    Args:
        first: observation of the environment after its reset.
        state: the same state of the world.

    Returns:
        Observation, reward, terminated and truncated of the environment in every step.
    """
    step, observe, restart = compiled(world)
    steps_taken, observed, expected = [], [observe(state)], [first]
    for episode in range(n_episodes):
        done = False
        while not done:
            action = choose(env)
            observation, *outcome, _ = env.step(action)
            state, *results = step(state, action)
            assert [x.item() for x in results] == outcome
            steps_taken.append((observation, *outcome))
            expected.append(observation)
            observed.append(observe(state))
            done = outcome[1] or outcome[2]
        if episode + 1 < n_episodes:
            expected.append(env.reset()[0])
            state = restart(state, jax.random.key(episode))
            if isinstance(world, worlds.Catcher):  # which draws another ball itself
                state = state._replace(ball=jnp.int32(env.ball))
            observed.append(observe(state))
    assert observed[0].dtype == jnp.float32 and observed[0].shape == world.observation_shape
    np.testing.assert_array_equal(np.array(observed), preprocessed(expected, env.observation_space))
    return steps_taken


def p_value(counts):
    """Return the p-value of a chi-square test of uniformity."""
    return chisquare(counts).pvalue


@pytest.mark.parametrize(("size", "start"), GOAL_GRIDS)
def test_goal_grid_equals_its_environment_over_whole_episodes(size, start):
    rng = np.random.default_rng(0)
    env, world = grids.GoalGrid(size, start), worlds.GoalGrid(size, start)
    assert world.max_steps == env.max_steps
    first, _ = env.reset(seed=0)
    state = world.reset(jax.random.key(0))
    steps_taken = play(env, world, first, state, lambda env: int(rng.choice([0, 0, 1, 2])), 20)
    outcomes = {(reward, terminated) for _, reward, terminated, _ in steps_taken}
    assert outcomes == {(0.0, False), (1.0, True)}


def test_goal_grid_is_truncated_at_its_limit():
    env, world = grids.GoalGrid(9, max_steps=7), worlds.GoalGrid(9, max_steps=7)
    first, _ = env.reset(seed=0)
    steps_taken = play(env, world, first, world.reset(jax.random.key(0)), lambda env: 1, 2)
    assert [truncated for *_, truncated in steps_taken] == 2 * ([False] * 6 + [True])


# --- Catcher -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "height"), FIELDS)
def test_catcher_equals_its_environment_over_whole_episodes(width, height):
    rng, rewards = np.random.default_rng(0), []
    world = worlds.Catcher(width, height)
    for seed in range(3):
        env = catcher.Catcher(width, height)
        first, _ = env.reset(seed=seed)
        state = worlds.CatcherState(*map(jnp.int32, (env.ball, env.paddle, env.row)))

        def choose(env):  # often towards the ball, so that some balls are caught
            return int(rng.integers(2) if rng.random() < 0.5 else env.paddle < env.ball)

        steps_taken = play(env, world, first, state, choose, 6)
        assert len(steps_taken) == 6 * height
        rewards += [reward for _, reward, terminated, _ in steps_taken if terminated]
    assert 1.0 in rewards and (width == 1 or -1.0 in rewards)


@pytest.mark.parametrize(("width", "height"), [(5, 3), (4, 5), (2, 1)])
def test_catcher_equals_its_environment_in_every_state(width, height):
    env, world = catcher.Catcher(width, height), worlds.Catcher(width, height)
    grid = np.mgrid[:width, :width, : height + 1, :2].reshape(4, -1)  # including past the end

    def step(parts, action):
        next_state, *outcome = world.step(worlds.CatcherState(*parts), action)
        return world.observe(next_state), outcome

    observed, results = jax.jit(jax.vmap(step))(tuple(jnp.asarray(grid[:3])), grid[3])
    observations, outcomes = [], []
    for ball, paddle, row, action in grid.T.tolist():
        env.ball, env.paddle, env.row = ball, paddle, row
        observation, *outcome, _ = env.step(action)
        observations.append(observation)
        outcomes.append(outcome)
    np.testing.assert_array_equal(np.array(results).T, outcomes)
    np.testing.assert_array_equal(observed, preprocessed(observations, env.observation_space))


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), FIELDS)
def test_balls_are_drawn_uniformly_from_the_reachable_columns(width, height):
    world, n = worlds.Catcher(width, height), 3000
    state = jax.jit(jax.vmap(world.reset))(jax.random.split(jax.random.key(3), n))
    columns, counts = np.unique(state.ball, return_counts=True)
    assert columns.tolist() == catcher.reachable_columns(width, height).tolist()
    assert len(columns) == 1 or p_value(counts) > 1e-3
    assert (state.paddle == width // 2).all() and (state.row == 0).all()


def test_the_next_episode_draws_another_ball():
    world = worlds.Catcher()
    later = worlds.CatcherState(*map(jnp.int32, (0, 7, 30)))
    balls = jax.jit(jax.vmap(world.restart, (None, 0)))(
        later, jax.random.split(jax.random.key(1), 300)
    )
    assert len(np.unique(balls.ball)) > 20
    assert set(np.unique(balls.paddle)) == {30} and set(np.unique(balls.row)) == {0}


# --- grids -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "env_class", "size", "start"), ROOMS)
@pytest.mark.parametrize("max_steps", [1, 80])
def test_a_grid_equals_its_environment_over_whole_episodes(kind, env_class, size, start, max_steps):
    rng = np.random.default_rng(max_steps)
    env, world = (
        gym.wrappers.TimeLimit(env_class(size, start), max_steps),
        kind(size, start, max_steps),
    )

    def choose(env):
        return int(rng.integers(env.action_space.n))

    steps_taken = play(env, world, env.reset()[0], world.reset(jax.random.key(0)), choose, 3)
    assert len(steps_taken) == 3 * max_steps


@pytest.mark.parametrize(("kind", "env_class", "size", "start"), ROOMS)
def test_a_grid_equals_its_environment_at_all_places(kind, env_class, size, start):
    env, world = env_class(size, start), kind(size, start)
    # All of a small room; the borders and the middle of a large one.
    axes = [range(n) if n < 9 else [0, 1, n // 2, n - 2, n - 1] for n in env.shape]
    grid = np.meshgrid(*axes, range(world.n_actions))
    *columns, actions = (x.ravel() for x in grid)
    places = np.column_stack(columns)

    def step(place, action):
        next_state, *outcome = world.step(worlds.GridState(place, jnp.int32(0)), action)
        return next_state, outcome, world.observe(next_state)

    next_state, outcome, observed = jax.jit(jax.vmap(step))(places, actions)
    expected = env_class.transition(places, actions, env.size)
    np.testing.assert_array_equal(next_state.place, expected)
    np.testing.assert_array_equal(observed, preprocessed(expected, env.observation_space))
    assert not np.any(outcome) and (next_state.steps == 1).all()
    assert (expected == places).all(axis=1).any()  # some places are at a wall


@pytest.mark.parametrize(("kind", "env_class", "size", "start"), ROOMS)
def test_every_episode_of_a_grid_starts_at_its_start(kind, env_class, size, start):
    world = kind(size, start)
    state = world.reset(jax.random.key(1))
    assert state.place.tolist() == env_class(size, start).start.tolist()
    for action in range(world.n_actions):
        state, *_ = world.step(state, action)
    restarted = world.restart(state, jax.random.key(2))
    assert (
        restarted.place.tolist() == env_class(size, start).start.tolist() and restarted.steps == 0
    )


def test_a_grid_without_a_limit_is_never_truncated():
    world = worlds.CardinalGrid(3)
    state = world.reset(jax.random.key(0))._replace(steps=jnp.int32(10**6))
    assert not world.step(state, 0)[3]


# --- DoorKey -----------------------------------------------------------------------------------


def mirror(env, world):
    """Return the state of the environment's layout, at the start of an episode."""
    return world.at(env.state, key=env.key_place, door=env.door.cur_pos[1])


def lay_out(key, door):
    """Return an environment with the key and the door at given places."""
    env = doorkey.DoorKey()
    env.reset(seed=0)
    env.grid.set(*env.key_place, None)
    env.grid.set(*env.door.cur_pos, env.grid.get(doorkey.SPLIT, 0))  # a wall
    env.key_place = key
    env.put_obj(env.key, *key)
    env.put_obj(env.door, doorkey.SPLIT, door)
    return env


def solve(env):
    """Return an action on the way to the key, then the door, then the goal."""
    (column, row), door = env.agent_pos, env.door.cur_pos[1]
    target = env.key_place
    if env.carrying:
        target = GOAL if column > doorkey.SPLIT else (doorkey.SPLIT + 1, door)
    ahead = tuple(int(x) for x in env.front_pos)
    if ahead == env.key_place and not env.carrying:
        return PICKUP
    if ahead == (doorkey.SPLIT, door) and env.carrying and not env.door.is_open:
        return OPEN
    if row != target[1]:  # rows first: the door is in a wall
        wanted = 1 if row < target[1] else 3
    else:
        wanted = 0 if column < target[0] else 2
    return FORWARD if env.agent_dir == wanted else RIGHT


def test_doorkey_has_the_constants_of_its_environment():
    for name in ("SIZE", "SPLIT", "MAX_STEPS"):
        assert getattr(doorkey_world, name) == getattr(doorkey, name)
    assert worlds.DoorKey().max_steps == doorkey.DoorKey().max_steps
    assert worlds.DoorKey().observation_shape == (sum(doorkey.DoorKey().observation_space.nvec),)


@pytest.mark.parametrize("seed", range(4))
def test_doorkey_equals_its_environment_over_whole_episodes(seed):
    rng = np.random.default_rng(seed)
    env, world = doorkey.DoorKey(max_steps=300), worlds.DoorKey(300)
    first, _ = env.reset(seed=seed)

    def choose(env):
        return int(rng.integers(5)) if rng.random() < 0.4 else solve(env)

    steps_taken = play(env, world, first, mirror(env, world), choose, 3)
    observations = np.array([observation for observation, *_ in steps_taken])
    assert observations[:, 3].any() and observations[:, 4].any()  # key and door
    goals = [(tuple(o[:2]), reward) for o, reward, terminated, _ in steps_taken if terminated]
    assert goals == [(GOAL, 1.0)] * 3


@pytest.mark.slow
@pytest.mark.parametrize(("key", "door"), LAYOUTS)
def test_doorkey_equals_its_environment_in_every_state(key, door):
    env, world = lay_out(key, door), worlds.DoorKey()
    rooms = [(c, r) for c in range(1, 18) for r in range(1, 18) if c != doorkey.SPLIT]
    places = [(c, r, holds, o) for c, r in rooms for holds in (0, 1) for o in (0, 1)]
    places += [(doorkey.SPLIT, door, holds, 1) for holds in (0, 1)]
    places = [(c, r, holds, o) for c, r, holds, o in places if holds or (c, r) != key]
    states = [(c, r, heading, holds, o) for c, r, holds, o in places for heading in range(4)]
    before, expected, outcomes = [], [], []
    for state in states:
        for action in range(5):
            env.state = state
            observation, *outcome, _ = env.step(action)
            before.append((*state, action))
            expected.append(observation)
            outcomes.append(outcome)
    *parts, actions = np.array(before).T

    def step(parts, action):
        next_state, *outcome = world.step(world.at(parts, key=key, door=door), action)
        return world.observe(next_state), outcome

    observed, results = jax.jit(jax.vmap(step))(tuple(parts), actions)
    np.testing.assert_array_equal(observed, preprocessed(expected, env.observation_space))
    np.testing.assert_array_equal(np.array(results).T, outcomes)
    changes = np.array(expected) - np.array(before)[:, :5]
    assert (changes != 0).any(axis=0).all()  # moves, turns, pickups and openings
    assert np.sum(outcomes, axis=0)[0] > 0  # and goals


@pytest.mark.parametrize("max_steps", [1, 7])
def test_doorkey_is_truncated_like_its_environment(max_steps):
    env, world = doorkey.DoorKey(max_steps=max_steps), worlds.DoorKey(max_steps)
    env.reset(seed=0)
    state = mirror(env, world)
    truncations = []
    for _ in range(max_steps + 1):  # one step past the limit
        outcome = env.step(LEFT)[1:4]
        state, *same = world.step(state, LEFT)
        assert tuple(x.item() for x in same) == outcome
        truncations.append(outcome[2])
    assert truncations == [False] * (max_steps - 1) + [True] * 2


def test_the_goal_counts_in_the_last_step():
    env, world = doorkey.DoorKey(max_steps=1), worlds.DoorKey(1)
    env.reset(seed=0)
    env.state = (16, 17, 0, 1, 1)
    _, *results = world.step(mirror(env, world), FORWARD)
    assert [x.item() for x in results] == list(env.step(FORWARD)[1:4]) == [1.0, True, True]


@pytest.mark.slow
def test_layouts_are_drawn_uniformly():
    n = 20_000
    state = jax.jit(jax.vmap(worlds.DoorKey().reset))(jax.random.split(jax.random.key(0), n))
    key, start, door = state.layout.key, state.layout.start, state.layout.door
    cells = [np.asarray(at[:, 0] - 1) * 17 + np.asarray(at[:, 1] - 1) for at in (key, start)]
    for values, size in [(cells[0], 204), (cells[1], 204), (door - 1, 17), (start[:, 2], 4)]:
        counts = np.bincount(values, minlength=size)
        assert len(counts) == size and p_value(counts) > 1e-3
    apart = np.bincount((cells[1] - cells[0]) % 204, minlength=204)
    assert apart[0] == 0 and p_value(apart[1:]) > 1e-3  # anywhere except on the key
    heading = start[:, 2]
    pairs = [(cells[0], door), (cells[1], door), (cells[0], heading), (cells[1], heading)]
    for a, b in [*pairs, (door, heading)]:  # pairwise independent
        assert chi2_contingency(crosstab(a, b).count).pvalue > 1e-3


@pytest.mark.slow
def test_layouts_are_drawn_like_those_of_the_environment():
    env, n = doorkey.DoorKey(), 2000
    drawn = []
    for seed in range(n):
        observation, _ = env.reset(seed=seed)
        drawn.append((*env.key_place, env.door.cur_pos[1], *observation[:3]))
    state = jax.jit(jax.vmap(worlds.DoorKey().reset))(jax.random.split(jax.random.key(4), 5 * n))
    layouts = np.column_stack([state.layout.key, state.layout.door, state.layout.start])
    for expected, values in zip(np.array(drawn).T, layouts.T, strict=True):
        counts = [np.bincount(x, minlength=19) for x in (expected, values)]
        assert ((counts[0] > 0) == (counts[1] > 0)).all()
        assert chi2_contingency(np.array(counts)[:, counts[1] > 0]).pvalue > 1e-3


def test_an_episode_of_doorkey_restarts_with_the_same_layout():
    world = worlds.DoorKey()
    first = world.reset(jax.random.key(5))
    assert [*first.place.tolist(), first.heading] == first.layout.start.tolist()
    assert not first.carries and not first.opened and first.steps == 0
    layout = first.layout
    later = world.at([16, 3, 2, True, True], key=layout.key, door=layout.door)
    later = later._replace(layout=layout, steps=jnp.int32(99))
    assert later.steps == 99 and later.layout.start.tolist() == layout.start.tolist()
    restarted = world.restart(later, jax.random.key(6))
    jax.tree.map(np.testing.assert_array_equal, restarted, first)


# --- all ---------------------------------------------------------------------------------------


def signature(tree):
    """Return the shapes and dtypes of some arrays."""
    return jax.tree.map(lambda x: (x.shape, x.dtype.name, x.weak_type), tree)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("world", WORLDS, ids=repr)
def test_dtypes_are_small_and_do_not_change(world, wide):
    with jax.enable_x64(wide):
        state = jax.eval_shape(world.reset, jax.random.key(0))
        assert {x.dtype.name for x in jax.tree.leaves(state)} <= {"int32", "bool"}
        assert not any(x.weak_type for x in jax.tree.leaves(state))
        restarted = jax.eval_shape(world.restart, state, jax.random.key(1))
        next_state, *outcome = jax.eval_shape(world.step, state, jnp.asarray(1))
        observation = jax.eval_shape(world.observe, state)
    assert signature(state) == signature(next_state) == signature(restarted)
    assert signature(outcome) == [((), name, False) for name in ("float32", "bool", "bool")]
    assert signature(observation) == (world.observation_shape, "float32", False)


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS, ids=repr)
def test_vmap_equals_one_at_a_time(world):
    n_envs, n_steps = 3, 40
    keys = jax.random.split(jax.random.key(0), n_envs)
    actions = jax.random.randint(jax.random.key(1), (n_steps, n_envs), 0, world.n_actions)

    def turn(state, inputs):
        action, number = inputs
        next_state, *outcome = world.step(state, action)
        done = outcome[1] | outcome[2]
        first = world.restart(next_state, jax.random.key(number))
        next_state = jax.tree.map(lambda a, b: jnp.where(done, a, b), first, next_state)
        return next_state, (world.observe(next_state), *outcome)

    def walk(states):
        turns = jax.vmap(turn, (0, (0, None)))
        return jax.lax.scan(turns, states, (actions, jnp.arange(n_steps)))

    last, results = jax.device_get(jax.jit(walk)(jax.vmap(world.reset)(keys)))
    assert results[0].shape == (n_steps, n_envs, *world.observation_shape)
    alone = jax.jit(turn)
    for i in range(n_envs):
        state, expected = world.reset(keys[i]), []
        for t in range(n_steps):
            state, observed = alone(state, (actions[t, i], t))
            expected.append(jax.device_get(observed))
        for a, b in zip(results, zip(*expected, strict=True), strict=True):
            np.testing.assert_array_equal(a[:, i], np.array(b))
        jax.tree.map(lambda a, b, i=i: np.testing.assert_array_equal(a[i], b), last, state)


@pytest.mark.parametrize("world", WORLDS, ids=repr)
def test_a_world_is_a_constant(world):
    assert hash(world) == hash(eval(repr(world), vars(worlds)))
    assert world == eval(repr(world), vars(worlds))
    observe = jax.jit(lambda world, key: world.observe(world.reset(key)), static_argnums=0)
    assert observe(world, jax.random.key(0)).shape == world.observation_shape
    with pytest.raises(AttributeError):
        world.max_steps = 3


def test_a_room_is_given_by_its_side_or_as_a_list():
    assert worlds.CardinalGrid(5) == worlds.CardinalGrid([5, 5], [2, 2])
    assert hash(worlds.CardinalGrid([5, 5], [2, 2])) == hash(worlds.CardinalGrid(5, (2, 2)))
    assert worlds.CardinalGrid(5) != worlds.CardinalGrid(5, max_steps=3)


@pytest.mark.parametrize(
    ("world", "env"),
    [
        (worlds.Catcher(), catcher.Catcher()),
        (worlds.CardinalGrid(), grids.CardinalGrid()),
        (worlds.RotationGrid(), grids.RotationGrid()),
        (worlds.DoorKey(), doorkey.DoorKey()),
    ],
)
def test_actions_are_those_of_the_environment(world, env):
    assert world.action_names == env.action_names
    assert world.n_actions == env.action_space.n


@pytest.mark.parametrize("arguments", [(0, 3), (3, 0), (1, 1), (2.5, 3), (3, "4"), (True, 3)])
def test_catcher_checks_its_arguments_like_its_environment(arguments):
    with pytest.raises(ArgumentError) as expected:
        catcher.Catcher(*arguments)
    with pytest.raises(type(expected.value)) as error:
        worlds.Catcher(*arguments)
    assert str(error.value) == str(expected.value)


@pytest.mark.parametrize("arguments", [(0,), ((3, 0),), (5, (5, 0)), (5, (-1, 0)), (5, (1, 1, 7))])
@pytest.mark.parametrize(
    ("kind", "env_class"),
    [(worlds.CardinalGrid, grids.CardinalGrid), (worlds.RotationGrid, grids.RotationGrid)],
)
def test_a_grid_checks_its_arguments_like_its_environment(kind, env_class, arguments):
    with pytest.raises(ArgumentError) as expected:
        env_class(*arguments)
    with pytest.raises(ArgumentError) as error:
        kind(*arguments)
    assert str(error.value) == str(expected.value)


@pytest.mark.parametrize("kind", [worlds.CardinalGrid, worlds.RotationGrid, worlds.DoorKey])
def test_the_limit_of_steps_is_a_positive_integer(kind):
    with pytest.raises(ArgumentError, match="max_steps of at least 1, found 0"):
        kind(max_steps=0)
    with pytest.raises(ArgumentTypeError, match="max_steps as a whole number, found 2.5"):
        kind(max_steps=2.5)
