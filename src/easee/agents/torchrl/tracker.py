"""A transform that follows the node of each environment, from its actions and resets."""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import torch
from tensordict import TensorDictBase
from tensordict.utils import unravel_key
from torchrl.data import Categorical
from torchrl.envs import GymWrapper, TransformedEnv
from torchrl.envs.transforms import TensorDictPrimer

from easee.agents.compat import check_actions
from easee.agents.torchrl.actions import Key, action_kind, action_numbers
from easee.envs.action_names import action_names, vector_action_names
from easee.explorers.table import PolicyTable
from easee.policy_text import AnyPolicy, as_policy
from easee.priors.equivalences import check_action_names

NODE = "easee_node"
TAKEN = "_easee_action"  # within a step: the action, before other transforms change it


class NodeTracker(TensorDictPrimer):  # type: ignore[misc]
    """Adds the node of each environment to the tensordict, and how many actions led to it.

    The node is 0, the empty word, when an environment is reset, and follows every action that it
    takes, whoever chose it. It is an observation like others: `("next", node_key)` is the node
    after the action. The number of actions since the last restart is at the key `node_key` with
    "_length" appended.

    Args:
        policy: a policy, or a string such as "doorkey:6", see `easee.read_policy`.
        action_key: key of the action.
        node_key: key of the node.
        names: names of the environment's actions, instead of its own.

    >>> from torchrl.envs import GymEnv, TransformedEnv
    >>> env = GymEnv("easee/GoalGrid-v0", categorical_action_encoding=True)
    >>> env = TransformedEnv(env, NodeTracker("rotation-grid:6"))
    >>> env.rollout(3, lambda td: td.set("action", torch.tensor(1)))["easee_node"]
    tensor([0, 2, 8])
    """

    next_nodes: torch.Tensor

    def __init__(
        self,
        policy: AnyPolicy,
        *,
        action_key: Key = "action",
        node_key: Key = NODE,
        names: Sequence[str] | None = None,
    ) -> None:
        policy = as_policy(policy)
        table = PolicyTable.from_policy(policy)
        self.action_key, self.node_key = action_key, node_key
        self.length_key = _length_key(node_key)
        self.actions, self.depth = table.actions, table.depth
        self.names = None if names is None else check_action_names(names)
        self._one_hot: bool | None = None  # known once there is an environment
        specs = {
            self.node_key: Categorical(len(table.next_nodes)),
            self.length_key: Categorical(table.depth),
        }
        super().__init__(specs, expand_specs=True)
        self.register_buffer("next_nodes", torch.tensor(table.next_nodes).long(), persistent=False)

    def set_container(self, container: Any) -> None:
        """Set the environment or the transforms that this one belongs to."""
        self._one_hot = None
        super().set_container(container)

    def transform_input_spec(self, input_spec: Any) -> Any:
        """Add the node to the inputs of a step, and check the actions."""
        self._is_one_hot()
        return super().transform_input_spec(input_spec)

    def _is_one_hot(self) -> bool:
        """Return whether actions are one-hot; checks them the first time."""
        if self._one_hot is None:
            kind = action_kind(self.parent.full_action_spec, self.action_key)
            names = self.names or env_action_names(self.parent)
            check_actions(self.actions, kind.n_actions, names)
            self._one_hot = kind.one_hot
        return self._one_hot

    def _inv_call(self, tensordict: TensorDictBase) -> TensorDictBase:
        nodes, action = tensordict.get(self.node_key), tensordict.get(self.action_key)
        return tensordict.set(TAKEN, action_numbers(action, self._is_one_hot(), nodes.shape))

    def _step(self, tensordict: TensorDictBase, next_tensordict: TensorDictBase) -> TensorDictBase:
        nodes, lengths = tensordict.get(self.node_key), tensordict.get(self.length_key) + 1
        nodes = self.next_nodes.to(nodes.device)[nodes, tensordict.get(TAKEN)]
        restarts = (nodes < 0) | (lengths >= self.depth)
        next_tensordict.set(self.node_key, nodes.masked_fill(restarts, 0))
        return next_tensordict.set(self.length_key, lengths.masked_fill(restarts, 0))


def env_action_names(env: Any) -> tuple[str, ...] | None:
    """Return the names of the actions of one of TorchRL's environments, or None if unknown.

    Those of SerialEnv and ParallelEnv are unknown, because the environments need not exist yet.
    """
    while isinstance(env, TransformedEnv):
        env = env.base_env
    inner = env._env if isinstance(env, GymWrapper) else None
    if isinstance(inner, gym.vector.VectorEnv):
        return vector_action_names(inner)
    return action_names(inner) if isinstance(inner, gym.Env) else None


def _length_key(node_key: Key) -> Key:
    if isinstance(node_key, str):
        return f"{node_key}_length"
    key: Key = unravel_key((*node_key[:-1], f"{node_key[-1]}_length"))
    return key
