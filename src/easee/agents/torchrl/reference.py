"""A reference policy for actor-critic losses; see `easee.agents.reference_policy`."""

from typing import Any

import torch
from tensordict import TensorDictBase
from tensordict.nn import TensorDictModuleBase

from easee.agents.reference_policy import FLOOR, IMPOSSIBLE, mixed_floors
from easee.agents.torchrl.actions import Key
from easee.agents.torchrl.nodes import PolicyRows
from easee.agents.torchrl.tracker import NODE, NodeTracker
from easee.errors import ArgumentError
from easee.explorers.table import PolicyTable
from easee.policy_text import AnyPolicy, as_policy


class ReferenceModule(TensorDictModuleBase):  # type: ignore[misc]
    """Adds the log-probabilities of a reference policy to the logits of an actor.

    Put it between the network and the distribution. Rollouts and losses then have the same
    reference, because the nodes are part of the data. The log-probabilities are also written to
    `reference_key`, from which `ReferenceCategorical` computes -KL(pi || reference), the entropy
    bonus of an actor with a reference.

    Args:
        policy: a policy, or a string such as "doorkey:6", see `easee.read_policy`.
        floor: weight of the uniform policy mixed into the policy and its own floors, so that log 0
            does not occur.
        logits_key: key of the logits, float (..., k).
        reference_key: key of the log-probabilities, float (..., k).
        action_key: key of the action.
        action_mask_key: key of the allowed actions, bool (..., k); None if all are.
        node_key: key of the node.
        device: device of the module.

    >>> from tensordict import TensorDict
    >>> module = ReferenceModule("rotation-grid:6")
    >>> data = TensorDict({"logits": torch.zeros(2, 3), "easee_node": torch.tensor([2, 3])}, [2])
    >>> module(data)["logits"].softmax(-1)  # left and right: hardly ever turning back
    tensor([[0.7484, 0.2182, 0.0333],
            [0.7484, 0.0333, 0.2182]])
    """

    def __init__(
        self,
        policy: AnyPolicy,
        *,
        floor: float = FLOOR,
        logits_key: Key = "logits",
        reference_key: Key = "reference",
        action_key: Key = "action",
        action_mask_key: Key | None = None,
        node_key: Key = NODE,
        device: Any = None,
    ) -> None:
        super().__init__()
        policy = as_policy(policy)
        table = PolicyTable.from_policy(policy, mixed_floors(policy, floor))
        self.rows = PolicyRows(
            policy, table, node_key=node_key, mask_key=action_mask_key, device=device
        )
        self.logits_key, self.reference_key = logits_key, reference_key
        self.action_key = action_key
        self.in_keys = [logits_key, *self.rows.in_keys]
        self.out_keys = [logits_key, reference_key]

    def make_tensordict_primer(self) -> NodeTracker:
        """Return the transform that the environment needs; collectors and TorchRL call this."""
        return self.rows.tracker(self.action_key)

    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        """Add the log-probabilities at the nodes to the logits."""
        probabilities, mask = self.rows(tensordict)
        logits = tensordict.get(self.logits_key)
        if logits.shape != probabilities.shape:
            raise ArgumentError(
                f"expected logits of shape {tuple(probabilities.shape)}, found "
                f"{tuple(logits.shape)}: the policy has the actions "
                f"{', '.join(self.rows.policy.graph.actions)}"
            )
        rows = torch.where(probabilities > 0, probabilities.log(), IMPOSSIBLE)
        largest = rows.amax(-1, keepdim=True)
        if mask is not None:  # of no effect: the mask excludes these actions
            rows = torch.where(mask, rows, largest)
        # Relative to the largest: exactly 0 if the reference is uniform.
        tensordict.set(self.logits_key, logits + (rows - largest))
        return tensordict.set(self.reference_key, rows)
