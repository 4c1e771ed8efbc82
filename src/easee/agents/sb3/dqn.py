"""EASEE in Stable-Baselines3: its DQN with one more argument, and a mixin for its relatives.

    from easee.agents.sb3 import DQN
    model = DQN("MlpPolicy", env, explorer=easee.compile(omega, depth=6))

Without an explorer this is Stable-Baselines3's DQN, to the bit. With one, every action that would
be uniformly random comes from the explorer: in the warm-up before `learning_starts` and with
probability epsilon after it, by a coin of its own for every environment. `predict` stays what it
was: evaluation neither moves the explorer nor draws from its generator.
"""

from __future__ import annotations

import inspect
import random
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from easee.agents.compat import check_space, fitted
from easee.envs.action_names import read_names
from easee.errors import ArgumentError, ArgumentTypeError, MissingExtraError
from easee.explorers.base import BaseExplorer
from easee.explorers.easee import Explorer
from easee.policy import ExplorationPolicy

try:
    import stable_baselines3
    import torch
    from stable_baselines3.common.buffers import ReplayBuffer
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
    from stable_baselines3.common.type_aliases import RolloutReturn
    from stable_baselines3.common.utils import obs_as_tensor
    from stable_baselines3.common.vec_env import VecEnv
except ImportError:
    raise MissingExtraError("stable-baselines3", "sb3") from None

MOST_STEPS = 1000  # collected by a tally before they are counted
EXECUTED = "executed_action"  # where a wrapper's info reports what was really done


class ExplorerMixin(OffPolicyAlgorithm):
    """Gives an epsilon-greedy algorithm of Stable-Baselines3 the argument `explorer`.

    Put it before the algorithm: `class QRDQN(ExplorerMixin, sb3_contrib.QRDQN): ...`

    The node of an environment follows the actions that are taken there, greedy ones included, and
    starts again when its episode ends. Where an `info` has an "executed_action", say from a wrapper
    with sticky actions, the node follows that.

    Args:
        args: of the algorithm.
        explorer: a policy, or an explorer for as many environments as there are.
        kwargs: of the algorithm.
    """

    _explorer: BaseExplorer | None = None
    exploration_rate: float

    def __init_subclass__(cls) -> None:
        """Show the algorithm's arguments and the new one in the signature."""
        if "__init__" in cls.__dict__:  # it shows its own
            signature = inspect.signature(cls.__init__)
            parameters = list(signature.parameters.values())[1:]
            cls.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
            return
        algorithm = next(c for c in cls.__mro__ if not issubclass(c, ExplorerMixin))
        signature = inspect.signature(algorithm)
        new = inspect.signature(ExplorerMixin.__init__).parameters["explorer"]
        parameters = [*signature.parameters.values(), new]
        cls.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]

    def __init__(
        self,
        *args: Any,
        explorer: ExplorationPolicy | BaseExplorer | None = None,
        **kwargs: Any,
    ) -> None:
        env: Any = kwargs.get("env", args[1] if len(args) > 1 else None)
        if isinstance(env, gym.vector.VectorEnv):
            raise ArgumentTypeError(
                "expected an environment or one of Stable-Baselines3's vector environments, found "
                "one of Gymnasium's: wrap it in easee.agents.sb3.vec_env.VectorAdapter(envs)"
            )
        if explorer is not None and hasattr(env, "action_space"):
            check_space(env.action_space)
        self._given = explorer  # until the environments are known
        super().__init__(*args, **kwargs)

    def _setup_model(self) -> None:
        super()._setup_model()
        self._tally = Tally()
        given = self.__dict__.pop("_given", None)
        if given is not None and self._explorer is not None:
            self._explorer = _continued(self._explorer, self._fitted(given))
        elif given is not None:
            self._explorer = self._fitted(given)
        elif self._explorer is not None:
            self._explorer = _unchanged(self._explorer, self.n_envs)
            self._fitted(self._explorer)

    def _fitted(
        self, explorer: ExplorationPolicy | BaseExplorer, env: VecEnv | None = None
    ) -> BaseExplorer:
        """Return the explorer for these environments, by default the present ones, or refuse."""
        n_actions = int(self.action_space.n)  # type: ignore[attr-defined]
        names = _action_names(env or self.env)
        return fitted(
            explorer, n_envs=self.n_envs, n_actions=n_actions, names=names, seed=self.seed
        )

    @property
    def explorer(self) -> BaseExplorer | None:
        """What explores. Set it to a policy or an explorer to go on with that one."""
        return self._explorer

    @explorer.setter
    def explorer(self, explorer: ExplorationPolicy | BaseExplorer | None) -> None:
        self._explorer = None if explorer is None else self._fitted(explorer)
        self._tally = Tally()

    # --- training -----------------------------------------------------------------------------

    def _setup_learn(
        self,
        total_timesteps: int,
        callback: Any = None,
        reset_num_timesteps: bool = True,
        tb_log_name: str = "run",
        progress_bar: bool = False,
    ) -> tuple[int, BaseCallback]:
        if self._explorer is not None and (reset_num_timesteps or self._last_obs is None):
            self._explorer.reset()  # as the environments are now
        return super()._setup_learn(
            total_timesteps, callback, reset_num_timesteps, tb_log_name, progress_bar
        )

    def collect_rollouts(
        self, env: VecEnv, callback: BaseCallback, *args: Any, **kwargs: Any
    ) -> RolloutReturn:
        """Collect steps; see Stable-Baselines3."""
        rollout = super().collect_rollouts(env, callback, *args, **kwargs)
        if not rollout.continue_training:  # the callback stopped before the last step was stored
            last = callback.locals
            self._follow(last["actions"], last["dones"], last["infos"])
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

    def _follow(
        self, actions: NDArray[Any], dones: NDArray[Any], infos: list[dict[str, Any]]
    ) -> None:
        """Move the nodes by what was done."""
        if self._explorer is None:
            return
        for info in infos:
            if EXECUTED in info:
                pairs = zip(infos, actions, strict=True)
                actions = np.array([int(info.get(EXECUTED, action)) for info, action in pairs])
                break
        self._explorer.step(actions, dones)

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        explorer = self._explorer
        if explorer is None:
            return super()._sample_action(learning_starts, action_noise, n_envs)
        if self.num_timesteps < learning_starts:
            actions = explorer.sample()
        elif isinstance(explorer, BaseExplorer):
            actions = explorer.choose(self._greedy, float(self.exploration_rate))
        else:  # an explorer that is not ours may not take a function
            actions = explorer.choose(self._greedy(), float(self.exploration_rate))
        self._tally.add(explorer)
        return actions, actions

    def _greedy(self) -> NDArray[Any]:
        """Return what `policy.predict` would, without what is settled already.

        Environments give batches of observations, and steps are collected in evaluation mode:
        checking that again costs as much as a small network.
        """
        assert self._last_obs is not None
        observation = obs_as_tensor(self._last_obs, self.device)
        with torch.no_grad():
            actions: NDArray[Any] = self.policy._predict(observation, True).cpu().numpy()
        return actions.reshape(-1)

    def dump_logs(self) -> None:
        """Write log data, the explorer's included."""
        if self._explorer is not None:
            for name, value in self._tally.means(self._explorer).items():
                self.logger.record(f"explorer/{name}", value)
        super().dump_logs()

    # --- saving, loading ----------------------------------------------------------------------

    def set_env(self, env: Any, force_reset: bool = True) -> None:
        """Go on in other environments, as many as before."""
        found = env.num_envs if isinstance(env, VecEnv) else 1
        if self._explorer is not None and found != self.n_envs:
            raise _count_changed(self.n_envs, found)
        wrapped = self._wrap_env(env, self.verbose)
        if self._explorer is not None:
            self._fitted(self._explorer, wrapped)
        super().set_env(wrapped, force_reset)

    def save(self, path: Any, exclude: Any = None, include: Any = None) -> None:
        """Save the model with its explorer: policy, nodes and generator."""
        if self._explorer is not None and self.seed is not None:
            self._random_state = _random_state()
        try:
            super().save(path, exclude, include)
        finally:
            self.__dict__.pop("_random_state", None)

    @classmethod
    def load(
        cls,
        path: Any,
        env: Any = None,
        *args: Any,
        explorer: ExplorationPolicy | BaseExplorer | None = None,
        **kwargs: Any,
    ) -> Any:
        """Load a model; see Stable-Baselines3.

        With `force_reset=False` and the environments that it was trained in, a seeded model goes on
        as if it had never stopped (load its replay buffer too).

        Args:
            path: of the saved model.
            env: the environments to go on in.
            args: of Stable-Baselines3's `load`.
            explorer: a policy or an explorer instead of the saved one. It must be of the same
                prior; if the number of environments changed, all start at the empty word.
            kwargs: of Stable-Baselines3's `load`.
        """
        if explorer is not None:
            kwargs["_given"] = explorer
        model = super().load(path, env, *args, **kwargs)
        state = model.__dict__.pop("_random_state", None)
        if state is not None:
            _restore(state)
        return model


class DQN(ExplorerMixin, stable_baselines3.DQN):
    """Stable-Baselines3's DQN with one more argument, `explorer`.

    >>> import easee
    >>> from easee.envs import Catcher
    >>> policy = easee.compile(easee.priors.catcher(), depth=30)
    >>> model = DQN("MlpPolicy", Catcher(), explorer=policy, seed=0)
    >>> model.learn(40).explorer.nodes
    array([62])
    """


class Tally:
    """Means over the steps since they were last asked for.

    Adding must cost next to nothing, so steps are collected and counted many at a time.
    """

    def __init__(self) -> None:
        self.explored: list[NDArray[np.bool_]] = []
        self.nodes: list[NDArray[np.int64]] = []
        self.counts: dict[str, int] = {}
        self.sums: dict[str, float] = {}

    def add(self, explorer: BaseExplorer) -> None:
        """Count a step of all environments, taken from where the explorer is."""
        if isinstance(explorer, BaseExplorer):
            self.explored.append(explorer.explored)
        if isinstance(explorer, Explorer):
            self.nodes.append(explorer.nodes)
        if len(self.explored) >= MOST_STEPS:
            self._count(explorer)

    def _count(self, explorer: BaseExplorer) -> None:
        if self.explored:
            self._sum("exploratory_share", np.concatenate(self.explored))
        if self.nodes and isinstance(explorer, Explorer):
            nodes = np.concatenate(self.nodes)
            self._sum("policy_entropy", explorer.entropies[nodes])
            self._sum("node_depth", explorer.policy.graph.depths[nodes])
        self.explored, self.nodes = [], []

    def _sum(self, name: str, values: NDArray[Any]) -> None:
        self.counts[name] = self.counts.get(name, 0) + len(values)
        self.sums[name] = self.sums.get(name, 0.0) + float(values.sum())

    def means(self, explorer: BaseExplorer) -> dict[str, float]:
        """Return the means, and start again."""
        self._count(explorer)
        found = {name: total / self.counts[name] for name, total in self.sums.items()}
        self.counts, self.sums = {}, {}
        return found


def _action_names(env: VecEnv | None) -> tuple[str, ...] | None:
    """Return what the environments call their actions, if they do."""
    if env is None:
        return None

    def call(name: str) -> Any:
        return env.env_method(name, indices=[0])[0]

    return read_names(
        env.action_space, has=env.has_attr, get=lambda name: env.get_attr(name, [0])[0], call=call
    )


def _unchanged(explorer: BaseExplorer, n_envs: int) -> BaseExplorer:
    if explorer.n_envs != n_envs:
        raise _count_changed(explorer.n_envs, n_envs)
    return explorer


def _continued(saved: BaseExplorer, given: BaseExplorer) -> BaseExplorer:
    """Let a new explorer go on from a saved one: only if both follow the same policy."""
    if not (hasattr(saved, "state_dict") and hasattr(given, "state_dict")):
        return given  # there is nothing to go on from
    state = saved.state_dict()
    if given.state_dict().get("policy") != state.get("policy"):
        raise ArgumentError(
            "this model was saved with another prior or depth than the explorer given: load it "
            "without `explorer` to go on with its own, or set `model.explorer` after loading"
        )
    if saved.n_envs == given.n_envs:
        given.load_state_dict(state)
    return given


def _count_changed(saved: int, found: int) -> ArgumentError:
    return ArgumentError(
        f"the model's explorer is for {saved} environments, found {found}: nobody knows where the "
        "others are. Load the model with `explorer=POLICY`, and all start at the empty word"
    )


def _random_state() -> dict[str, Any]:
    """Return the state of the generators that Stable-Baselines3 seeds and draws from."""
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state(),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def _restore(state: dict[str, Any]) -> None:
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
