import numpy as np
import pytest

import easee
from easee import Explorer, priors


@pytest.fixture
def policy():
    return easee.compile(easee.commute("a", "b"), 3)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64])
def test_actions_may_have_any_integer_type(policy, dtype):
    greedy = np.array([0, 1], dtype)
    for explorer in (Explorer(policy, 2, 0), easee.ZetaExplorer(2, 2, 0)):
        actions = explorer.choose(greedy, 0.5)
        assert actions.dtype == np.int64
        explorer.step(actions.astype(dtype), [False, True])


def test_loading_an_invalid_state_changes_nothing(policy):
    explorer = Explorer(policy, 2, seed=0)
    state = explorer.state_dict()
    expected = explorer.sample()
    explorer.load_state_dict(state)
    for key, value, message in (
        ("nodes", np.array([99, 99]), "nodes from 0 to 9"),
        ("nodes", np.array([0, 0, 0]), "nodes as integers of shape"),
        ("rng", {"bit_generator": "MT19937"}, "another kind of generator"),
        ("policy", "another", "another explorer"),
        ("extra", 1, "a state with the entries"),
    ):
        with pytest.raises(easee.ArgumentError, match=message):
            explorer.load_state_dict(state | {key: value})
    with pytest.raises(easee.ArgumentError, match="a state with the entries"):
        explorer.load_state_dict({})
    np.testing.assert_array_equal(explorer.sample(), expected)


@pytest.mark.parametrize(("nodes", "lengths"), [([24], [2]), ([1], [0])])
def test_states_with_impossible_nodes_are_rejected(nodes, lengths):
    explorer = Explorer(easee.compile(priors.get("cardinal-grid"), 3), seed=0)
    state = explorer.state_dict() | {"nodes": np.array(nodes), "lengths": np.array(lengths)}
    with pytest.raises(easee.ArgumentError, match="no deeper than actions were taken"):
        explorer.load_state_dict(state)
    assert explorer.nodes == [0]


@pytest.mark.parametrize("kind", ["easee", "zeta", "tabu"])
def test_reset_accepts_a_mask_and_rejects_indices(policy, kind):
    explorer = {
        "easee": lambda: Explorer(policy, n_envs=2),
        "zeta": lambda: easee.ZetaExplorer(2, n_envs=2),
        "tabu": lambda: easee.TabuExplorer(easee.commute("a", "b"), n_envs=2),
    }[kind]()
    explorer.reset([True, False])
    with pytest.raises(easee.ArgumentTypeError, match="which as booleans"):
        explorer.reset([0, 1])
