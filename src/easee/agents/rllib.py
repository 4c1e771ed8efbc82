"""EASEE in DQN of RLlib's new API stack: a policy replaces its uniformly random actions.

from easee.agents.rllib import explore_with
config = DQNConfig().environment("easee/GoalGrid-v0").training(epsilon=[(0, 1.0), (10_000, 0.05)])
explore_with(config, easee.compile(omega, depth=12))

The module acts greedily, and a connector behind it explores. RLlib pins its own version of
Gymnasium: install it in an environment of its own.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from easee._utils.checks import excerpt
from easee.agents.compat import EXECUTED, check_actions, check_space, executed_action
from easee.envs.action_names import vector_action_names
from easee.errors import ArgumentError, ArgumentTypeError, MissingExtraError
from easee.explorers.checks import checked_mask
from easee.explorers.sampling import draw_masked
from easee.explorers.scalar import Walker
from easee.explorers.table import Floor, PolicyTable
from easee.policy import ExplorationPolicy
from easee.policy_text import AnyPolicy, as_policy

try:
    from ray.rllib.algorithms.dqn import DQNConfig
    from ray.rllib.algorithms.dqn.torch.default_dqn_torch_rl_module import DefaultDQNTorchRLModule
    from ray.rllib.connectors.connector_v2 import ConnectorV2
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.env.single_agent_episode import SingleAgentEpisode
except ImportError:
    raise MissingExtraError("RLlib", "rllib") from None

EXPLORED, NODE = "explored", "explorer_node"  # columns of an episode's extra model outputs
MASK = "action_mask"  # entry of an info or of an observation
TRACE = "easee"  # entry of an episode's custom data: its time, node, length and last action
WINDOW = 100  # steps of an env runner that a metric is the mean of


def explore_with(
    config: DQNConfig,
    policy: AnyPolicy,
    *,
    floor: Floor = None,
    names: Sequence[str] | None = None,
) -> DQNConfig:
    """Make an algorithm explore with a policy, and return its configuration.

    The exploration probability is the algorithm's: `config.training(epsilon=...)`.

    Args:
        config: configuration of DQN, changed in place. A module of your own must derive from
            `GreedyExploration`, and its specification be set before.
        policy: exploration policy, or a string such as "doorkey:6", see `easee.read_policy`.
        floor: as in `easee.Explorer`.
        names: names of the environment's actions, instead of its own.

    >>> config = explore_with(DQNConfig().environment("easee/GoalGrid-v0"), "rotation-grid:6")
    >>> config.rl_module_spec.module_class.__name__
    'EaseeDQNModule'
    """
    if not isinstance(config, DQNConfig):
        raise ArgumentTypeError(f"expected a DQNConfig, found {type(config).__name__}")
    if config._module_to_env_connector is not None:
        raise ArgumentError(
            "expected a configuration without a module_to_env_connector, found one: let it return "
            "a list that ends with easee.agents.rllib.EaseeConnector(policy=policy)"
        )
    # The policy is read here, so that an error does not come from an env runner.
    read = as_policy(policy)
    EaseeConnector(policy=read, floor=floor)
    module = config.rl_module_spec.module_class
    if module is DefaultDQNTorchRLModule:
        config.rl_module(rl_module_spec=RLModuleSpec(module_class=EaseeDQNModule))
    else:
        _check_module_class(module)

    def build(env: Any = None, spaces: Any = None) -> EaseeConnector:
        """Build the connector of an env runner; that of the algorithm may have no environments."""
        if env is not None:
            check_space(env.single_action_space)
            own = vector_action_names(env, names)
            check_actions(read.graph.actions, int(env.single_action_space.n), own)
        return EaseeConnector(policy=read, floor=floor)

    return config.env_runners(module_to_env_connector=build)


class GreedyExploration:
    """Mixin of DQN's modules: actions are greedy while exploring, because a connector explores.

    Put it before the module: `class Module(GreedyExploration, DefaultDQNTorchRLModule): ...`
    """

    epsilon_schedule: Any

    def _forward_exploration(self, batch: dict[str, Any], t: int, **_: Any) -> dict[str, Any]:
        self.epsilon_schedule.update(t)  # the connector reads its value
        greedy: dict[str, Any] = self._forward_inference(batch)  # type: ignore[attr-defined]
        return greedy


class EaseeDQNModule(GreedyExploration, DefaultDQNTorchRLModule):  # type: ignore[misc]
    """DQN's default module with greedy actions, for `EaseeConnector`."""


class EaseeConnector(ConnectorV2):  # type: ignore[misc]
    """A module-to-env connector that replaces actions by those of an exploration policy.

    With the module's current epsilon, independently for each environment, an action is replaced.

    The node of an episode is in its custom data. It follows every action of the episode, greedy
    ones too, and a new episode starts at the empty word. If an `info` has an entry
    "executed_action", the node follows that action instead. If an `info` or an observation has an
    entry "action_mask", exploratory actions are drawn from the allowed ones.

    Episodes contain which actions explored, and the node before each of them:
    `episode.get_extra_model_outputs("explored")` and `"explorer_node"`.

    Random numbers come from a generator of this connector, seeded by NumPy's global one, which
    RLlib seeds differently in each env runner.

    Args:
        input_observation_space, input_action_space: set by RLlib.
        policy, floor: as in `explore_with`.
    """

    def __init__(
        self,
        input_observation_space: gym.Space[Any] | None = None,
        input_action_space: gym.Space[Any] | None = None,
        *,
        policy: AnyPolicy,
        floor: Floor = None,
    ) -> None:
        self.policy: ExplorationPolicy = as_policy(policy)
        self.table = PolicyTable.from_policy(self.policy, floor)
        self._walker = Walker(self.table)
        self._rng = np.random.default_rng(np.random.randint(2**32, size=4, dtype=np.uint32))
        super().__init__(input_observation_space, input_action_space)

    def recompute_output_action_space(
        self, input_observation_space: Any, input_action_space: Any
    ) -> Any:
        """Check the actions; they stay the same."""
        if input_action_space is not None:
            if isinstance(input_action_space, gym.spaces.Dict):
                raise _several_agents()
            check_space(input_action_space)
            check_actions(len(self.table.actions), int(input_action_space.n), None)
        return input_action_space

    def __call__(
        self,
        *,
        rl_module: Any,
        batch: dict[str, Any],
        episodes: list[Any],
        explore: bool | None = None,
        metrics: Any = None,
        **_: Any,
    ) -> dict[str, Any]:
        """Replace actions of a batch, which has one item for each episode."""
        _check_module_class(type(rl_module))
        epsilon = float(rl_module.epsilon_schedule.get_current_value()) if explore else 0.0
        # The items are in the order of the episodes. Their keys may still be those of the episodes
        # that ended in the last step.
        actions: dict[Any, list[Any]] = batch[Columns.ACTIONS]
        columns: dict[str, dict[Any, list[Any]]] = {EXPLORED: {}, NODE: {}}
        for (key, (greedy,)), episode in zip(actions.items(), episodes, strict=True):
            if not isinstance(episode, SingleAgentEpisode):
                raise _several_agents()
            node, action, explored = self._act(episode, greedy, epsilon)
            actions[key], columns[EXPLORED][key], columns[NODE][key] = [action], [explored], [node]
        if metrics is not None and explore:
            self._log(metrics, epsilon, columns)
        return batch | columns

    def _act(
        self, episode: SingleAgentEpisode, greedy: Any, epsilon: float
    ) -> tuple[int, Any, bool]:
        """Return the node of an episode, the next action, and whether it is exploratory."""
        if not episode.is_reset:  # the environment is reset in this step, and ignores the action
            return 0, greedy, False
        node, length = self._follow(episode)
        explored = bool(self._rng.random() < epsilon)
        action = np.asarray(greedy).dtype.type(self._draw(node, episode)) if explored else greedy
        episode.custom_data[TRACE] = episode.t, node, length, int(action)
        return node, action, explored

    def _follow(self, episode: SingleAgentEpisode) -> tuple[int, int]:
        """Return the node of an episode, and the number of actions since its walk restarted."""
        time, node, length, action = episode.custom_data.get(TRACE, (0, 0, 0, 0))
        if episode.t == time:  # nothing happened since, or this is the start
            return node, length
        if episode.t != time + 1:  # actions that this connector did not see: start again
            return 0, 0
        info = episode.get_infos(-1)
        if EXECUTED in info:
            action = executed_action(info[EXECUTED], len(self.table.actions))
        self._walker.move_to(node, length)
        self._walker.step(action, done=False)
        return self._walker.node, self._walker.length

    def _draw(self, node: int, episode: SingleAgentEpisode) -> int:
        """Return an exploratory action."""
        mask = _action_mask(episode)
        if mask is None:
            self._walker.move_to(node, 0)
            return self._walker.action(self._rng.random())
        allowed = checked_mask(mask, 1, len(self.table.actions))
        assert allowed is not None
        row = self.table.probabilities[node : node + 1]
        return int(draw_masked(row, allowed, self._rng.random(1))[0])

    def _log(self, metrics: Any, epsilon: float, columns: dict[str, dict[Any, list[Any]]]) -> None:
        explored, nodes = (np.concatenate(list(columns[c].values())) for c in (EXPLORED, NODE))
        means = {
            "epsilon": epsilon,
            "exploratory_share": explored.mean(),
            "node_depth": self.policy.graph.depths[nodes].mean(),
        }
        for name, value in means.items():
            metrics.log_value(("explorer", name), float(value), window=WINDOW)

    # The state only identifies the policy. Env runners start new episodes after a restore, nodes
    # are in the episodes, and the steps that epsilon depends on are in RLlib's own state. The
    # generator is not, because RLlib sends one state to all env runners.

    def get_state(
        self, components: Any = None, *, not_components: Any = None, **_: Any
    ) -> dict[str, Any]:
        """Return what identifies the policy."""
        return {"policy": self.table.fingerprint}

    def set_state(self, state: dict[str, Any]) -> None:
        """Check that a state is of the same policy.

        Raises:
            ArgumentError: the state is of a connector with another policy.
        """
        if state and state.get("policy") != self.table.fingerprint:  # RLlib also sends empty ones
            raise ArgumentError(
                f"expected the state of a connector with this policy, found {excerpt(state)}: "
                "restore the checkpoint with the policy that it was trained with"
            )

    def merge_states(self, states: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the state of all env runners, which is the same in each."""
        return self.get_state()


def _check_module_class(module: type) -> None:
    if not issubclass(module, GreedyExploration):
        raise ArgumentTypeError(
            f"expected a module that leaves exploration to the connector, found {module.__name__}: "
            "call explore_with(config, policy), or derive your DQN module from "
            "easee.agents.rllib.GreedyExploration"
        )


def _action_mask(episode: SingleAgentEpisode) -> Any:
    """Return the allowed actions of the last step, or None if neither source has them."""
    for source in (episode.get_infos(-1), episode.get_observations(-1)):
        if isinstance(source, dict) and source.get(MASK) is not None:
            return source[MASK]
    return None


def _several_agents() -> ArgumentTypeError:
    return ArgumentTypeError(
        "expected an environment with a single agent, found one with several: each agent has its "
        "own node, which this connector does not keep"
    )
