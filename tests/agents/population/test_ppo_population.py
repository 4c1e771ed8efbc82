import jax
import jax.numpy as jnp
import numpy as np
import pytest
from stable_baselines3.common.env_util import make_vec_env

import easee
from easee import ArgumentError, ArgumentTypeError, priors
from easee.agents.population import PpoPopulation, PpoSettings, Settings, networks
from easee.agents.population.bonuses import CountBonus
from easee.agents.population.ppo_population import Step, _with_advantages
from easee.agents.sb3 import PPO
from easee.envs.jax import GoalGrid
from easee.explorers import jax as explorers
from tests.agents.population.populations import assert_same

SMALL = PpoSettings(256, n_envs=4, n_steps=16, batch_size=32, n_epochs=2, ent_coef=0.01)
WORLD = GoalGrid(5, start=(2, 2, 0))
USUAL = easee.compile(priors.get("rotation-grid-complete"), depth=6)


UNIFORM = explorers.uniform(3)


def small(references=(UNIFORM, USUAL), settings=SMALL, **options):
    """Return a population of PPO in a small goal grid."""
    options = {"bins": 4, "seeds": range(len(references))} | options
    return PpoPopulation(WORLD, references, settings=settings, **options)


@pytest.mark.slow
def test_training_in_pieces_gives_the_same_runs(tmp_path):
    whole, pieces, resumed = small(), small(), small()
    whole.advance()
    pieces.advance(100)
    assert pieces.steps == 128  # whole rollouts
    pieces.save(tmp_path / "c.npz")
    resumed.load(tmp_path / "c.npz")
    resumed.advance()
    assert_same(whole.runs, resumed.runs)


@pytest.mark.slow
def test_a_run_does_not_depend_on_the_others():
    two = small([USUAL, explorers.uniform(3)], seeds=[3, 4]).advance()
    one = small([explorers.uniform(3)], seeds=[4]).advance()
    np.testing.assert_array_equal(two.successes[1], one.successes[0])


def test_the_first_policy_is_the_reference():
    floors = 0.1 / 3 + 0.9 * np.asarray(USUAL.probabilities[0])
    population = small([USUAL])
    np.testing.assert_allclose(population.tables.probabilities[0, 0], floors, rtol=1e-5)
    exact = small([USUAL], settings=PpoSettings(256, n_envs=4, n_steps=16, reference_floor=0.0))
    np.testing.assert_allclose(exact.tables.probabilities[0, 0], USUAL.probabilities[0], rtol=1e-5)


def test_the_reference_finds_the_goal_sooner():
    curves = small([explorers.uniform(3)] * 8 + [USUAL] * 8, seeds=[*range(8)] * 2).advance()
    found = curves.successes.sum(axis=1)
    assert found[8:].mean() > found[:8].mean()


def test_play_does_not_train():
    population = small()
    before = population.advance().successes.copy()
    played = population.play(640)
    assert played.counts.sum() > 0 and (played.successes <= played.counts).all()
    np.testing.assert_array_equal(population.curves().successes, before)
    alone = population.play(640, reference=False)
    np.testing.assert_array_equal(played.counts[0], alone.counts[0])  # a uniform reference
    assert population.play(640, reference=False, greedy=True).counts.shape == (2, 1)


def test_truncated_episodes_are_worth_their_last_state():
    population = small([UNIFORM], settings=PpoSettings(8, n_envs=2, n_steps=4, batch_size=8))
    run = jax.tree.map(lambda leaf: leaf[0], population.runs)
    places = jnp.asarray(np.random.default_rng(0).integers(4, size=(2, 4, 2, 3)), jnp.int16)
    ends = np.zeros((2, 4, 2), bool)
    ends[:, 3] = [[True, False], [False, True]]  # the first terminates, the second is truncated
    numbers = jnp.ones((4, 2))
    terminated, truncated = map(jnp.asarray, ends)
    before, after = places
    steps = Step(before, after, numbers, numbers, numbers, numbers, terminated, truncated)
    rollout = _with_advantages(population._static, run, steps)
    value = population.network.values(run.learner.params, WORLD.unpack(places[1, 3, 1])[None])[0]
    np.testing.assert_allclose(rollout.returns[3], [1.0, 1.0 + 0.99 * value], rtol=1e-5)


@pytest.mark.slow
def test_a_bonus_is_learned_but_not_scored():
    plain, novel = small(), small(bonus=CountBonus(0.1))
    plain.advance()
    curves = novel.advance()
    assert int(novel.runs.bonus.sum()) == 2 * 256  # visits of both runs
    np.testing.assert_array_equal(curves.sums, curves.successes)  # the goal's reward alone
    first, second = (jax.tree.leaves(p.runs.learner.params)[0] for p in (plain, novel))
    assert not np.allclose(first, second)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"settings": Settings(100)}, ArgumentTypeError, "expected PpoSettings"),
        ({"network": networks.MLP}, ArgumentTypeError, "expected an ActorCritic"),
        ({"references": [explorers.uniform(2)]}, ArgumentError, "actions"),
        ({"references": [explorers.zeta(3)]}, ArgumentError, "without repetitions"),
        ({"references": ["plain"]}, ArgumentError, "expected a policy as"),
        ({"references": [3]}, ArgumentTypeError, "Tables"),
    ],
)
def test_invalid_arguments_are_rejected(change, error, message):
    with pytest.raises(error, match=message):
        small(**change)


@pytest.mark.slow
@pytest.mark.parametrize("reference", [None, USUAL], ids=["plain", "reference"])
def test_a_run_is_like_one_of_stable_baselines3(reference):
    """The success over training of eight seeds of each differs by less than chance would."""
    steps, seeds, bins = 2048, 8, 4
    options = {"n_steps": 64, "batch_size": 64, "n_epochs": 4, "ent_coef": 0.01}
    settings = PpoSettings(steps, n_envs=4, learning_rate=1e-3, **options)
    tables = [explorers.uniform(3) if reference is None else reference] * seeds
    curves = PpoPopulation(WORLD, tables, range(seeds), settings, bins=bins).advance()
    ours = curves.successes.sum(axis=1) / curves.counts.sum(axis=1)
    theirs = []
    for seed in range(seeds):
        env = make_vec_env(
            "easee/GoalGrid-v0", 4, env_kwargs={"size": 5, "start": (2, 2, 0)}, seed=seed
        )
        model = PPO(
            "MlpPolicy", env, reference=reference, learning_rate=1e-3, seed=seed, device="cpu",
            stats_window_size=100_000, **options,
        )  # fmt: skip
        model.learn(steps)
        theirs.append(np.mean([info["r"] > 0 for info in model.ep_info_buffer or ()]))
    spread = np.sqrt((ours.var(ddof=1) + np.var(theirs, ddof=1)) / seeds)
    assert abs(ours.mean() - np.mean(theirs)) < 4.0 * spread + 0.02
    assert 0.3 < jnp.asarray(ours).mean() < 0.999  # there was something to learn
