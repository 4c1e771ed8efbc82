from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare

import easee
from easee import ArgumentError, Explorer, ZetaExplorer, priors
from easee.explorers import jax as explorers
from easee.explorers.jax import Uniforms, choose, from_policy, init, sample, step
from easee.explorers.table import PolicyTable

N = 40
POLICIES = [("rotation-grid", 5, 0.0), ("cardinal-grid", 8, 0.3), ("doorkey", 4, 0.0)]


class Scripted(Explorer):
    """An explorer whose random numbers are given."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.numbers = []

    def _uniforms(self):
        return self.numbers.pop(0).astype(float)


def follow(policy, floor, masks, dtype, steps=60):
    """Step both explorers with the same random numbers; return the actions of both."""
    rng = np.random.default_rng(0)
    explorer = Scripted(policy, n_envs=N, floor=floor)
    tables, state, k = from_policy(policy, floor), init(N), explorer.n_actions
    pairs = []
    for _ in range(steps):
        coins, draws = rng.random((2, N)).astype(dtype)
        greedy, dones = rng.integers(k, size=N), rng.random(N) < 0.05
        mask = None
        if masks:
            mask = rng.random((N, k)) < 0.6
            mask[np.arange(N), rng.integers(k, size=N)] = True
        explorer.numbers = [coins, draws]
        expected = explorer.choose(greedy, np.full(N, 0.6), mask)
        uniforms = Uniforms(*map(jnp.asarray, (coins, draws, np.zeros(N, dtype))))
        state, actions, explored = choose(tables, state, greedy, 0.6, uniforms, mask)
        np.testing.assert_array_equal(explored, explorer.explored)
        pairs.append((expected, np.asarray(actions)))
        explorer.step(expected, dones)
        state = step(tables, state, jnp.asarray(expected), jnp.asarray(dones))
        np.testing.assert_array_equal(state.nodes, explorer.nodes)
        np.testing.assert_array_equal(state.lengths, explorer.lengths)
    return np.array(pairs)


@pytest.mark.parametrize("name, depth, floor", POLICIES)
def test_the_same_random_numbers_give_the_same_actions(name, depth, floor):
    pairs = follow(easee.compile(priors.get(name), depth=depth), floor, False, np.float32)
    np.testing.assert_array_equal(pairs[:, 0], pairs[:, 1])
    assert len(np.unique(pairs)) > 2


@pytest.mark.slow
@pytest.mark.parametrize("name, depth, floor", POLICIES)
def test_the_same_random_numbers_give_the_same_actions_with_masks(name, depth, floor):
    policy = easee.compile(priors.get(name), depth=depth)
    with jax.enable_x64(True):
        pairs = follow(policy, floor, True, np.float64)
    np.testing.assert_array_equal(pairs[:, 0], pairs[:, 1])


@pytest.mark.slow
def test_masks_are_obeyed_in_single_precision():
    tables = from_policy(easee.compile(priors.get("cardinal-grid"), depth=4))
    mask = jnp.array([[True, False, False, True], [False, True, False, False]])
    keys = jax.random.split(jax.random.key(0), 500)
    drawn = np.asarray(jax.vmap(lambda key: sample(tables, init(2), key, mask)[1])(keys))
    assert set(drawn[:, 0]) == {0, 3} and set(drawn[:, 1]) == {1}
    assert 200 < (drawn[:, 0] == 0).sum() < 300


def test_cumulative_sums_are_rounded_up():
    # A uniform of single precision is below the sum if and only if it is below the rounded one.
    policy = easee.compile(priors.get("boxing"), depth=3)
    exact = PolicyTable.from_policy(policy).cumulative
    rounded = np.asarray(from_policy(policy).cumulative)
    assert rounded.dtype == np.float32 and (rounded >= exact).all()
    assert (np.nextafter(rounded, np.float32(-1)) < exact).all()


@pytest.mark.parametrize("floor", [None, 0.0, 0.3, (0.1, 0.0, 0.2, 0.0)])
def test_tables_have_the_floors_of_the_policy(usual, floor):
    table, tables = PolicyTable.from_policy(usual, floor), from_policy(usual, floor)
    np.testing.assert_allclose(tables.cumulative, table.cumulative, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(tables.next_nodes, table.next_nodes)
    assert (np.asarray(tables.cumulative)[0, 1] < 0.9) == (floor != 0.0)


def test_visits_follow_the_policy():
    policy = easee.compile(priors.get("rotation-grid"), depth=4)
    tables = from_policy(policy)

    def walk(state, key):
        state, actions = sample(tables, state, key)
        return step(tables, state, actions), state.nodes

    keys = jax.random.split(jax.random.key(1), 4)
    _, nodes = jax.jit(lambda: jax.lax.scan(walk, init(20_000), keys))()
    expected: np.ndarray = np.zeros(len(policy.graph))
    expected[0] = 1.0
    for layer in range(1, 4):
        flow = expected[:, None] * policy.probabilities
        expected = np.bincount(
            policy.graph.successors[policy.probabilities > 0],
            flow[policy.probabilities > 0],
            minlength=len(expected),
        )
        counts = np.bincount(np.asarray(nodes[layer]), minlength=len(expected))
        possible = expected > 0
        assert counts[~possible].sum() == 0
        assert chisquare(counts[possible], 20_000 * expected[possible]).pvalue > 1e-4


@pytest.mark.slow
def test_durations_follow_the_zeta_distribution_in_both_explorers():
    tables, mu = explorers.zeta(3), 2.0
    draws = jax.vmap(lambda key: choose(tables, init(), 0, 1.0, key)[0].remaining)
    lengths = 1 + np.asarray(draws(jax.random.split(jax.random.key(0), 40_000)))
    explorer = ZetaExplorer(3, n_envs=40_000, seed=1, mu=mu)
    explorer.sample()
    edges = [1, 2, 3, 4, 6, 10, 20, 100, 10**9]
    counts, counts_numpy = (np.histogram(x, edges)[0] for x in (lengths, explorer.remaining))
    n = np.arange(1, 10**6)
    weights = [(n[(n >= a) & (n < b)] ** -mu).sum() for a, b in pairwise(edges)]
    probabilities = np.array(weights) / np.sum(weights)
    assert chisquare(counts, 40_000 * probabilities).pvalue > 1e-4
    assert chisquare(counts_numpy, 40_000 * probabilities).pvalue > 1e-4


@pytest.mark.slow
def test_repetitions_end_after_another_action_an_episode_or_a_mask():
    tables = explorers.zeta(4)
    state = init(4)._replace(repeated=jnp.full(4, 2), remaining=jnp.full(4, 3))
    key = jax.random.key(0)
    state, actions, explored = choose(tables, state, jnp.ones(4, int), 0.0, key)
    assert actions.tolist() == [2] * 4 and explored.all()
    taken, dones = jnp.array([2, 1, 2, 2]), jnp.array([False, False, True, False])
    state = step(tables, state, taken, dones)
    assert state.remaining.tolist() == [2, 0, 0, 2]
    mask = jnp.array([[True] * 4] * 3 + [[True, True, False, True]])
    state, actions, explored = choose(tables, state, jnp.ones(4, int), 0.0, key, mask)
    assert actions.tolist() == [2, 1, 1, 1] and explored.tolist() == [True, False, False, False]
    for _ in range(2):
        state, actions, explored = choose(tables, state, jnp.ones(4, int), 0.0, key)
        state = step(tables, state, actions)
    assert not explored.any()


@pytest.mark.slow
def test_stacked_explorers_equal_single_ones():
    kinds = [
        explorers.uniform(2),
        from_policy(easee.compile(priors.get("catcher"), depth=6)),
        explorers.zeta(2),
    ]
    states = jax.tree.map(lambda x: jnp.stack([x] * 3), init(50))
    keys = jax.random.split(jax.random.key(3), 3)

    @jax.jit
    def together(states):
        def roll(tables, state, key):
            for i in range(9):
                state, actions = sample(tables, state, jax.random.fold_in(key, i))
                state = step(tables, state, actions)
            return state, actions

        return jax.vmap(roll)(explorers.stack(kinds), states, keys)

    stacked, _ = together(states)
    for i, tables in enumerate(kinds):
        state = init(50)
        for j in range(9):
            state, actions = sample(tables, state, jax.random.fold_in(keys[i], j))
            state = step(tables, state, actions)
        for batched, alone in zip(stacked, state, strict=True):
            np.testing.assert_array_equal(batched[i], alone)


def test_invalid_arguments_are_rejected():
    with pytest.raises(ArgumentError, match=r"same number of actions, found \[2, 3\]"):
        explorers.stack([explorers.uniform(2), explorers.uniform(3)])
    with pytest.raises(ArgumentError, match="n_actions"):
        explorers.uniform(0)
    with pytest.raises(ArgumentError, match="mu greater than 1"):
        explorers.zeta(2, mu=1.0)
    with pytest.raises(ArgumentError, match="floor"):
        from_policy(easee.compile(priors.get("catcher"), depth=2), floor=2)


def test_fixed_probabilities_are_drawn_independently():
    tables = explorers.fixed([0.5, 0.0, 0.5])
    state, actions = explorers.sample(tables, explorers.init(4000), jax.random.key(0))
    counts = np.bincount(actions, minlength=3)
    assert counts[1] == 0 and chisquare(counts[[0, 2]]).pvalue > 1e-3
    assert (explorers.step(tables, state, actions).nodes == 0).all()


@pytest.mark.parametrize("row", [[], [0.5, 0.4], [1.5, -0.5], [[1.0]]])
def test_fixed_probabilities_must_sum_to_one(row):
    with pytest.raises(ArgumentError, match="sum to 1"):
        explorers.fixed(row)
