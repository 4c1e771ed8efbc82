import jax
import numpy as np
import pytest

import easee
from easee import ArgumentError, ArgumentTypeError, priors
from easee.agents.population import PqnPopulation, PqnSettings, Settings
from easee.agents.population.bonuses import CountBonus
from easee.envs.jax import DoorKey, GoalGrid
from easee.explorers import jax as explorers
from tests.agents.population.populations import assert_same

SMALL = PqnSettings(768, n_envs=4, n_steps=8, batch_size=16, n_epochs=2)
WORLD = GoalGrid(5, start=(2, 2, 0))
USUAL = easee.compile(priors.get("rotation-grid-complete"), depth=6)
UNIFORM = explorers.uniform(3)


def small(tables=(UNIFORM, USUAL), settings=SMALL, **options):
    """Return a population of PQN in a small goal grid."""
    options = {"bins": 4, "seeds": range(len(tables))} | options
    return PqnPopulation(WORLD, tables, settings=settings, **options)


@pytest.mark.slow
def test_runs_depend_neither_on_pieces_of_training_nor_on_each_other(tmp_path):
    whole, pieces, resumed, alone = small(), small(), small(), small([USUAL], seeds=[1])
    whole.advance()
    pieces.advance(300)
    assert pieces.steps == 320  # whole rollouts
    pieces.save(tmp_path / "c.npz")
    resumed.load(tmp_path / "c.npz")
    resumed.advance()
    assert_same(whole.runs, resumed.runs)
    np.testing.assert_array_equal(whole.curves().successes[1], alone.advance().successes[0])


@pytest.mark.slow
def test_runs_learn_and_easee_finds_the_goal_sooner():
    settings = PqnSettings(6_400)
    curves = small([UNIFORM] * 4 + [USUAL] * 4, settings, seeds=[*range(4)] * 2).advance()
    shares = curves.successes / curves.counts
    assert np.median(shares[:, -1]) > 0.95
    assert shares[4:, 0].mean() > shares[:4, 0].mean()
    assert curves.counts[:, -1].mean() > 1.5 * curves.counts[:, 0].mean()  # shorter episodes


def test_all_environments_of_a_run_have_one_layout():
    population = PqnPopulation(DoorKey(), [explorers.uniform(5)] * 2, [0, 1], SMALL)
    keys = np.asarray(population.runs.state.layout.key)  # (runs, n_envs, 2)
    assert (keys == keys[:, :1]).all()
    assert (keys[0, 0] != keys[1, 0]).any()


@pytest.mark.slow
def test_a_bonus_is_learned_but_not_scored():
    world = GoalGrid(5, start=(4, 4, 0), max_steps=4)  # the goal is eight steps away
    population = PqnPopulation(world, [UNIFORM], [0], SMALL, bins=4, bonus=CountBonus(1.0))
    curves = population.advance()
    assert int(population.runs.bonus.sum()) == 768  # visits
    assert curves.counts.sum() == 768 / 4 and not curves.sums.any()
    params = jax.tree.map(lambda leaf: leaf[0], population.runs.learner.params)
    start = world.observe(world.reset(jax.random.key(0)))
    assert population.network.apply(params, start[None]).max() > 0.3


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"settings": Settings(100)}, ArgumentTypeError, "expected PqnSettings"),
        ({"network": 3}, ArgumentTypeError, "expected a Network"),
        ({"tables": [explorers.uniform(2)]}, ArgumentError, "actions"),
        ({"tables": ["plain"]}, ArgumentError, "expected a policy as"),
    ],
)
def test_invalid_arguments_are_rejected(change, error, message):
    with pytest.raises(error, match=message):
        small(**change)
