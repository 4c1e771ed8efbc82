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


def follow(policy, floor, masks, dtype, steps=60):
    """Let the core and JAX act on the same random numbers, with greedy actions in between."""
    rng = np.random.default_rng(0)
    core = Explorer(policy, n_envs=N, floor=floor)
    tables, state, k = from_policy(policy, floor), init(N), core.n_actions
    both = []
    for _ in range(steps):
        coins, drawn = rng.random((2, N)).astype(dtype)
        greedy, dones = rng.integers(k, size=N), rng.random(N) < 0.05
        mask = None
        if masks:
            mask = rng.random((N, k)) < 0.6
            mask[np.arange(N), rng.integers(k, size=N)] = True
        given = iter([coins, drawn])
        core._uniforms = lambda given=given: next(given).astype(float)
        ours = core.choose(greedy, np.full(N, 0.6), mask)
        uniforms = Uniforms(*map(jnp.asarray, (coins, drawn, np.zeros(N, dtype))))
        state, theirs, explored = choose(tables, state, greedy, 0.6, uniforms, mask)
        np.testing.assert_array_equal(explored, core.explored)
        both.append((ours, np.asarray(theirs)))
        core.step(ours, dones)
        state = step(tables, state, jnp.asarray(ours), jnp.asarray(dones))
        np.testing.assert_array_equal(state.nodes, core.nodes)
        np.testing.assert_array_equal(state.lengths, core.lengths)
    return np.array(both)


@pytest.mark.parametrize("name, depth, floor", POLICIES)
def test_the_same_random_numbers_give_the_same_actions(name, depth, floor):
    both = follow(easee.compile(priors.get(name), depth=depth), floor, False, np.float32)
    np.testing.assert_array_equal(both[:, 0], both[:, 1])
    assert len(np.unique(both)) > 2


@pytest.mark.parametrize("name, depth, floor", POLICIES)
def test_so_do_masks(name, depth, floor):
    policy = easee.compile(priors.get(name), depth=depth)
    with jax.enable_x64(True):
        both = follow(policy, floor, True, np.float64)
    np.testing.assert_array_equal(both[:, 0], both[:, 1])


def test_a_mask_is_kept_in_single_precision():
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
    ours = np.asarray(from_policy(policy).cumulative)
    assert ours.dtype == np.float32 and (ours >= exact).all()
    assert (np.nextafter(ours, np.float32(-1)) < exact).all()


def test_nodes_are_visited_as_the_policy_says():
    policy = easee.compile(priors.get("rotation-grid"), depth=4)
    tables = from_policy(policy)

    def walk(state, key):
        state, actions = sample(tables, state, key)
        return step(tables, state, actions), state.nodes

    keys = jax.random.split(jax.random.key(1), 4)
    _, nodes = jax.jit(lambda: jax.lax.scan(walk, init(20_000), keys))()
    expected = np.zeros(len(policy.graph))
    expected[0] = 1.0
    for layer in range(1, 4):
        flow = expected[:, None] * policy.probabilities
        expected = np.bincount(
            policy.graph.successors[policy.probabilities > 0],
            flow[policy.probabilities > 0],
            minlength=len(expected),
        )
        counts = np.bincount(np.asarray(nodes[layer]), minlength=len(expected))
        there = expected > 0
        assert counts[~there].sum() == 0
        assert chisquare(counts[there], 20_000 * expected[there]).pvalue > 1e-4


def test_repetitions_last_as_the_core_s_do():
    tables, mu = explorers.zeta(3), 2.0
    draws = jax.vmap(lambda key: choose(tables, init(), 0, 1.0, key)[0].remaining)
    lengths = 1 + np.asarray(draws(jax.random.split(jax.random.key(0), 40_000)))
    core = ZetaExplorer(3, n_envs=40_000, seed=1, mu=mu)
    core.sample()
    edges = [1, 2, 3, 4, 6, 10, 20, 100, 10**9]
    counts, theirs = (np.histogram(x, edges)[0] for x in (lengths, core.remaining))
    n = np.arange(1, 10**6)
    chances = [(n[(n >= a) & (n < b)] ** -mu).sum() for a, b in zip(edges, edges[1:], strict=False)]
    chances = np.array(chances) / np.sum(chances)
    assert chisquare(counts, 40_000 * chances).pvalue > 1e-4
    assert chisquare(theirs, 40_000 * chances).pvalue > 1e-4


def test_a_repetition_goes_on_until_something_ends_it():
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


def test_explorers_of_different_size_are_mapped_over():
    kinds = [
        explorers.uniform(2),
        from_policy(easee.compile(priors.get("catcher"), depth=6)),
        explorers.zeta(2),
    ]
    states = jax.tree.map(lambda x: jnp.stack([x] * 3), init(50))
    keys = jax.random.split(jax.random.key(3), 3)

    @jax.jit
    def together(states):
        def one(tables, state, key):
            for i in range(9):
                state, actions = sample(tables, state, jax.random.fold_in(key, i))
                state = step(tables, state, actions)
            return state, actions

        return jax.vmap(one)(explorers.stack(kinds), states, keys)

    stacked, _ = together(states)
    for i, tables in enumerate(kinds):
        state = init(50)
        for j in range(9):
            state, actions = sample(tables, state, jax.random.fold_in(keys[i], j))
            state = step(tables, state, actions)
        for ours, alone in zip(stacked, state, strict=True):
            np.testing.assert_array_equal(ours[i], alone)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ArgumentError, match=r"same number of actions, found \[2, 3\]"):
        explorers.stack([explorers.uniform(2), explorers.uniform(3)])
    with pytest.raises(ArgumentError, match="n_actions"):
        explorers.uniform(0)
    with pytest.raises(ArgumentError, match="mu greater than 1"):
        explorers.zeta(2, mu=1.0)
    with pytest.raises(ArgumentError, match="floor"):
        from_policy(easee.compile(priors.get("catcher"), depth=2), floor=2)
