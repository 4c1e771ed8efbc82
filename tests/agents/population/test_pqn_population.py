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
def test_training_in_pieces_gives_the_same_runs(tmp_path):
    whole, pieces, resumed = small(), small(), small()
    whole.advance()
    pieces.advance(300)
    assert pieces.steps == 320  # whole rollouts
    pieces.save(tmp_path / "c.npz")
    resumed.load(tmp_path / "c.npz")
    resumed.advance()
    assert_same(whole.runs, resumed.runs)


@pytest.mark.slow
def test_a_run_does_not_depend_on_the_others():
    two = small([USUAL, UNIFORM], seeds=[3, 4]).advance()
    one = small([UNIFORM], seeds=[4]).advance()
    np.testing.assert_array_equal(two.successes[1], one.successes[0])


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
    plain, novel = small(), small(bonus=CountBonus(0.1))
    plain.advance()
    curves = novel.advance()
    assert int(novel.runs.bonus.sum()) == 2 * 768  # visits of both runs
    np.testing.assert_array_equal(curves.sums, curves.successes)  # the goal's reward alone
    first, second = (jax.tree.leaves(p.runs.learner.params)[0] for p in (plain, novel))
    assert not np.allclose(first, second)


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
