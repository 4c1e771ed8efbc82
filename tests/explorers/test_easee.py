import numpy as np
import pytest
from scipy.stats import chisquare

import easee
from easee import Explorer, priors


@pytest.fixture(params=[1, 3])
def n_envs(request):
    return request.param


def test_visits_follow_the_policy(policy):
    graph = policy.graph
    n = 40_000
    explorer = Explorer(policy, n, seed=1)
    node = np.zeros(n, int)
    walking = np.ones(n, bool)
    for _ in range(graph.depth):
        actions = explorer.sample()
        node = np.where(walking, graph.successors[node, actions], node)
        explorer.step(actions)
        walking &= ~graph.ends[node]
    final = np.flatnonzero(graph.ends)
    expected = policy.visits[final]
    assert expected.sum() == pytest.approx(1.0)
    assert chisquare(np.bincount(node, minlength=len(graph))[final], n * expected).pvalue > 0.001


def test_a_single_environment_follows_the_policy(policy):
    explorer = Explorer(policy, 1, seed=1)
    counts = np.zeros((len(policy.graph), 3))
    for _ in range(30_000):
        action = explorer.sample_one()
        counts[explorer.nodes[0], action] += 1
        explorer.step_one(action, False)
    for node in (0, *policy.graph.successors[0]):
        possible = policy.probabilities[node] > 0
        expected = counts[node].sum() * policy.probabilities[node]
        assert not counts[node, ~possible].any()
        assert chisquare(counts[node, possible], expected[possible]).pvalue > 0.001


def test_floor_mixes_in_the_uniform_policy(policy):
    explorer = Explorer(policy, 60_000, seed=2, floor=0.3)
    left, right = 1, 2
    explorer.step(np.full(60_000, left))
    counts = np.bincount(explorer.sample(), minlength=3)
    node = policy.graph.node("left")
    expected = 0.7 * policy.probabilities[node] + 0.1
    assert policy.probabilities[node, right] == 0 and counts[right] > 0
    assert chisquare(counts, 60_000 * expected).pvalue > 0.001


def test_actions_follow_the_floors(usual):
    explorer = Explorer(usual, 40_000, seed=6)
    counts = np.bincount(explorer.sample(), minlength=4)
    assert chisquare(counts, [16_000, 16_000, 6000, 2000]).pvalue > 0.001


def test_a_single_environment_follows_the_floors(usual):
    explorer = Explorer(usual, 1, seed=6)
    counts, at_root = np.zeros(4), 0
    for _ in range(20_000):
        action = explorer.sample_one()
        if explorer.nodes[0] == 0:
            counts[action] += 1
            at_root += 1
        explorer.step_one(action, False)
    assert at_root > 4000
    assert chisquare(counts, at_root * np.array([0.4, 0.4, 0.15, 0.05])).pvalue > 0.001


def test_actions_with_floors_keep_the_node(usual):
    explorer = Explorer(usual, 2, seed=0)
    explorer.step([0, 1])
    nodes = explorer.nodes.tolist()
    explorer.step([2, 3])
    assert explorer.nodes.tolist() == nodes and 0 not in nodes


def test_masked_floors_are_renormalised(usual):
    explorer = Explorer(usual, 40_000, seed=7)
    counts = np.bincount(explorer.sample([True, False, True, True]), minlength=4)
    assert counts[1] == 0
    expected = 40_000 * np.array([0.4, 0.15, 0.05]) / 0.6
    assert chisquare(counts[[0, 2, 3]], expected).pvalue > 0.001


def test_masked_probabilities_are_renormalised(policy):
    explorer = Explorer(policy, 30_000, seed=3)
    counts = np.bincount(explorer.sample([True, True, False]), minlength=3)
    expected = policy.probabilities[0, :2] / policy.probabilities[0, :2].sum()
    assert counts[2] == 0
    assert chisquare(counts[:2], 30_000 * expected).pvalue > 0.001


def test_a_mask_that_forbids_all_actions_of_the_policy_is_sampled_uniformly():
    policy = easee.compile(easee.inverse("left", "right") | easee.noop("wait"), 4)
    explorer = Explorer(policy, 30_000, seed=4)
    explorer.step(np.zeros(30_000, int))  # after left the policy continues left
    counts = np.bincount(explorer.sample([False, True, True]), minlength=3)
    assert counts[0] == 0
    assert chisquare(counts[1:]).pvalue > 0.001


def test_nodes_follow_every_action_and_restart_after_depth_actions(n_envs):
    policy = easee.compile(easee.commute("a", "b"), 3)
    graph = policy.graph
    explorer = Explorer(policy, n_envs, seed=0)
    for word in ("b", "b a"):
        explorer.step([graph.actions.index(word[-1])] * n_envs)
        assert (explorer.nodes == graph.node(word)).all()
    explorer.step([0] * n_envs)
    assert not explorer.nodes.any() and not explorer.lengths.any()


def test_greedy_actions_along_pruned_edges_count(n_envs):
    policy = easee.compile(easee.inverse("left", "right"), 3)
    explorer = Explorer(policy, n_envs, seed=0)
    explorer.step([0] * n_envs)
    explorer.step([1] * n_envs)  # back at the root after two actions
    assert not explorer.nodes.any() and (explorer.lengths == 2).all()
    explorer.step([0] * n_envs)  # the third action reaches the full depth
    assert not explorer.nodes.any() and not explorer.lengths.any()


def test_only_environments_whose_episode_ended_restart(policy):
    explorer = Explorer(policy, 3, seed=0)
    explorer.step([0, 1, 2], [False, True, False])
    assert (explorer.nodes != 0).tolist() == [True, False, True]
    assert explorer.lengths.tolist() == [1, 0, 1]


def test_dead_ends_restart(policy, n_envs):
    graph = policy.graph
    dead = int(np.flatnonzero(graph.ends & (graph.depths < graph.depth))[0])
    explorer = Explorer(policy, n_envs, seed=0)
    for name in graph.word(dead):
        explorer.step([graph.actions.index(name)] * n_envs)
    assert not explorer.nodes.any() and not explorer.lengths.any()


def test_reset_restarts_some_or_all_environments(policy):
    explorer = Explorer(policy, 3, seed=0)
    explorer.step([0, 0, 0])
    explorer.reset([True, False, False])
    assert (explorer.nodes == 0).tolist() == [True, False, False]
    explorer.reset()
    assert not explorer.nodes.any() and not explorer.lengths.any()


def test_reset_restarts_a_single_environment(policy):
    explorer = Explorer(policy, 1, seed=0)
    explorer.step([0])
    node = explorer.nodes
    explorer.reset([False])
    assert explorer.nodes == node != 0
    explorer.reset([True])
    assert explorer.nodes == explorer.lengths == 0


def test_a_state_of_another_policy_is_rejected(policy):
    other = easee.compile(priors.get("rotation-grid"), 3)
    with pytest.raises(easee.ArgumentError, match="another explorer: expected policy="):
        Explorer(policy).load_state_dict(Explorer(other).state_dict())


def test_the_format_of_states_is_stable(policy, n_envs):
    explorer = Explorer(policy, n_envs, seed=0)
    node = policy.graph.node("left")
    explorer.load_state_dict(
        {
            "kind": "Explorer",
            "n_actions": 3,
            "n_envs": n_envs,
            "rng": np.random.default_rng(5).bit_generator.state,
            "uniforms": [0.5, 0.25],
            "policy": explorer.table.fingerprint,
            "nodes": np.full(n_envs, node),
            "lengths": np.full(n_envs, 3),
        }
    )
    assert explorer.nodes.tolist() == [node] * n_envs
    assert explorer.lengths.tolist() == [3] * n_envs
    expected = [0.25] if n_envs == 1 else np.random.default_rng(5).random(n_envs)
    cumulative = explorer.table.cumulative[node]
    assert explorer.sample().tolist() == np.searchsorted(cumulative, expected, "right").tolist()


def test_entropies_are_those_of_the_probabilities(policy):
    explorer = Explorer(policy, floor=0.5)
    row = explorer.table.probabilities[0]
    assert explorer.entropies[0] == pytest.approx(-(row * np.log(row)).sum())
    assert not explorer.entropies[policy.graph.ends].any()
