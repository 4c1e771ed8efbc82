"""Epsilon-greedy exploration with an exploration policy, in the place of EGreedyModule."""

from typing import Any

import torch
from tensordict import TensorDictBase
from torchrl.data import TensorSpec
from torchrl.envs.utils import ExplorationType, exploration_type
from torchrl.modules import EGreedyModule

from easee._utils.checks import checked_share
from easee.agents.compat import check_actions
from easee.agents.torchrl.actions import Key, action_kind, action_numbers, encode_actions
from easee.agents.torchrl.nodes import PolicyRows
from easee.agents.torchrl.tracker import NODE, NodeTracker
from easee.explorers.table import Floor, PolicyTable
from easee.policy_text import AnyPolicy, as_policy

EXPLORED = "explored"


class EaseeModule(EGreedyModule):  # type: ignore[misc]
    """TorchRL's EGreedyModule with actions of an exploration policy instead of uniform ones.

    Each environment decides on its own whether to explore. The nodes come from a `NodeTracker` in
    the environment: append `make_tensordict_primer()` to it, or let the collector do it. As in
    EGreedyModule, actions are replaced only if the exploration type is RANDOM, the default of
    collectors, and `step` anneals epsilon.

    Args:
        spec: spec of the actions, Categorical or OneHot.
        policy: a policy, or a string such as "doorkey:6", see `easee.read_policy`.
        eps_init: epsilon at first.
        eps_end: epsilon after `annealing_num_steps`.
        annealing_num_steps: how many steps epsilon takes to `eps_end`.
        floor: replaces the policy's own floors, as in `easee.Explorer`.
        action_key: key of the action.
        action_mask_key: key of the allowed actions, bool (..., k); None if all are. Exploratory
            actions are drawn from them.
        node_key: key of the node.
        explored_key: key of a bool per environment: whether its action is exploratory.
        device: device of the module.

    >>> from tensordict import TensorDict
    >>> from torchrl.data import Categorical
    >>> from torchrl.envs import set_exploration_type
    >>> module = EaseeModule(Categorical(3), "rotation-grid:6", eps_init=1.0)
    >>> nodes = torch.tensor([2, 3])  # left and right: no turning back
    >>> data = TensorDict({"action": torch.tensor([0, 0]), "easee_node": nodes}, [2])
    >>> with set_exploration_type(ExplorationType.RANDOM):
    ...     data = module(data)
    >>> data["explored"], data["action"] != torch.tensor([2, 1])
    (tensor([True, True]), tensor([True, True]))
    """

    def __init__(
        self,
        spec: TensorSpec,
        policy: AnyPolicy,
        eps_init: float = 1.0,
        eps_end: float = 0.1,
        annealing_num_steps: int = 1000,
        *,
        floor: Floor = None,
        action_key: Key = "action",
        action_mask_key: Key | None = None,
        node_key: Key = NODE,
        explored_key: Key = EXPLORED,
        device: Any = None,
    ) -> None:
        policy = as_policy(policy)
        table = PolicyTable.from_policy(policy, floor)
        kind = action_kind(spec, action_key)
        # The names are compared by the tracker, which knows the environment.
        names = table.actions if len(table.actions) == kind.n_actions else None
        check_actions(table.actions, kind.n_actions, names)
        super().__init__(
            spec,
            checked_share(eps_init, "eps_init"),
            checked_share(eps_end, "eps_end"),
            annealing_num_steps,
            action_key=action_key,
            action_mask_key=action_mask_key,
            device=device,
        )
        self.rows = PolicyRows(
            policy, table, node_key=node_key, mask_key=action_mask_key, device=device
        )
        self.explored_key = explored_key
        self.in_keys = [action_key, *self.rows.in_keys]
        self.out_keys = [action_key, explored_key]
        self._one_hot = kind.one_hot

    def make_tensordict_primer(self) -> NodeTracker:
        """Return the transform that the environment needs; collectors and TorchRL call this."""
        return self.rows.tracker(self.action_key)

    def forward(self, tensordict: TensorDictBase) -> TensorDictBase:
        """Replace some of the actions by exploratory ones."""
        nodes = self.rows.nodes(tensordict)
        explored = torch.zeros_like(nodes, dtype=torch.bool)
        if exploration_type() in (ExplorationType.RANDOM, None):
            rows, _ = self.rows(tensordict)
            explored = torch.rand(nodes.shape, device=nodes.device) < self.eps
            drawn = torch.multinomial(rows.reshape(-1, rows.shape[-1]), 1).reshape(nodes.shape)
            action = tensordict.get(self.action_key)
            greedy = action_numbers(action, self._one_hot, nodes.shape)
            chosen = torch.where(explored, drawn, greedy)
            tensordict.set(self.action_key, encode_actions(chosen, self._one_hot, action))
        return tensordict.set(self.explored_key, explored)
