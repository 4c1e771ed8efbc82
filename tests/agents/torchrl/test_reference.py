import pytest
import torch
from tensordict import TensorDict
from tensordict.nn import ProbabilisticTensorDictSequential, TensorDictModule
from torchrl.data import Categorical
from torchrl.envs import SerialEnv
from torchrl.modules import MLP, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss

import easee
from easee import ArgumentError
from easee.agents.torchrl import (
    ReferenceCategorical,
    ReferenceMaskedCategorical,
    ReferenceModule,
    ReferenceOneHotCategorical,
)
from easee.explorers.table import PolicyTable
from tests.agents.torchrl.worlds import POLICY, assert_followed, grids, rollout

NODES = torch.tensor([0, 1, 2, 3])
ROWS = torch.tensor(PolicyTable.from_policy(POLICY, 0.1).probabilities[NODES]).float()


def data(**entries):
    torch.manual_seed(0)
    return TensorDict({"logits": torch.randn(4, 3), "easee_node": NODES, **entries}, [4])


def test_the_reference_multiplies_the_actor_s_probabilities():
    entries = data()
    expected = entries["logits"].exp() * ROWS
    expected /= expected.sum(-1, keepdim=True)
    ReferenceModule(POLICY)(entries)
    torch.testing.assert_close(entries["logits"].softmax(-1), expected)
    torch.testing.assert_close(entries["reference"], ROWS.log())


def test_a_uniform_reference_changes_nothing():
    policy = easee.compile(easee.Equivalences(["a", "b", "c"], []), 1)
    entries = data(easee_node=torch.zeros(4, dtype=torch.long))
    logits = entries["logits"].clone()
    assert torch.equal(ReferenceModule(policy)(entries)["logits"], logits)


def test_a_masked_reference_sums_to_one_over_the_allowed_actions():
    mask = torch.tensor([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 1, 0]], dtype=torch.bool)
    entries = ReferenceModule(POLICY, action_mask_key="mask")(data(mask=mask))
    rows = (ROWS * mask) / (ROWS * mask).sum(-1, keepdim=True)
    torch.testing.assert_close(entries["reference"].exp() * mask, rows)
    kind = ReferenceMaskedCategorical(
        logits=entries["logits"], mask=mask, reference=entries["reference"]
    )
    probabilities = kind.probs.clamp(min=1e-30)
    divergence = (kind.probs * (probabilities.log() - entries["reference"])).sum(-1)
    torch.testing.assert_close(kind.entropy(), -divergence)


@pytest.mark.parametrize("kind", [ReferenceCategorical, ReferenceOneHotCategorical])
def test_the_entropy_is_the_divergence_from_the_reference(kind):
    entries = ReferenceModule(POLICY)(data())
    actor = torch.distributions.Categorical(logits=entries["logits"])
    expected = torch.distributions.kl_divergence(actor, torch.distributions.Categorical(ROWS))
    entropy = kind(logits=entries["logits"], reference=entries["reference"]).entropy()
    torch.testing.assert_close(entropy, -expected)


class Network(torch.nn.Module):
    """A linear function of observations that are integers."""

    def __init__(self, n_outputs):
        super().__init__()
        self.layer = MLP(in_features=3, out_features=n_outputs, num_cells=[8])

    def forward(self, observation):
        return self.layer(observation.float())


def test_a_loss_has_the_reference_of_the_rollout():
    torch.manual_seed(0)
    reference = ReferenceModule(POLICY)
    network = TensorDictModule(Network(3), in_keys=["observation"], out_keys=["logits"])
    actor = ProbabilisticActor(
        ProbabilisticTensorDictSequential(network, reference),
        in_keys=["logits", "reference"],
        spec=Categorical(3),
        distribution_class=ReferenceCategorical,
        return_log_prob=True,
    )
    env = SerialEnv(2, grids()).append_transform(reference.make_tensordict_primer())
    with torch.no_grad():
        batch = rollout(env, actor)
    assert_followed(batch)
    loss = ClipPPOLoss(actor, ValueOperator(Network(1), in_keys=["observation"]))
    loss.make_value_estimator()
    loss.value_estimator(batch)
    losses = loss(batch)
    assert losses["kl_approx"].abs() < 1e-6  # the same probabilities as in the rollout
    rows = torch.tensor(PolicyTable.from_policy(POLICY, 0.1).probabilities)[batch["easee_node"]]
    plain = torch.distributions.Categorical(logits=network(batch.clone())["logits"] + rows.log())
    divergence = torch.distributions.kl_divergence(plain, torch.distributions.Categorical(rows))
    torch.testing.assert_close(losses["entropy"], -divergence.mean().float())
    losses["loss_entropy"].backward()
    assert network.module.layer[0].weight.grad.abs().sum() > 0


def test_logits_of_other_actions_are_rejected():
    with pytest.raises(ArgumentError, match=r"logits of shape \(4, 3\), found \(4, 2\)"):
        ReferenceModule(POLICY)(data(logits=torch.zeros(4, 2)))
