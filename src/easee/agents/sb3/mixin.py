"""A mixin that makes epsilon-greedy algorithms of Stable-Baselines3 explore with an explorer.

Every action that would be uniformly random comes from the explorer: during the warm-up before
`learning_starts`, and afterwards with probability epsilon, decided independently for each
environment. `predict` is unchanged: evaluation neither moves the explorer nor draws from its
generator.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import RolloutReturn
from stable_baselines3.common.utils import obs_as_tensor
from stable_baselines3.common.vec_env import VecEnv

import easee.agents.sb3.fitting as fitting
from easee.agents.sb3.lifecycle import ExplorerLifecycle
from easee.explorers.base import BaseExplorer
from easee.explorers.easee import Explorer
from easee.policy import ExplorationPolicy

CHUNK = 1000  # steps that are stored before their statistics are summed


class ExplorerMixin(ExplorerLifecycle, OffPolicyAlgorithm):
    """Adds the argument `explorer` to an epsilon-greedy algorithm of Stable-Baselines3.

    Put it before the algorithm: `class QRDQN(ExplorerMixin, sb3_contrib.QRDQN): ...`

    The node of an environment follows the actions taken there, including greedy ones, and is reset
    when the episode ends. If an `info` has an entry "executed_action", for example from a wrapper
    with sticky actions, the node follows that action instead.

    If the environments have a method `action_masks`, as those of sb3-contrib do, exploratory
    actions are drawn from the allowed ones only. Greedy actions are the algorithm's own.

    Args:
        args: arguments of the algorithm.
        explorer: a policy, a string such as "doorkey:6" (see `easee.read_policy`), or an explorer
            for as many environments as the model has.
        names: names of the environments' actions, instead of their own.
        kwargs: keyword arguments of the algorithm.
    """

    argument = "explorer"
    added = ("explorer", "names")
    exploration_rate: float

    def __init__(
        self,
        *args: Any,
        explorer: ExplorationPolicy | BaseExplorer | None = None,
        names: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        self._tally = Tally()
        self._masked = False  # whether the environments have action masks
        super().__init__(*args, requested=explorer, names=names, **kwargs)

    def _fitted(
        self, requested: ExplorationPolicy | BaseExplorer, env: VecEnv | None = None
    ) -> BaseExplorer:
        return fitting.fit_to_model(requested, self, self._names, env)

    @property
    def explorer(self) -> BaseExplorer | None:
        """The explorer; assign a policy or an explorer to replace it."""
        return self._explorer

    @explorer.setter
    def explorer(self, explorer: ExplorationPolicy | BaseExplorer | None) -> None:
        self._explorer = None if explorer is None else self._fitted(explorer)
        self._tally = Tally()

    # --- training -----------------------------------------------------------------------------

    def _setup_learn(self, *args: Any, **kwargs: Any) -> tuple[int, BaseCallback]:
        self._masked = self.env is not None and fitting.has_action_masks(self.env)
        return super()._setup_learn(*args, **kwargs)

    def collect_rollouts(
        self, env: VecEnv, callback: BaseCallback, *args: Any, **kwargs: Any
    ) -> RolloutReturn:
        """Collect steps; see Stable-Baselines3."""
        rollout = super().collect_rollouts(env, callback, *args, **kwargs)
        if not rollout.continue_training:  # the callback stopped before the last step was stored
            self._follow(*(callback.locals[name] for name in ("actions", "dones", "infos")))
        return rollout

    def _store_transition(
        self,
        replay_buffer: ReplayBuffer,
        buffer_action: NDArray[Any],
        new_obs: Any,
        reward: NDArray[Any],
        dones: NDArray[Any],
        infos: list[dict[str, Any]],
    ) -> None:
        super()._store_transition(replay_buffer, buffer_action, new_obs, reward, dones, infos)
        self._follow(buffer_action, dones, infos)

    def _follow(self, actions: NDArray[Any], dones: NDArray[Any], infos: Any) -> None:
        """Move the nodes along the executed actions."""
        if self._explorer is not None:
            n_actions = int(self._explorer.n_actions)
            self._explorer.step(fitting.executed_actions(actions, infos, n_actions), dones)

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        explorer = self._explorer
        if explorer is None:
            return super()._sample_action(learning_starts, action_noise, n_envs)
        masks = (fitting.action_masks(self.env),) if self._masked and self.env else ()
        if self.num_timesteps < learning_starts:
            actions = explorer.sample(*masks)
        else:  # explorers of other libraries need not accept a function
            greedy = self._greedy if isinstance(explorer, BaseExplorer) else self._greedy()
            actions = explorer.choose(greedy, float(self.exploration_rate), *masks)
        self._tally.add(explorer)
        return actions, actions

    def _greedy(self) -> NDArray[Any]:
        """Return the actions of `policy.predict`, without the checks of Stable-Baselines3's own.

        Observations are batches and the policy is in evaluation mode; checking that again costs as
        much as a small network. Policies that are not made with PyTorch, as those of SBX, have a
        `predict` of their own.
        """
        assert self._last_obs is not None
        if type(self.policy).predict is not BasePolicy.predict:
            chosen, _ = self.policy.predict(self._last_obs, deterministic=True)
            return chosen.reshape(-1)
        observation = obs_as_tensor(self._last_obs, self.device)
        with torch.no_grad():
            actions: NDArray[Any] = self.policy._predict(observation, True).cpu().numpy()
        return actions.reshape(-1)

    def dump_logs(self) -> None:
        """Write log data, including the explorer's statistics."""
        if self._explorer is not None:
            for name, value in self._tally.pop_means(self._explorer).items():
                self.logger.record(f"explorer/{name}", value)
        super().dump_logs()

    # --- saving and loading -------------------------------------------------------------------

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_tally"]

    @classmethod
    def load(
        cls,
        path: Any,
        env: Any = None,
        *args: Any,
        explorer: ExplorationPolicy | BaseExplorer | None = None,
        **kwargs: Any,
    ) -> Any:
        """Load a model; see Stable-Baselines3 for its arguments.

        With `force_reset=False`, the environments it was trained in and its replay buffer, a seeded
        model continues exactly as if it had not been saved and loaded. `explorer` is a policy or an
        explorer to use instead of the saved one. It must have the same prior; if the number of
        environments changed, all start at the empty word.
        """
        if explorer is not None:
            kwargs["_requested"] = explorer
        return super().load(path, env, *args, **kwargs)


class Tally:
    """Means of the explorer's statistics over the steps since they were last read.

    Steps are stored and summed in chunks, so that adding one costs little.
    """

    def __init__(self) -> None:
        self.explored: list[NDArray[np.bool_]] = []
        self.nodes: list[NDArray[np.int64]] = []
        self.count = 0
        self.sums: dict[str, float] = defaultdict(float)

    def add(self, explorer: BaseExplorer) -> None:
        """Add a step of all environments, before the explorer moves."""
        if isinstance(explorer, BaseExplorer):
            self.explored.append(explorer.explored)
        if isinstance(explorer, Explorer):
            self.nodes.append(explorer.nodes)
        if len(self.explored) >= CHUNK:
            self._sum_steps(explorer)

    def _sum_steps(self, explorer: BaseExplorer) -> None:
        if self.explored:
            explored = np.concatenate(self.explored)
            self.count += len(explored)
            self.sums["exploratory_share"] += float(explored.sum())
        if self.nodes and isinstance(explorer, Explorer):
            nodes = np.concatenate(self.nodes)
            self.sums["policy_entropy"] += float(explorer.entropies[nodes].sum())
            self.sums["node_depth"] += float(explorer.policy.graph.depths[nodes].sum())
        self.explored, self.nodes = [], []

    def pop_means(self, explorer: BaseExplorer) -> dict[str, float]:
        """Return the means by name, and start over."""
        self._sum_steps(explorer)
        means = {name: total / self.count for name, total in self.sums.items()}
        self.count, self.sums = 0, defaultdict(float)
        return means
