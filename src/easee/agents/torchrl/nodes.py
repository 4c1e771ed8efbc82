"""What modules with a policy share: its table as buffers, and the rows at the nodes."""

from typing import Any

import torch

from easee.agents.torchrl.actions import Key, find_mask, restrict
from easee.agents.torchrl.tracker import NODE, NodeTracker
from easee.errors import ArgumentError
from easee.explorers.table import PolicyTable
from easee.policy import ExplorationPolicy


class PolicyRows(torch.nn.Module):
    """The action probabilities of a policy at the nodes of a tensordict.

    Its `state_dict` has only a digest of the policy, which must be the same when it is loaded.

    Args:
        policy: exploration policy.
        table: table of the policy, with its floors.
        node_key: key of the nodes.
        mask_key: key of the allowed actions, or None if all are.
        device: device of the table.
    """

    probabilities: torch.Tensor

    def __init__(
        self,
        policy: ExplorationPolicy,
        table: PolicyTable,
        *,
        node_key: Key = NODE,
        mask_key: Key | None = None,
        device: Any = None,
    ) -> None:
        super().__init__()
        self.policy, self.fingerprint = policy, table.fingerprint
        self.node_key, self.mask_key = node_key, mask_key
        rows = torch.tensor(table.probabilities, dtype=torch.float32, device=device)
        self.register_buffer("probabilities", rows, persistent=False)

    @property
    def in_keys(self) -> list[Key]:
        """Keys that are read."""
        return [self.node_key] if self.mask_key is None else [self.node_key, self.mask_key]

    def nodes(self, tensordict: Any) -> torch.Tensor:
        """Return the nodes, int (...)."""
        nodes: torch.Tensor | None = tensordict.get(self.node_key, None)
        if nodes is None:
            raise ArgumentError(
                f"expected the nodes of the environments at the key {self.node_key!r}, found the "
                f"keys {list(tensordict.keys(True, True))}: append a NodeTracker to the "
                "environment, e.g. env.append_transform(module.make_tensordict_primer()), or pass "
                "auto_register_policy_transforms=True to the collector. Environments of an "
                "AsyncEnvPool each need their own, in the function that makes them"
            )
        return nodes

    def forward(self, tensordict: Any) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the probabilities at the nodes, float (..., k), and the mask, if there is one."""
        nodes = self.nodes(tensordict)
        try:
            rows = self.probabilities[nodes]
        except IndexError:
            raise ArgumentError(
                f"expected nodes below {len(self.probabilities)}, found {int(nodes.max())}: the "
                "environment's NodeTracker has another policy than the module"
            ) from None
        if self.mask_key is None:
            return rows, None
        mask = find_mask(tensordict, self.mask_key, rows.shape)
        return restrict(rows, mask), mask

    def tracker(self, action_key: Key) -> NodeTracker:
        """Return the transform that follows the nodes of this policy."""
        return NodeTracker(self.policy, action_key=action_key, node_key=self.node_key)

    def get_extra_state(self) -> dict[str, str]:
        """Return the digest of the policy, for `state_dict`."""
        return {"policy": self.fingerprint}

    def set_extra_state(self, state: dict[str, str]) -> None:
        """Check the digest of a `state_dict`."""
        if state != self.get_extra_state():
            raise ArgumentError(
                "the state was saved with another policy: make the module with the prior, depth "
                "and floor that it was saved with"
            )
