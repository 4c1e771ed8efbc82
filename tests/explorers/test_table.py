from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import easee
from easee import priors
from easee.explorers import scalar
from easee.explorers.scalar import Walker
from easee.explorers.table import PolicyTable


def test_the_walk_restarts_at_ends(policy):
    graph, table = policy.graph, PolicyTable.from_policy(policy)
    inner = graph.successors[~graph.ends]
    expected = np.where(graph.ends[inner], -1, inner)
    np.testing.assert_array_equal(table.next_nodes[~graph.ends], expected)
    assert (expected == -1).any() and (expected > 0).any()
    np.testing.assert_array_equal(table.probabilities, policy.probabilities)
    assert table.actions == graph.actions and table.depth == graph.depth


def test_a_floor_is_mixed_in_where_the_walk_can_be(policy):
    table, ends = PolicyTable.from_policy(policy, 0.3), policy.graph.ends
    expected = 0.7 * policy.probabilities[~ends] + 0.1
    np.testing.assert_allclose(table.probabilities[~ends], expected)
    assert not table.probabilities[ends].any()
    np.testing.assert_allclose(np.diff(table.cumulative)[~ends], expected[:, 1:], atol=1e-15)
    assert (table.cumulative[:, -1] == 1).all()


def test_rows_are_floors_plus_a_share_of_the_policy(usual):
    table, ends = PolicyTable.from_policy(usual), usual.graph.ends
    expected = [0, 0, 0.15, 0.05] + 0.8 * usual.probabilities[~ends]
    np.testing.assert_allclose(table.probabilities[~ends], expected, rtol=0, atol=1e-15)
    assert not table.probabilities[ends].any() and ends.any()
    np.testing.assert_allclose(table.probabilities[~ends].sum(axis=1), 1)
    np.testing.assert_allclose(table.cumulative[0], [0.4, 0.8, 0.95, 1.0])


def test_a_floor_replaces_those_of_the_policy(usual):
    inner = ~usual.graph.ends
    row = usual.probabilities[inner]
    for floor, expected in (
        (0, row),
        (0.2, 0.05 + 0.8 * row),
        ([0.1, 0, 0.3, 0], [0.1, 0, 0.3, 0] + 0.6 * row),
        (np.zeros(4), row),
        ([0.25] * 4, np.full_like(row, 0.25)),
    ):
        table = PolicyTable.from_policy(usual, floor)
        np.testing.assert_allclose(table.probabilities[inner], expected, rtol=0, atol=1e-15)
        explorer = easee.Explorer(usual, floor=floor)
        np.testing.assert_array_equal(explorer.table.probabilities, table.probabilities)


def test_floors_change_the_fingerprint(usual):
    tables = [PolicyTable.from_policy(usual, floor) for floor in (None, 0, [0, 0, 0.15, 0.06])]
    assert len({table.fingerprint for table in tables}) == 3


@pytest.mark.parametrize("floor", [[0.5, 0.5, 0.5], [0.1, 0.1], [-0.1, 0, 0], [float("nan"), 0, 0]])
def test_invalid_arrays_of_floors_are_rejected(policy, floor):
    with pytest.raises(easee.ArgumentError, match="floors"):
        PolicyTable.from_policy(policy, floor)


@pytest.mark.parametrize("floor", [-0.1, 1.1, float("nan"), "a"])
def test_invalid_floors_are_rejected(policy, floor):
    with pytest.raises(easee.ArgumentError, match="floor"):
        PolicyTable.from_policy(policy, floor)
    with pytest.raises(easee.ArgumentError, match="floor"):
        easee.Explorer(policy, floor=floor)


def test_only_a_policy_has_a_table():
    with pytest.raises(TypeError, match="expected an ExplorationPolicy, found int"):
        PolicyTable.from_policy(3)
    with pytest.raises(TypeError, match="expected an ExplorationPolicy, found int"):
        easee.Explorer(3)


def test_a_table_cannot_be_changed(policy):
    table = PolicyTable.from_policy(policy)
    for array in (table.probabilities, table.cumulative, table.next_nodes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(FrozenInstanceError):
        table.depth = 3  # type: ignore[misc]


def test_different_tables_have_different_fingerprints(policy):
    other = easee.compile(priors.get("rotation-grid-complete"), 5)
    tables = [
        PolicyTable.from_policy(policy),
        PolicyTable.from_policy(policy, floor=0.1),
        PolicyTable.from_policy(other),
        PolicyTable.uniform(3),
    ]
    assert len({table.fingerprint for table in tables}) == 4
    assert PolicyTable.from_policy(policy).fingerprint == tables[0].fingerprint


def test_the_fingerprint_is_stable():
    # States and checkpoints hold it, so it must not change between versions.
    assert PolicyTable.uniform(2).fingerprint == "5f5c6752ad93344a2cb9fe8ade888ae2"


def test_arrays_and_plain_numbers_follow_the_same_nodes(policy):
    table = PolicyTable.from_policy(policy)
    rng = np.random.default_rng(0)
    walkers = [Walker(table) for _ in range(20)]
    explorer = easee.Explorer(policy, 20, seed=0)
    restarts = 0
    for _ in range(200):
        actions, dones = rng.integers(3, size=20), rng.random(20) < 0.05
        explorer.step(actions, dones)
        nodes, lengths = explorer.nodes, explorer.lengths
        for walker, action, done in zip(walkers, actions, dones, strict=True):
            walker.step(int(action), bool(done))
        assert nodes.tolist() == [walker.node for walker in walkers]
        assert lengths.tolist() == [walker.length for walker in walkers]
        restarts += (lengths == 0).sum()
    assert restarts > 200


def test_cached_rows_are_limited(policy, monkeypatch):
    table = PolicyTable.from_policy(policy)
    free, limited = Walker(table), Walker(table)
    rng = np.random.default_rng(0)
    monkeypatch.setattr(scalar, "MAX_ROWS", 3)
    for _ in range(300):
        uniform = rng.random()
        assert limited.action(uniform) == free.action(uniform)
        limited.step(limited.action(uniform), False)
        monkeypatch.setattr(scalar, "MAX_ROWS", 10**6)
        free.step(free.action(uniform), False)
        monkeypatch.setattr(scalar, "MAX_ROWS", 3)
        assert limited.node == free.node and len(limited.rows) <= 3
    assert len(free.rows) > 3
