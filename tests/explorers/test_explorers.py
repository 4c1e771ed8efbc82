import numpy as np
import pytest
from scipy.stats import chisquare

import easee
from easee import Equivalences, Explorer, TabuExplorer, UniformExplorer, ZetaExplorer, priors


@pytest.fixture(scope="module")
def policy():
    return easee.compile(priors.get("rotation-grid-complete"), 6)


OMEGA = priors.get("rotation-grid")
RIVALS = {
    "easee": lambda n, seed: Explorer(easee.compile(OMEGA, 4), n, seed),
    "uniform": lambda n, seed: UniformExplorer(3, n, seed),
    "zeta": lambda n, seed: ZetaExplorer(3, n, seed),
    "tabu": lambda n, seed: TabuExplorer(OMEGA, n, seed),
}


@pytest.fixture(params=RIVALS)
def make(request):
    return RIVALS[request.param]


# --- what all explorers have in common -----------------------------------------------------------


def roll(explorer, steps, epsilon=0.5):
    rng = np.random.default_rng(7)
    taken = []
    for _ in range(steps):
        greedy = rng.integers(explorer.n_actions, size=explorer.n_envs)
        actions = explorer.choose(greedy, epsilon)
        explorer.step(actions, rng.random(explorer.n_envs) < 0.1)
        taken.append(actions)
    return np.array(taken)


def test_same_seed_same_actions(make):
    np.testing.assert_array_equal(roll(make(5, 3), 200), roll(make(5, 3), 200))
    assert (roll(make(5, 3), 200) != roll(make(5, 4), 200)).any()


def test_nothing_global_is_touched(make):
    state = np.random.get_state()[1].copy()
    roll(make(2, 0), 20)
    np.testing.assert_array_equal(np.random.get_state()[1], state)


def test_state_dict_goes_on_exactly(make):
    explorer = make(4, 0)
    roll(explorer, 50)
    state = explorer.state_dict()
    expected = roll(explorer, 50)
    fresh = make(4, 99)
    fresh.load_state_dict(state)
    np.testing.assert_array_equal(roll(fresh, 50), expected)


def test_state_of_another_explorer_is_refused(make):
    state = make(4, 0).state_dict()
    with pytest.raises(easee.ArgumentError, match="n_envs=3"):
        make(3, 0).load_state_dict(state)
    with pytest.raises(easee.ArgumentError, match="another"):
        make(4, 0).load_state_dict(state | {"kind": "SomeExplorer"})


@pytest.mark.parametrize("n_envs", [4, 40])
@pytest.mark.parametrize(
    "entry",
    [
        {"uniforms": None},
        {"uniforms": [5.0]},
        {"rng": {}},
        {"rng": None},
        {"nodes": None},
        {"nodes": "text"},
        {"nodes": -1},
        {"nodes": 0.5},
        {"nodes": 10**6},
        {"lengths": -9},
        {"lengths": 99},
        {"repeated": 9},
        {"remaining": -1},
        {"last": 9},
    ],
)
def test_a_damaged_state_is_refused_and_changes_nothing(make, entry, n_envs):
    explorer = make(n_envs, 0)
    roll(explorer, 5)
    before = explorer.state_dict()
    ((key, value),) = entry.items()
    if key not in before:
        return
    if isinstance(value, int | float):
        value = np.full(n_envs, value)
    with pytest.raises(easee.ArgumentError):
        explorer.load_state_dict(before | {key: value})
    np.testing.assert_equal(explorer.state_dict(), before)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.array, int])
@pytest.mark.parametrize("n_envs", [2, 40])
def test_any_number_is_an_epsilon(make, kind, n_envs):
    for epsilon in (0.0, 1.0):
        expected = roll(make(n_envs, 3), 30, epsilon)
        np.testing.assert_array_equal(roll(make(n_envs, 3), 30, kind(epsilon)), expected)


def test_one_coin_per_environment(make):
    explorer = make(4000, 0)
    greedy = np.full(4000, 1)
    actions = explorer.choose(greedy, 0.5)
    share = (actions == 1).mean()
    assert 0.55 < share < 0.85  # half greedy, and some exploration picks 1 too


def test_epsilon_0_is_greedy_and_1_explores(make):
    greedy = np.array([2, 1, 0])
    np.testing.assert_array_equal(make(3, 0).choose(greedy, 0.0), greedy)
    assert (make(3000, 0).choose(np.zeros(3000, int), 1.0) != 0).any()


def test_epsilon_may_differ_by_environment(make):
    explorer = make(2000, 0)
    epsilon = np.repeat([0.0, 1.0], 1000)
    actions = explorer.choose(np.zeros(2000, int), epsilon)
    assert not actions[:1000].any() and actions[1000:].any()


def test_masks_are_obeyed(make):
    explorer = make(300, 0)
    mask = np.random.default_rng(1).random((300, 3)) < 0.5
    mask[np.arange(300), np.arange(300) % 3] = True
    for _ in range(20):
        actions = explorer.sample(mask)
        assert mask[np.arange(300), actions].all()
        explorer.step(actions)
    assert (explorer.sample([False, True, False]) == 1).all()
    explorer.reset()
    assert not explorer.choose(np.zeros(300, int), 0.0, mask=mask).any()  # greedy is not masked


def test_scalars_do_for_one_environment(make):
    explorer = make(1, 0)
    explorer.step(2, False)
    assert explorer.choose(1, 0.0).tolist() == [1]


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n_envs", [1, 4, 20])
def test_a_function_may_say_what_is_greedy(make, n_envs, epsilon):
    by_value, by_function = make(n_envs, 0), make(n_envs, 0)
    rng = np.random.default_rng(7)
    for _ in range(200):
        greedy = rng.integers(3, size=n_envs)
        expected = by_value.choose(greedy, epsilon)
        actions = by_function.choose(lambda greedy=greedy: greedy, epsilon)
        np.testing.assert_array_equal(actions, expected)
        np.testing.assert_array_equal(by_function.explored, by_value.explored)
        dones = rng.random(n_envs) < 0.1
        by_value.step(expected, dones)
        by_function.step(actions, dones)
    np.testing.assert_equal(by_function.state_dict(), by_value.state_dict())


@pytest.mark.parametrize("n_envs", [1, 4, 20])
def test_the_greedy_function_is_called_only_if_somebody_is_greedy(make, n_envs):
    calls = []

    def greedy():
        calls.append(1)
        return np.zeros(n_envs, int)

    explorer = make(n_envs, 0)
    for _ in range(50):
        explorer.step(explorer.choose(greedy, 1.0))
    assert not calls
    explorer.reset()
    explorer.choose(greedy, 0.0)
    assert len(calls) == 1


@pytest.mark.parametrize("n_envs", [1, 20])
def test_what_the_greedy_function_returns_is_checked(make, n_envs):
    with pytest.raises(easee.ArgumentError, match="from 0 to 2"):
        make(n_envs, 0).choose(lambda: np.full(n_envs, 3), 0.0)
    with pytest.raises(easee.ArgumentError, match="one action for each"):
        make(n_envs, 0).choose(lambda: np.zeros(n_envs + 1, int), 0.0)


def test_one_environment_by_numbers_is_one_by_arrays(make):
    arrays, numbers = make(1, 0), make(1, 0)
    rng = np.random.default_rng(7)
    for _ in range(500):
        greedy, done = int(rng.integers(3)), bool(rng.random() < 0.1)
        (action,) = arrays.choose([greedy], 0.5)
        assert numbers.choose_one(greedy, 0.5) == action
        assert numbers.explored.tolist() == arrays.explored.tolist()
        arrays.step([action], [done])
        numbers.step_one(int(action), done)
    np.testing.assert_equal(numbers.state_dict(), arrays.state_dict())


def test_few_environments_by_numbers_are_those_by_arrays(make):
    arrays, numbers = make(5, 0), make(5, 0)
    rng = np.random.default_rng(7)
    for _ in range(200):
        greedy, dones = rng.integers(3, size=5), rng.random(5) < 0.1
        actions = arrays.choose(greedy, 0.5)
        assert [numbers.choose_one(int(greedy[i]), 0.5, i) for i in range(5)] == actions.tolist()
        arrays.step(actions, dones)
        for env in range(5):
            numbers.step_one(int(actions[env]), bool(dones[env]), env)
    np.testing.assert_equal(numbers.state_dict(), arrays.state_dict())


@pytest.mark.parametrize("n_envs", [1, 4, 20])
def test_explored_tells_which_actions_are_exploratory(make, n_envs):
    explorer = make(n_envs, 0)
    assert explorer.explored.shape == (n_envs,) and not explorer.explored.any()
    explorer.sample()
    assert explorer.explored.dtype == bool and explorer.explored.all()
    explorer.reset()
    explorer.choose(np.zeros(n_envs, int), 0.0)
    assert not explorer.explored.any()
    explorer.choose(np.zeros(n_envs, int), 1.0)
    assert explorer.explored.all()
    explorer.sample(mask=[True, True, False])
    assert explorer.explored.all()
    explorer.explored[:] = False  # a copy
    assert explorer.explored.all()


def test_explored_is_a_coin_for_every_environment(make):
    explorer = make(20, 0)
    flags = []
    for _ in range(400):
        actions = explorer.choose(np.full(20, 1), np.repeat([0.2, 0.7], 10))
        flags.append(explorer.explored)
        assert (actions[~explorer.explored] == 1).all()
        explorer.step(actions)
        explorer.reset()  # no repetition goes on
    counts = np.sum(flags, axis=0).reshape(2, 10).sum(axis=1)
    for count, epsilon in zip(counts, (0.2, 0.7), strict=True):
        assert (
            chisquare([count, 4000 - count], [4000 * epsilon, 4000 * (1 - epsilon)]).pvalue > 0.001
        )


def test_a_repetition_that_goes_on_is_exploratory():
    for n_envs in (3, 20):
        explorer = ZetaExplorer(4, n_envs, seed=0)
        explorer.repeated[:], explorer.remaining[0] = 2, 5
        assert explorer.choose(np.zeros(n_envs, int), 0.0)[0] == 2
        assert explorer.explored.tolist() == [True] + [False] * (n_envs - 1)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda e: e.step([0, 1], [False] * 3), "one action for each of 3"),
        (lambda e: e.step([0, 1, 3], [False] * 3), "from 0 to 2"),
        (lambda e: e.step([0, 1, -1], [False] * 3), "from 0 to 2"),
        (lambda e: e.step([0.0, 1.0, 2.0], [False] * 3), "integers"),
        (lambda e: e.step([0, 1, 2], [False] * 2), "dones of shape"),
        (lambda e: e.step([0, 1, 2], [0.5] * 3), "booleans"),
        (lambda e: e.sample(np.zeros(3, bool)), "allows no action"),
        (lambda e: e.sample([[True] * 3, [False] * 3, [True] * 3]), "environment 1 allows no"),
        (lambda e: e.sample(np.ones(4, bool)), "mask of shape"),
        (lambda e: e.sample([0.5, 1, 1]), "mask of booleans"),
        (lambda e: e.choose([0, 0, 0], 1.5), "between 0 and 1"),
        (lambda e: e.choose([0, 0, 0], -0.1), "between 0 and 1"),
        (lambda e: e.choose([0, 0, 0], float("nan")), "between 0 and 1"),
        (lambda e: e.choose([0, 0, 0], [0.1, 0.2]), "epsilon as a number or"),
        (lambda e: e.choose([0, 0, 0], "0.5"), "epsilon as a number, found '0.5'"),
        (lambda e: e.choose([0, 0, 0], None), "epsilon as a number, found None"),
        (lambda e: e.choose([0, 0, 0], [[0.1], [0.1, 0.2]]), "epsilon as a number"),
        (lambda e: e.choose([0, 0, 0], [0.1, 0.2, 2]), "between 0 and 1"),
        (lambda e: e.choose([0, 0, 9], 0.1), "from 0 to 2"),
        (lambda e: e.reset([True]), "which of shape"),
    ],
)
def test_bad_input(make, call, error):
    explorer = make(3, 0)
    if error.startswith("which") and isinstance(explorer, UniformExplorer):
        return  # it has nothing to reset
    with pytest.raises(easee.ArgumentError, match=error):
        call(explorer)


@pytest.mark.parametrize("n_envs", [0, -1, 1.5, True])
def test_bad_number_of_environments(make, n_envs):
    with pytest.raises(easee.ArgumentError, match="n_envs"):
        make(n_envs, 0)


# --- Explorer ------------------------------------------------------------------------------------


def test_sampled_visits_are_the_promised_ones(policy):
    graph = policy.graph
    n = 40_000
    explorer = Explorer(policy, n, seed=1)
    reached = np.zeros((graph.depth + 1, len(graph)))
    word = np.zeros(n, int)
    walking = np.ones(n, bool)
    for t in range(graph.depth):
        actions = explorer.sample()
        word = np.where(walking, graph.successors[word, actions], word)
        explorer.step(actions)
        walking &= ~graph.ends[word]
        reached[t + 1] = np.bincount(word, minlength=len(graph))
    final = np.flatnonzero(graph.ends)
    expected = policy.visits[final]
    assert expected.sum() == pytest.approx(1.0)
    assert chisquare(reached[-1][final], n * expected).pvalue > 0.001


def test_floor_mixes_in_the_uniform_policy(policy):
    explorer = Explorer(policy, 60_000, seed=2, floor=0.3)
    left, right = 1, 2
    explorer.step(np.full(60_000, left))
    counts = np.bincount(explorer.sample(), minlength=3)
    node = policy.graph.node("left")
    expected = 0.7 * policy.probabilities[node] + 0.1
    assert policy.probabilities[node, right] == 0 and counts[right] > 0
    assert chisquare(counts, 60_000 * expected).pvalue > 0.001


@pytest.mark.parametrize("floor", [-0.1, 1.1, float("nan")])
def test_bad_floor(policy, floor):
    with pytest.raises(easee.ArgumentError, match="floor"):
        Explorer(policy, floor=floor)


def test_explorer_wants_a_policy():
    with pytest.raises(TypeError, match="ExplorationPolicy"):
        Explorer("policy")


def test_masked_probabilities_are_renormalised(policy):
    explorer = Explorer(policy, 30_000, seed=3)
    mask = [True, True, False]
    counts = np.bincount(explorer.sample(mask), minlength=3)
    expected = policy.probabilities[0, :2] / policy.probabilities[0, :2].sum()
    assert counts[2] == 0
    assert chisquare(counts[:2], 30_000 * expected).pvalue > 0.001


def test_a_mask_that_leaves_nothing_of_the_policy_falls_back_to_uniform():
    policy = easee.compile(easee.inverse("left", "right") | easee.noop("wait"), 4)
    explorer = Explorer(policy, 30_000, seed=4)
    explorer.step(np.zeros(30_000, int))  # after left the policy goes left
    counts = np.bincount(explorer.sample([False, True, True]), minlength=3)
    assert counts[0] == 0
    assert chisquare(counts[1:]).pvalue > 0.001


def test_nodes_follow_every_action_and_are_reset_after_depth_actions():
    policy = easee.compile(easee.commute("a", "b"), 3)
    graph = policy.graph
    explorer = Explorer(policy, 1, seed=0)
    for word in ("b", "b a"):
        explorer.step([graph.actions.index(word[-1])])
        assert explorer.nodes[0] == graph.node(word)
    explorer.step([0])
    assert explorer.nodes[0] == 0 and explorer.lengths[0] == 0


def test_greedy_moves_along_pruned_edges_count_as_actions():
    policy = easee.compile(easee.inverse("left", "right"), 3)
    explorer = Explorer(policy, 1, seed=0)
    explorer.step([0])
    explorer.step([1])  # back: the word has two actions, the node is the root
    assert explorer.nodes[0] == 0 and explorer.lengths[0] == 2
    explorer.step([0])  # the third action ends the word
    assert explorer.nodes[0] == 0 and explorer.lengths[0] == 0


def test_only_environments_whose_episode_ended_are_reset(policy):
    explorer = Explorer(policy, 3, seed=0)
    explorer.step([0, 1, 2], [False, True, False])
    assert (explorer.nodes != 0).tolist() == [True, False, True]
    assert explorer.lengths.tolist() == [1, 0, 1]


def test_dead_ends_start_again(policy):
    graph = policy.graph
    dead = int(np.flatnonzero(graph.ends & (graph.depths < graph.depth))[0])
    explorer = Explorer(policy, 1, seed=0)
    for name in graph.word(dead):
        explorer.step([graph.actions.index(name)])
    assert explorer.nodes[0] == 0 and explorer.lengths[0] == 0


def test_reset_some_or_all(policy):
    explorer = Explorer(policy, 3, seed=0)
    explorer.step([0, 0, 0])
    explorer.reset([True, False, False])
    assert (explorer.nodes == 0).tolist() == [True, False, False]
    explorer.reset()
    assert not explorer.nodes.any() and not explorer.lengths.any()


def test_state_of_another_policy_is_refused(policy):
    other = easee.compile(priors.get("rotation-grid"), 3)
    with pytest.raises(easee.ArgumentError, match="another explorer: expected policy="):
        Explorer(policy).load_state_dict(Explorer(other).state_dict())


def test_a_generator_may_be_shared(policy):
    rng = np.random.default_rng(0)
    assert Explorer(policy, seed=rng).rng is rng


# --- rivals --------------------------------------------------------------------------------------


def test_uniform_is_uniform():
    counts = np.bincount(UniformExplorer(5, 50_000, seed=0).sample(), minlength=5)
    assert chisquare(counts).pvalue > 0.001


def test_zeta_repeats_for_zeta_many_steps():
    n = 20_000
    explorer = ZetaExplorer(4, n, seed=0)
    first = explorer.sample()
    lengths = np.zeros(n, int)
    for _ in range(4):
        lengths += explorer.remaining > 0
        explorer.step(np.where(explorer.remaining > 0, first, 0))
    from scipy.special import zeta

    probability = np.array([1.0, 1 / 4, 1 / 9]) / zeta(2.0)
    expected = n * np.append(probability, 1 - probability.sum())
    counts = np.bincount(lengths, minlength=5)[1:]
    assert chisquare(counts, expected).pvalue > 0.001


def test_zeta_goes_on_whatever_the_coin_says():
    explorer = ZetaExplorer(4, 1000, seed=0)
    first = explorer.sample()
    explorer.step(first)
    busy = explorer.remaining > 0
    assert busy.any()
    greedy = (first + 1) % 4
    chosen = explorer.choose(greedy, 0.0)
    np.testing.assert_array_equal(chosen[busy], first[busy])
    np.testing.assert_array_equal(chosen[~busy], greedy[~busy])


def test_zeta_stops_at_the_end_of_an_episode_and_when_overruled():
    explorer = ZetaExplorer(4, 3, seed=0)
    explorer.repeated[:], explorer.remaining[:] = 2, 10
    explorer.step([2, 2, 1], [False, True, False])
    assert explorer.remaining.tolist() == [9, 0, 0]
    explorer.reset()
    assert not explorer.remaining.any()


def test_bad_mu():
    with pytest.raises(easee.ArgumentError, match="mu"):
        ZetaExplorer(4, mu=1.0)


def test_tabu_never_undoes_the_last_action():
    explorer = TabuExplorer(priors.get("cardinal-grid"), 5000, seed=0)
    explorer.step(np.zeros(5000, int))  # right
    counts = np.bincount(explorer.sample(), minlength=4)
    assert counts[1] == 0
    assert chisquare(counts[[0, 2, 3]]).pvalue > 0.001
    explorer.step(np.zeros(5000, int), np.ones(5000, bool))
    assert np.bincount(explorer.sample(), minlength=4).all()  # a new episode forgets


def test_tabu_forbids_nothing_where_everything_would_undo():
    explorer = TabuExplorer(easee.power("a", 2), 3, seed=0)
    explorer.step([0, 0, 0])
    assert explorer.sample().tolist() == [0, 0, 0]


def test_tabu_wants_equivalences():
    with pytest.raises(TypeError, match="Equivalences"):
        TabuExplorer(["a"])


def test_a_state_of_another_prior_is_refused():
    omega = Equivalences(["left", "right", "wait"], ["left right ~"])
    other = Equivalences(["left", "right", "wait"], ["left wait ~"])
    with pytest.raises(easee.ArgumentError, match="another explorer: expected tabu"):
        TabuExplorer(omega).load_state_dict(TabuExplorer(other).state_dict())
