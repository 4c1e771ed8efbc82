"""Worlds of MiniGrid against MiniGrid itself, step by step."""

import subprocess
import sys
import zlib
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from easee import compile, priors
from easee.errors import (
    ArgumentError,
    ArgumentTypeError,
    MissingExtraError,
    PopulationTooLargeError,
)
from easee.priors import MINIGRID_ACTIONS

jax = pytest.importorskip("jax")
pytest.importorskip("minigrid")

import gymnasium as gym  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import minigrid  # noqa: E402
from minigrid.core import world_object as objects  # noqa: E402
from minigrid.core.actions import Actions  # noqa: E402
from minigrid.wrappers import FullyObsWrapper  # noqa: E402

from easee.agents.population import Population, Settings  # noqa: E402
from easee.envs.jax import MiniGrid, MiniGridState  # noqa: E402
from easee.envs.jax.minigrid import codes, layouts, rules, supported  # noqa: E402
from easee.explorers import jax as explorers  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*is out of date")

IDS = supported()
N_LAYOUTS = 16
N_STEPS = 400
EMPTY, DOORKEY = "MiniGrid-Empty-5x5-v0", "MiniGrid-DoorKey-5x5-v0"
# Probabilities of the actions: in front of an object, and elsewhere.
BESIDE = (0.05, 0.05, 0.3, 0.3, 0.05, 0.2, 0.05)
ELSEWHERE = (0.12, 0.12, 0.45, 0.03, 0.2, 0.04, 0.04)


decode = jax.jit(codes.decode)


def make(name, **options):
    return gym.make(name, **options).unwrapped


def is_inside(env, place):
    return all(0 <= x < size for x, size in zip(place, (env.width, env.height), strict=True))


def beside_an_object(env, rng):
    """Return a place, a heading towards an object in front of it, and a step count.

    The place may be in a closed door: that is the only one beside an object in the smallest rooms.
    """
    cells = [codes.encode(cell) for cell in env.grid.grid]
    kinds = [code for code in set(cells) if code >> 3 not in (codes.EMPTY, codes.WALL)]
    while kinds:
        kind = rng.choice(sorted(kinds))
        row, column = divmod(int(rng.choice(np.flatnonzero(cells == kind))), env.width)
        heading = int(rng.integers(4))
        x, y = (1, 0, -1, 0)[heading], (0, 1, 0, -1)[heading]
        place = (column - x, row - y)
        if is_inside(env, place):
            cell = env.grid.get(*place)
            if cell is None or cell.can_overlap() or cell.type == "door":
                last = env.max_steps - 1
                steps = last if rng.random() < 0.1 else rng.integers(last)
                return *place, heading, int(steps)
    return *env.agent_pos, env.agent_dir, env.step_count  # no object is left


def choose(env, rng):
    front = env.grid.get(*env.front_pos)
    beside = front is not None and front.type != "wall"
    return int(rng.choice(7, p=BESIDE if beside else ELSEWHERE))


def play(env, rng, reset, n_steps=N_STEPS):
    """Play MiniGrid, and now and then move the agent to an object at another time.

    Returns:
        What happened before, in and after every step: place, heading and step count after a move,
        or -1; the action; the number of the next layout, or -1; the outcome, image first; and a
        list of what the actions did, as text.
    """
    inputs, outcomes, events = [], [], []
    number, starts = 0, True
    reset(0)
    for _ in range(n_steps):
        jump = (-1, -1, -1, -1)
        if starts or rng.random() < 0.25 or not is_inside(env, env.front_pos):
            jump = beside_an_object(env, rng)
            env.agent_pos, env.agent_dir, env.step_count = jump[:2], jump[2], jump[3]
        action = choose(env, rng)
        front = env.grid.get(*env.front_pos)
        before = (front and (front.type, front.encode()[2]), env.carrying, tuple(env.front_pos))
        observation, reward, terminated, truncated, _ = env.step(action)
        image, heading = observation["image"], observation["direction"]
        outcomes.append((image, heading, np.float32(reward), terminated, truncated))
        events += describe(env, action, before, (reward, terminated, truncated))
        starts = terminated or truncated
        number = (number + starts) % N_LAYOUTS
        inputs.append((*jump, action, number if starts else -1))
        if starts:
            reset(number)
    return np.array(inputs, np.int32), [np.array(x) for x in zip(*outcomes, strict=True)], events


def describe(env, action, before, outcome):
    """Yield what a step did."""
    front, carried, place = before
    reward, terminated, truncated = outcome
    if reward > 0:
        yield "success"
    if terminated and reward == 0:
        yield "failure"
    if truncated:
        yield "truncated"
    if env.carrying is not carried:
        yield "pickup" if carried is None else "drop"
    if action == Actions.toggle and front and front[0] in ("door", "box"):
        after = env.grid.get(*place)
        yield f"{front[0]} {front[1]} -> {after and (after.type, after.encode()[2])}"
    if action == Actions.forward and front and tuple(env.agent_pos) == place:
        yield f"enter {front[0]}"


_walks: dict[Any, Any] = {}


def walk(world, starts, inputs):
    """Return the outcomes of a world in the steps that `play` returned."""
    frame = layouts.frame_of(world.id)
    key = (frame, world.view, world.full)
    if key not in _walks:  # worlds that differ only in their layouts share a program
        _walks[key] = jax.jit(lambda starts, inputs: _walk(world, starts, inputs))
    return _walks[key](starts, inputs)


def _walk(world, starts, inputs):
    def turn(state, row):
        moved = state._replace(place=row[:2], heading=row[2], steps=row[3])
        state = select(row[0] >= 0, moved, state)
        state, *outcome = world.step(state, row[4])
        first = jax.tree.map(lambda leaf: leaf[row[5]], starts)
        return select(row[5] >= 0, first, state), (world.image(state), state.heading, *outcome)

    return jax.lax.scan(turn, jax.tree.map(lambda leaf: leaf[0], starts), inputs)[1]


def select(condition, new, old):
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)


def assert_same(results, expected):
    for found, known in zip(results, expected, strict=True):
        assert found.shape == known.shape
        np.testing.assert_array_equal(found, known)


def compare(world, env, steps=N_STEPS):
    """Play MiniGrid, compare the world with it, and return what happened."""
    rng = np.random.default_rng(zlib.crc32(world.id.encode()))
    inputs, expected, events = play(env, rng, lambda number: env.reset(seed=number), steps)
    assert_same(walk(world, starts_of(world), inputs), expected)
    return set(events)


def starts_of(world):
    """Return the first states of all layouts, without the time to compile `world.start`."""
    bank = layouts.bank_of(world.id, N_LAYOUTS, 0)
    hands, steps = np.full(N_LAYOUTS, codes.NOTHING, np.uint8), np.zeros(N_LAYOUTS, np.int32)
    return MiniGridState(bank.grids, bank.places, bank.headings, hands, steps, bank.targets)


@pytest.mark.parametrize("name", IDS)
def test_a_world_equals_minigrid_step_by_step(name):
    events = compare(MiniGrid(name, layouts=N_LAYOUTS), make(name))
    assert "truncated" in events
    rule = layouts.frame_of(name).task.rule
    assert ("success" in events) == (name != "MiniGrid-Playground-v0")
    if rule in (rules.FETCH, rules.GO_TO_TARGET, rules.PUT_NEAR, rules.RED_BLUE, rules.MEMORY):
        assert "failure" in events
    if "Lava" in name or "DistShift" in name:
        assert {"enter lava", "failure"} <= events
    if "DoorKey" in name or name == "MiniGrid-Unlock-v0":
        assert {"pickup", "door 2 -> ('door', 0)"} <= events
    if "MultiRoom" in name or "Playground" in name:
        assert {"door 1 -> ('door', 0)", "door 0 -> ('door', 1)", "enter door"} <= events
    if "Dlh" in name or "ObstructedMaze-Full" in name:
        assert {"pickup", "drop", "box 0 -> ('key', 0)"} <= events
    assert all("wall" not in event for event in events)


@pytest.mark.parametrize("size", [3, 5, 9, 13])
@pytest.mark.parametrize("name", ["MiniGrid-KeyCorridorS4R3-v0", "MiniGrid-Fetch-5x5-N2-v0"])
def test_views_of_other_sizes_equal_those_of_minigrid(name, size):
    world = MiniGrid(name, layouts=N_LAYOUTS, view=size)
    compare(world, make(name, agent_view_size=size), 200)
    assert world.image_shape == (size, size, 3)


class Full:
    """An environment of MiniGrid with the observations of `FullyObsWrapper`."""

    def __init__(self, name):
        self._wrapper = FullyObsWrapper(make(name))

    def __getattr__(self, name):
        return getattr(self._wrapper.unwrapped, name)

    def __setattr__(self, name, value):
        if name == "_wrapper":
            super().__setattr__(name, value)
        else:
            setattr(self._wrapper.unwrapped, name, value)

    def step(self, action):
        return self._wrapper.step(action)


@pytest.mark.parametrize(
    "name",
    ["MiniGrid-DistShift2-v0", "MiniGrid-RedBlueDoors-6x6-v0", "MiniGrid-ObstructedMaze-1Dlhb-v0"],
)
def test_full_images_equal_those_of_minigrid(name):
    world, env = MiniGrid(name, layouts=N_LAYOUTS, full=True), Full(name)
    compare(world, env)
    assert world.image_shape == (env.width, env.height, 3)
    assert env.width != env.height


def furnish(env, rng):
    """Put objects of all kinds, colours and states into an environment, with some in boxes."""

    def draw(depth=0):
        colour = str(rng.choice(codes.COLOURS))
        kinds = [objects.Key, objects.Ball]
        if depth:
            return rng.choice(kinds)(colour)
        door = objects.Door(
            colour, *[(False, False), (True, False), (False, True)][rng.integers(3)]
        )
        box = objects.Box(colour, draw(1) if rng.random() < 0.7 else None)
        things = [objects.Floor, objects.Wall, objects.Goal, *kinds]
        others = [door, door, door, box, box, objects.Lava()]
        return others[rng.integers(6)] if rng.random() < 0.6 else rng.choice(things)(colour)

    for x in range(1, env.width - 1):
        for y in range(1, env.height - 1):
            env.grid.set(x, y, draw() if rng.random() < 0.4 else None)
    env.grid.set(*env.agent_pos, None)


def mirror(env):
    """Return the state of an environment without a target."""
    grid = np.reshape([codes.encode(cell) for cell in env.grid.grid], (env.height, env.width)).T
    place, heading = np.int32(env.agent_pos), np.int32(env.agent_dir)
    nothing, target = np.uint8(codes.NOTHING), np.zeros(0, np.int32)
    return MiniGridState(grid.astype(np.uint8), place, heading, nothing, np.int32(0), target)


@pytest.mark.slow
@pytest.mark.parametrize("full", [False, True])
def test_all_objects_behave_as_in_minigrid(full):
    name = "MiniGrid-Playground-v0"
    env = Full(name) if full else make(name)
    states = {}

    def reset(number):
        env.reset(seed=number)
        furnish(env, np.random.default_rng(number))
        states[number] = mirror(env)

    for number in range(N_LAYOUTS):
        reset(number)
    inputs, expected, events = play(env, np.random.default_rng(0), reset, 4000)
    stacked = [states[number] for number in range(N_LAYOUTS)]
    starts = jax.tree.map(lambda *leaves: jnp.stack(leaves), *stacked)
    assert_same(walk(MiniGrid(name, full=full), starts, inputs), expected)
    doors = {"door 0 -> ('door', 1)", "door 1 -> ('door', 0)", "door 2 -> ('door', 0)"}
    boxes = {"box 0 -> None", "box 0 -> ('key', 0)", "box 0 -> ('ball', 0)"}
    entered = {f"enter {kind}" for kind in ("floor", "door", "goal", "lava")}
    outcomes = {"success", "failure", "truncated", "pickup", "drop"}
    assert set(events) == doors | boxes | entered | outcomes | {"door 2 -> ('door', 2)"}


@pytest.mark.parametrize("name", IDS)
def test_layouts_are_those_of_minigrids_seeds(name):
    first = 1000
    env, bank = gym.make(name), layouts.bank_of(name, 3, first)
    images = decode(bank.grids)
    for number in range(3):
        observation, _ = env.reset(seed=first + number)
        inner: Any = env.unwrapped
        np.testing.assert_array_equal(images[number], inner.grid.encode())
        assert bank.places[number].tolist() == list(inner.agent_pos)
        assert bank.headings[number] == inner.agent_dir == observation["direction"]
    assert layouts.frame_of(name).size == (inner.width, inner.height)


def test_an_episode_starts_with_a_layout_of_the_bank():
    world = MiniGrid(DOORKEY, layouts=3, first_seed=1000)
    bank, state = layouts.bank_of(DOORKEY, 3, 1000), world.start(2)
    np.testing.assert_array_equal(state.grid, bank.grids[2])
    np.testing.assert_array_equal(state.place, bank.places[2])
    assert state.heading == bank.headings[2]
    assert state.carried == codes.NOTHING and state.steps == 0
    assert world.max_steps == make(DOORKEY).max_steps


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in IDS if "Pickup" in name or "Maze" in name])
def test_no_other_object_is_like_the_target(name):
    """Rules compare type and colour, where MiniGrid compares the objects themselves."""
    bank = layouts.bank_of(name, 256, 0)
    assert layouts.frame_of(name).task.rule is rules.PICK_UP
    assert ((bank.grids == bank.targets[:, :, None]).sum(axis=(1, 2)) == 1).all()
    for kind in (codes.BOX_WITH_BALL + colour for colour in range(6)):
        assert not (bank.grids >> 3 == kind).any()


def test_every_episode_draws_a_layout():
    world = MiniGrid("MiniGrid-FourRooms-v0", layouts=5, first_seed=7)
    keys = jax.random.split(jax.random.key(0), 1000)
    state = jax.vmap(world.reset)(keys)
    drawn = np.asarray(state.grid).reshape(1000, 1, -1)
    bank = layouts.bank_of(world.id, 5, 7)
    counts = (drawn == bank.grids.reshape(1, 5, -1)).all(axis=2).sum(axis=0)
    assert counts.sum() == 1000 and chisquare(counts).pvalue > 1e-3
    again = jax.vmap(world.restart)(state, keys)
    jax.tree.map(np.testing.assert_array_equal, again, state)


def test_an_observation_is_made_of_the_image():
    world = MiniGrid(DOORKEY, layouts=2, full=True)
    state = world.start(1)._replace(heading=jnp.int32(3))
    image, observation = np.asarray(world.pack(state)), np.asarray(world.observe(state))
    np.testing.assert_array_equal(image, world.image(state))
    assert image.dtype == np.uint8 and observation.shape == world.observation_shape == (5, 5, 15)
    np.testing.assert_array_equal(observation[..., :11].argmax(axis=2), image[..., 0])
    assert (observation[..., :11].sum(axis=2) == 1).all()
    np.testing.assert_array_equal(observation[..., 11], (image[..., 1] / 5).astype(np.float32))
    states = observation[..., 12:] @ np.arange(1, 4)
    np.testing.assert_array_equal(states, image[..., 2])
    assert {0, 2, 3} == set(states.ravel())  # a locked door, and the agent facing up


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", ["MiniGrid-PutNear-6x6-N2-v0", "MiniGrid-MemoryS7-v0"])
def test_dtypes_are_small_and_do_not_change(name, wide):
    def signature(tree):
        return jax.tree.map(lambda x: (x.shape, x.dtype.name, x.weak_type), tree)

    world = MiniGrid(name, layouts=2)
    with jax.enable_x64(wide):
        state = jax.eval_shape(world.reset, jax.random.key(0))
        restarted = jax.eval_shape(world.restart, state, jax.random.key(1))
        next_state, *outcome = jax.eval_shape(world.step, state, jnp.asarray(1))
        packed, observation = (jax.eval_shape(f, state) for f in (world.pack, world.observe))
    assert {x.dtype.name for x in jax.tree.leaves(state)} == {"int32", "uint8"}
    assert signature(state) == signature(next_state) == signature(restarted)
    assert signature(outcome) == [((), name, False) for name in ("float32", "bool", "bool")]
    assert signature(packed) == (world.image_shape, "uint8", False)
    assert signature(observation) == (world.observation_shape, "float32", False)


def test_a_world_is_a_constant():
    world = MiniGrid(EMPTY, layouts=3, view=5)
    assert world == eval(repr(world)) and hash(world) == hash(eval(repr(world)))
    assert len({world, MiniGrid(EMPTY, layouts=3, view=5), MiniGrid(EMPTY, layouts=3)}) == 2
    assert world != MiniGrid(EMPTY, layouts=3, view=5, first_seed=1)
    assert world.action_names == MINIGRID_ACTIONS == tuple(action.name for action in Actions)
    assert layouts.bank_of(EMPTY, 3, 0) is layouts.bank_of(EMPTY, 3, 0)
    with pytest.raises(AttributeError):
        setattr(world, "view", 7)  # noqa: B010


@pytest.mark.slow
def test_a_population_trains_in_it():
    world = MiniGrid("MiniGrid-Empty-Random-5x5-v0", layouts=8)
    settings = Settings(400, learning_starts=100, buffer_size=200, train_freq=1)
    population = Population(world, [explorers.uniform(7)] * 2, [0, 1], settings, bins=2)
    curves = population.advance()
    assert (curves.counts.sum(axis=1) >= 4).all()  # an episode has at most 100 steps
    assert 0 < curves.sums.max() <= curves.counts.max()


def test_a_population_refuses_other_actions_and_more_runs_than_fit():
    world, settings = MiniGrid(EMPTY, layouts=1), Settings(100)
    other = compile(priors.get("rotation-grid"), 2)
    with pytest.raises(ArgumentError, match="actions"):
        Population(world, [other], [0], settings)
    count = 500  # with the default buffer of a million pairs of images each
    with pytest.raises(PopulationTooLargeError, match="500 runs need .* fit"):
        Population(world, [explorers.uniform(7)] * count, range(count), settings)


def test_tasks_that_cannot_be_a_world_are_refused():
    for name in [name for name in gym.registry if name.startswith(("MiniGrid-", "BabyAI-"))]:
        if name not in IDS:
            with pytest.raises(ArgumentError, match=f"^{name} cannot be a world: its |the succ"):
                MiniGrid(name)
    assert len(IDS) == 70 or minigrid.__version__ != "3.2.0"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("MiniGrid-Dynamic-Obstacles-5x5-v0", "its obstacles move at random"),
        ("MiniGrid-WFC-MazeSimple-v0", "its layouts need the packages of MiniGrid's extra wfc"),
        ("BabyAI-GoToRedBall-v0", "the success of BabyAI's tasks depends on the text of a mission"),
        (
            "CartPole-v1",
            "the rules of gymnasium.envs.* are not implemented; the \\d+ supported ids",
        ),
        ("MiniGrid-DoorKey-5x5", "the id of a task .* did you mean 'MiniGrid-DoorKey-5x5-v0'?"),
        ("Tetris", "found 'Tetris'; the \\d+ supported ids are in .*supported"),
        (3, "expected the id of a task of MiniGrid, found 3"),
    ],
)
def test_ids_that_are_unknown_or_not_supported(name, message):
    with pytest.raises(ArgumentError, match=message):
        MiniGrid(name)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"layouts": 0}, ArgumentError, "layouts of at least 1, found 0"),
        ({"layouts": 1.5}, ArgumentTypeError, "layouts as a whole number, found 1.5"),
        ({"first_seed": -1}, ArgumentError, "first_seed of at least 0, found -1"),
        ({"view": 1}, ArgumentError, "view of at least 3, found 1"),
        ({"view": 6}, ArgumentError, "an odd view from 3 to 31, found 6"),
        ({"view": 33}, ArgumentError, "an odd view from 3 to 31, found 33"),
        ({"full": 1}, ArgumentTypeError, "full as True or False, found 1"),
        ({"full": True, "view": 5}, ArgumentError, "found view=5 and full=True: leave one"),
    ],
)
def test_invalid_arguments(options, error, message):
    with pytest.raises(error, match=message):
        MiniGrid(EMPTY, **options)


def test_a_box_holds_a_key_or_a_ball():
    with pytest.raises(ArgumentError, match="boxes with keys or balls, found one with a box"):
        codes.encode(objects.Box("red", objects.Box("blue")))


@pytest.mark.slow
def test_minigrid_is_needed_only_to_make_a_world(monkeypatch):
    code = "import sys; sys.modules['minigrid'] = None; import easee.envs.jax"
    subprocess.run([sys.executable, "-c", code], check=True)
    monkeypatch.setitem(sys.modules, "minigrid", None)
    with pytest.raises(MissingExtraError, match=r"pip install '.\[minigrid\]'"):
        MiniGrid(EMPTY)
