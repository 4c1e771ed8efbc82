import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import easee.agents.population.population as program
from easee.agents.population import Population, Settings
from easee.agents.population.bonuses import NO_BONUS, CountBonus, RndBonus
from easee.agents.population.networks import Network
from easee.agents.population.replay import StateReplay
from easee.envs.jax import GoalGrid, MiniGrid
from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers import jax as explorers

SETTINGS = Settings(
    600, buffer_size=600, learning_starts=50, n_steps=3, double=True, learning_rate=1e-3
)


def all_places(size):
    """Return all packed states of a goal grid, (count, 1, 3)."""
    places = np.stack(np.meshgrid(*map(np.arange, (size, size, 4)), indexing="ij"), axis=-1)
    return jnp.asarray(places.reshape(-1, 1, 3), jnp.int16)


def test_states_rarely_share_a_bin():
    bonus, places = CountBonus(1.0), all_places(51)
    bins = np.asarray(jax.vmap(bonus._bin)(places[:, 0]))
    assert bins.min() >= 0 and bins.max() < bonus.bins
    # As many as random bins would share: 10,404 states in 262,144 bins.
    shared = len(bins) - len(np.unique(bins))
    assert shared < 2 * len(bins) ** 2 / (2 * bonus.bins)


def test_counts_are_those_of_a_dictionary():
    bonus, rng = CountBonus(0.5), np.random.default_rng(0)
    counts = bonus.init(jax.random.key(0), None)
    expected: dict[tuple[int, ...], int] = {}
    visit = jax.jit(bonus.visit)
    for place in rng.integers(4, size=(200, 3)):
        counts = visit(counts, jnp.asarray(place[None], jnp.int16))
        expected[tuple(place)] = expected.get(tuple(place), 0) + 1
    places = all_places(4)
    _, rewards = bonus.rewards(counts, None, places)
    wanted = [0.5 / np.sqrt(max(expected.get(tuple(p[0]), 0), 1)) for p in np.asarray(places)]
    np.testing.assert_allclose(np.asarray(rewards)[:, 0], wanted, rtol=1e-6)


def test_random_network_distillation_rewards_what_is_new():
    world, bonus = GoalGrid(9), RndBonus(weight=1.0)
    places = all_places(9)
    known, new = places[:40], places[-40:]
    state = bonus.init(jax.random.key(0), world)
    learn = jax.jit(lambda state: bonus.rewards(state, world, known))
    for _ in range(300):
        state, rewards = learn(state)
    _, novel = bonus.rewards(state, world, new)
    assert novel.shape == (40, 1) and float(novel.mean()) > 3 * float(rewards.mean())
    again, _ = bonus.rewards(state, world, known)
    for before, after in zip(state.target, again.target, strict=True):  # the target is fixed
        np.testing.assert_array_equal(before["w"], after["w"])


@pytest.mark.slow
@pytest.mark.parametrize("bonus", [CountBonus(0.1), RndBonus(0.1)])
def test_a_bonus_changes_what_is_learned_but_not_the_curves(bonus):
    make = partial(Population, GoalGrid(5), [explorers.uniform(3)] * 2, [0, 1], SETTINGS)
    plain, with_bonus = make(), make(bonus=bonus)
    curves = with_bonus.advance()
    assert ((curves.sums >= 0) & (curves.sums == curves.successes)).all()
    plain.advance()
    weights = plain.runs.learner.params[0]["w"], with_bonus.runs.learner.params[0]["w"]
    assert not np.array_equal(*weights)


@pytest.mark.slow
def test_a_population_with_a_bonus_resumes_exactly(tmp_path):
    make = partial(
        Population, GoalGrid(5), [explorers.uniform(3)], [0], SETTINGS, bonus=CountBonus(0.1)
    )
    whole, first, second = make(), make(), make()
    first.advance(300)
    first.save(tmp_path / "run.npz")
    second.load(tmp_path / "run.npz")
    expected, found = whole.advance(), second.advance()
    np.testing.assert_array_equal(expected.counts, found.counts)
    np.testing.assert_array_equal(whole.runs.bonus, second.runs.bonus)
    assert int(whole.runs.bonus.sum()) == 600  # one visit per step
    other = make(bonus=CountBonus(0.2))
    with pytest.raises(ArgumentError, match="other runs: expected bonus"):
        other.load(tmp_path / "run.npz")


def test_views_of_minigrid_are_counted():
    world, bonus = MiniGrid("MiniGrid-Empty-5x5-v0", layouts=1), CountBonus()
    state = world.reset(jax.random.key(0))
    turned, *_ = world.step(state, 1)
    packed = jnp.stack([world.pack(state), world.pack(turned)])
    first, second = jax.vmap(bonus._bin)(packed)
    assert first != second


@pytest.mark.parametrize("kind", [CountBonus, RndBonus])
@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_a_weight_must_be_positive(kind, weight):
    with pytest.raises(ArgumentError, match="positive"):
        kind(weight)


def test_bins_must_be_a_power_of_two():
    with pytest.raises(ArgumentError, match="power of two .* found 1,000"):
        CountBonus(bins=1000)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (CountBonus, {"weight": "0.1"}, "weight as a positive number, found '0.1'"),
        (CountBonus, {"bins": 2.0}, "bins as a whole number, found 2.0"),
        (CountBonus, {"bins": 2**33}, "power of two of at most 1,073,741,824, found 8,589,934,592"),
        (RndBonus, {"features": 0}, "features of at least 1, found 0"),
        (RndBonus, {"learning_rate": -1.0}, "learning_rate as a positive number, found -1.0"),
        (RndBonus, {"hidden": 64}, r"hidden as a tuple such as \(64, 64\), found 64"),
        (RndBonus, {"hidden": (0,)}, "units of a hidden layer of at least 1, found 0"),
        (Network, {"hidden": (64, 0)}, "units of a hidden layer of at least 1, found 0"),
    ],
)
def test_parameters_that_cannot_be_used_are_rejected(kind, options, message):
    with pytest.raises(ArgumentError, match=message):
        kind(**options)


def test_something_else_than_a_bonus_is_rejected():
    with pytest.raises(ArgumentTypeError, match="a bonus"):
        Population(GoalGrid(5), [explorers.uniform(3)], [0], SETTINGS, bonus="count")


def test_no_bonus_adds_nothing():
    assert NO_BONUS.rewards((), None, None)[1] == 0.0
    assert StateReplay.empty(3, jnp.int16(0)).ends.dtype == bool


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="the program differs on a GPU")
@pytest.mark.parametrize("bonus", [NO_BONUS, CountBonus(bins=2**10)])
def test_the_replay_buffer_is_not_copied(bonus):
    settings = Settings(600, buffer_size=4321, n_steps=3)
    runs = [explorers.uniform(3)] * 2, [0, 1]
    population = Population(GoalGrid(5), *runs, settings, bonus=bonus)
    lowered = program._train.lower(
        population._static(learns=True),
        population.runs,
        population.tables,
        population.keys,
        first=0,
        rollouts=1,
    )
    copies = re.findall(r"= (\S*\[2,4321[^\]]*\])\S* copy\(", lowered.compile().as_text())
    assert not copies
