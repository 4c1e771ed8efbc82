import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from tensordict import TensorDict
from torchrl.data import Categorical, OneHot
from torchrl.envs import ExplorationType, GymWrapper, set_exploration_type
from torchrl.modules import EGreedyModule

import easee
from easee import ArgumentError, PriorError
from easee.agents.torchrl import EaseeModule
from easee.explorers.sampling import restrict
from easee.explorers.table import PolicyTable
from tests.agents.torchrl.worlds import POLICY, Masked, agent, assert_followed, grid, rollout

SPEC = Categorical(3)
DRAWS = 4000


def explore(module, data, kind=ExplorationType.RANDOM):
    with set_exploration_type(kind):
        return module(data)


def at_nodes(nodes, **entries):
    nodes = torch.as_tensor(nodes)
    actions = torch.zeros(nodes.shape, dtype=torch.long)
    return TensorDict({"action": actions, "easee_node": nodes, **entries}, nodes.shape)


@pytest.mark.parametrize("one_hot", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_actions_have_the_policy_s_distribution(one_hot, masked):
    torch.manual_seed(0)
    table = PolicyTable.from_policy(POLICY, 0.1)
    nodes = [0, 1, 2, 3]
    expected, entries, options = table.probabilities[nodes], {}, {}
    if masked:
        mask = torch.tensor([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 1, 0]], dtype=torch.bool)
        expected = restrict(expected, mask.numpy())
        entries, options = {"mask": mask.repeat(DRAWS, 1)}, {"action_mask_key": "mask"}
    data = at_nodes(nodes * DRAWS, **entries)
    if one_hot:
        data["action"] = torch.nn.functional.one_hot(data["action"], 3)
    spec = OneHot(3) if one_hot else SPEC
    actions = explore(EaseeModule(spec, POLICY, floor=0.1, **options), data)["action"]
    if one_hot:
        assert (actions.sum(-1) == 1).all()
        actions = actions.argmax(-1)
    for node, row in enumerate(expected):
        counts = np.bincount(actions[node :: len(nodes)], minlength=3)
        assert not counts[row == 0].any()
        possible = row > 0
        if possible.sum() > 1:
            assert chisquare(counts[possible], DRAWS * row[possible]).pvalue > 1e-3


def test_each_environment_explores_with_probability_epsilon():
    torch.manual_seed(0)
    module = EaseeModule(SPEC, POLICY, 0.3, 0.3)
    greedy = torch.full((DRAWS,), 2)
    data = explore(module, at_nodes([1] * DRAWS, action=greedy))
    explored = data["explored"]
    assert chisquare(torch.bincount(explored.long()), [0.7 * DRAWS, 0.3 * DRAWS]).pvalue > 1e-3
    assert (data["action"][~explored] == 2).all()
    assert (data["action"][explored] != 2).any()


def test_epsilon_is_annealed_saved_and_loaded_as_in_torchrl(tmp_path):
    ours, theirs = EaseeModule(SPEC, POLICY, 1.0, 0.2, 10), EGreedyModule(SPEC, 1.0, 0.2, 10)
    for steps in (3, 4, 20):
        ours.step(steps), theirs.step(steps)
        assert ours.eps == theirs.eps
        torch.save(ours.state_dict(), tmp_path / "state.pt")
        loaded = EaseeModule(SPEC, POLICY, 1.0, 0.2, 10)
        loaded.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
        assert loaded.eps == theirs.eps
    state = torch.load(tmp_path / "state.pt", weights_only=True)
    with pytest.raises(ArgumentError, match="saved with another policy"):
        EaseeModule(SPEC, "rotation-grid:5").load_state_dict(state)


@pytest.mark.parametrize("kind", list(ExplorationType))
def test_actions_are_explored_for_the_same_exploration_types_as_in_torchrl(kind):
    actions = torch.full((50,), 9)  # no exploratory action
    data = at_nodes([0] * 50, action=actions)
    theirs = explore(EGreedyModule(SPEC, 1.0), data.clone(), kind)["action"]
    ours = explore(EaseeModule(SPEC, POLICY, 1.0), data, kind)
    assert (ours["action"] == 9).tolist() == (theirs == 9).tolist()
    assert ours["explored"].tolist() == (theirs != 9).tolist()


def test_only_allowed_actions_are_explored():
    torch.manual_seed(0)
    env = GymWrapper(Masked(), categorical_action_encoding=True)
    policy = agent(epsilon=1.0, action_mask_key="action_mask")
    data = rollout(env.append_transform(policy[-1].make_tensordict_primer()), policy)
    assert_followed(data)  # Masked itself asserts that actions are allowed


def test_a_text_stands_for_a_policy():
    rows = EaseeModule(SPEC, "rotation-grid:4").rows
    np.testing.assert_array_equal(rows.policy.probabilities, POLICY.probabilities)
    with pytest.raises(PriorError, match="did you mean 'rotation-grid'"):
        EaseeModule(SPEC, "rotatoin-grid:4")
    with pytest.raises(ArgumentError, match="depth is not a number"):
        EaseeModule(SPEC, "rotation-grid:four")


def test_wrong_data_is_rejected():
    module = EaseeModule(SPEC, POLICY, 1.0, action_mask_key="mask")
    with pytest.raises(ArgumentError, match="append a NodeTracker to the environment"):
        explore(module, at_nodes([0, 0]).exclude("easee_node"))
    with pytest.raises(ArgumentError, match=r"a mask at the key 'mask', found the keys \['action"):
        explore(module, at_nodes([0, 0]))
    with pytest.raises(ArgumentError, match=r"mask of shape \(2, 3\), found .* \(2, 2\)"):
        explore(module, at_nodes([0, 0], mask=torch.ones(2, 2)))
    with pytest.raises(ArgumentError, match=r"mask of environment \[1\] allows no action"):
        explore(module, at_nodes([0, 0], mask=torch.tensor([[1, 1, 1], [0, 0, 0]])))
    with pytest.raises(ArgumentError, match="another policy than the module"):
        explore(EaseeModule(SPEC, POLICY), at_nodes([999]))
    with pytest.raises(ArgumentError, match="eps_init between 0 and 1, found 2"):
        EaseeModule(SPEC, POLICY, 2.0)
    with pytest.raises(easee.ArgumentTypeError, match="expected an ExplorationPolicy"):
        EaseeModule(SPEC, None)


def test_runs_with_the_same_seed_are_the_same():
    runs = []
    for _ in range(2):
        torch.manual_seed(3)
        runs.append(rollout(grid(tracked=True), agent(), 20)["action"])
    assert torch.equal(*runs)
