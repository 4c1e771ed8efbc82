"""A mixin that gives on-policy algorithms of Stable-Baselines3 a reference policy.

The reference's log-probabilities are added to the logits of the policy network, and the entropy
bonus becomes -KL(pi || reference). See `easee.agents.reference_policy`.

Stable-Baselines3 computes both through the policy's action distribution. It is replaced here by
one that adds the rows it was given last: in a rollout those of the present nodes, in an update
those of the minibatch, which the rollout buffer stores beside the transitions. Without rows it is
the original distribution, so `predict` is that of the network alone unless the reference is asked
for.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv

import easee.agents.sb3.fitting as fitting
from easee._utils.checks import excerpt
from easee.agents.compat import check_space
from easee.agents.reference_policy import (
    FLOOR,
    Reference,
    ReferenceExplorer,
    fit_reference,
    log_reference,
    resized,
)
from easee.agents.sb3.lifecycle import ExplorerLifecycle
from easee.agents.sb3.reference_rows import (
    ReferenceLogits,
    with_reference_logits,
    with_reference_rows,
)
from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers.baselines import UniformExplorer
from easee.explorers.easee import Explorer
from easee.explorers.sampling import Mask
from easee.policy import ExplorationPolicy


class ReferenceMixin(ExplorerLifecycle, OnPolicyAlgorithm):
    """Adds the argument `reference` to an on-policy algorithm of Stable-Baselines3.

    Put it before the algorithm: `class PPO(ReferenceMixin, stable_baselines3.PPO): ...`

    The node of an environment follows the actions taken there and is reset when the episode ends.
    If an `info` has an entry "executed_action", the node follows that action instead.

    Args:
        args: arguments of the algorithm.
        reference: a policy, a string such as "doorkey:6" (see `easee.read_policy`), or an explorer
            for as many environments as the model has.
        reference_floor: weight of the uniform policy mixed into `reference`, so that log 0 does not
            occur; added to the policy's own floors. With 0, actions that the reference never takes
            are never taken. Explorers have their own floor instead.
        reference_strength: exponent of the reference, or a function of the remaining progress (from
            1 to 0) that returns it: 1 is the reference, 0 is the uniform policy.
        names: names of the environments' actions, instead of their own.
        kwargs: keyword arguments of the algorithm.

    Attributes:
        predict_with_reference: whether `predict` acts with the reference too. Its nodes are then in
            the `state` that `predict` takes and returns, as for recurrent policies.
    """

    argument = "reference"
    added = ("reference", "reference_floor", "reference_strength", "names")
    _explorer: ReferenceExplorer | None

    def __init__(
        self,
        *args: Any,
        reference: Reference | None = None,
        reference_floor: float = FLOOR,
        reference_strength: float | Callable[[float], float] = 1.0,
        names: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        if not callable(reference_strength):
            _checked_strength(reference_strength)
        self.reference_floor = reference_floor
        self.reference_strength = reference_strength
        self.predict_with_reference = False
        self._evaluators: dict[int, ReferenceExplorer] = {}
        super().__init__(*args, requested=reference, names=names, **kwargs)

    def _setup_model(self) -> None:
        super()._setup_model()
        self._install()

    def _fitted(self, requested: Reference, env: VecEnv | None = None) -> ReferenceExplorer:
        check_space(self.action_space)
        return fit_reference(
            requested,
            self.reference_floor,
            n_envs=self.n_envs,
            n_actions=int(self.action_space.n),  # type: ignore[attr-defined]
            names=fitting.env_action_names(env or self.env, self._names),
            seed=self.seed,
        )

    def _install(self) -> None:
        """Replace the action distribution and the rollout buffer by those with a reference."""
        self._evaluators = {}
        if self._explorer is None:
            return
        if not hasattr(self.policy, "action_dist"):
            raise ArgumentTypeError(
                f"expected a policy made with PyTorch, found {type(self.policy).__name__}: wrap "
                "the environment in easee.agents.reference.ReferenceObservation instead"
            )
        if not isinstance(self.policy.action_dist, ReferenceLogits):
            kind: Any = type(self.policy.action_dist)
            self.policy.action_dist = with_reference_logits(kind)(self._explorer.n_actions)
        buffer: Any = self.rollout_buffer_class
        self.rollout_buffer = with_reference_rows(buffer)(
            self.n_steps,
            self.observation_space,
            self.action_space,
            device=self.device,
            gamma=self.gamma,
            gae_lambda=self.gae_lambda,
            n_envs=self.n_envs,
            **self.rollout_buffer_kwargs,
        )

    @property
    def explorer(self) -> ReferenceExplorer | None:
        """The explorer whose nodes follow the training environments."""
        return self._explorer

    @property
    def reference(self) -> ExplorationPolicy | UniformExplorer | None:
        """The reference policy; assign another one, or None to go on without it."""
        return self._explorer.policy if isinstance(self._explorer, Explorer) else self._explorer

    @reference.setter
    def reference(self, reference: Reference | None) -> None:
        self._explorer = None if reference is None else self._fitted(reference)
        self._install()

    # --- training -----------------------------------------------------------------------------

    def collect_rollouts(
        self, env: VecEnv, callback: BaseCallback, *args: Any, **kwargs: Any
    ) -> bool:
        """Collect a rollout; see Stable-Baselines3."""
        if self._explorer is None:
            return super().collect_rollouts(env, callback, *args, **kwargs)
        # Only the forward passes that choose actions go through the module's hooks.
        before = self.policy.register_forward_pre_hook(self._before_forward, with_kwargs=True)
        after = self.policy.register_forward_hook(self._after_forward)
        try:
            completed = super().collect_rollouts(env, callback, *args, **kwargs)
        finally:
            before.remove()
            after.remove()
            self._distribution.rows = None
        if not completed:  # the callback stopped before the last step was stored
            self._follow(callback.locals["infos"], callback.locals["dones"])
        return completed

    @property
    def _distribution(self) -> ReferenceLogits:
        distribution: Any = self.policy.action_dist
        assert isinstance(distribution, ReferenceLogits)
        return distribution

    def _before_forward(self, module: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """Add the reference at the present nodes, and store it for the updates."""
        assert self._explorer is not None
        mask = self._checked_mask(self._explorer, kwargs.get("action_masks"))
        probabilities = self._explorer.probabilities(mask)
        allowed = self._explorer.n_actions if mask is None else mask.sum(axis=1, keepdims=True)
        self._likely = probabilities * allowed >= 1.0 - 1e-9
        rows = log_reference(probabilities, self._strength, mask)
        buffer: Any = self.rollout_buffer
        buffer.reference_rows[buffer.pos] = rows
        self._distribution.rows = torch.as_tensor(rows, device=self.device)

    def _after_forward(self, module: Any, args: Any, output: Any) -> None:
        """Remember the chosen actions, and remove the reference again."""
        self._chosen = output[0].cpu().numpy().reshape(-1)
        kl = -float(self._distribution.entropy().mean())
        self._distribution.rows = None
        agreement = float(self._likely[np.arange(self.n_envs), self._chosen].mean())
        self.logger.record_mean("reference/kl", kl)
        self.logger.record_mean("reference/agreement", agreement)

    def _update_info_buffer(self, infos: Any, dones: NDArray[Any] | None = None) -> None:
        super()._update_info_buffer(infos, dones)
        if self._explorer is not None:  # called once a step, after the callbacks
            self._follow(infos, dones)

    def _follow(self, infos: Any, dones: NDArray[Any] | None) -> None:
        """Move the nodes along the executed actions."""
        assert self._explorer is not None
        n_actions = self._explorer.n_actions
        self._explorer.step(fitting.executed_actions(self._chosen, infos, n_actions), dones)

    def train(self) -> None:
        """Update the network; see Stable-Baselines3."""
        if self._explorer is None:
            return super().train()
        buffer: Any = self.rollout_buffer
        buffer.distribution = self._distribution
        try:
            super().train()
        finally:
            buffer.distribution = self._distribution.rows = None

    @property
    def _strength(self) -> float:
        strength = self.reference_strength
        value = strength(self._current_progress_remaining) if callable(strength) else strength
        return _checked_strength(value)

    # --- evaluation ---------------------------------------------------------------------------

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: NDArray[Any] | None = None,
        deterministic: bool = False,
        **kwargs: Any,
    ) -> tuple[NDArray[Any], Any]:
        """Return the policy's actions and the next state; the training nodes do not move.

        The policy is the network alone, or the network with the reference if
        `predict_with_reference` is set. Then pass `state` and `episode_start` as for a recurrent
        policy, which `EvalCallback` and `evaluate_policy` do: the state holds the nodes. Without a
        state, all nodes are the empty word.
        """
        options = {"deterministic": deterministic, **kwargs}
        if self._explorer is None or not self.predict_with_reference:
            return super().predict(observation, state, episode_start, **options)
        explorer = self._evaluator(_batch_size(self.policy.obs_to_tensor(observation)[0]))
        explorer.reset()
        if state is not None:
            explorer.load_state_dict(state)
        if episode_start is not None:
            explorer.reset(np.asarray(episode_start, bool).reshape(-1))
        mask = self._checked_mask(explorer, kwargs.get("action_masks"))
        rows = log_reference(explorer.probabilities(mask), self._strength, mask)
        self._distribution.rows = torch.as_tensor(rows, device=self.device)
        try:
            actions, _ = super().predict(observation, None, episode_start, **options)
        finally:
            self._distribution.rows = None
        explorer.step(actions.reshape(-1))
        return actions, explorer.state_dict()

    def _evaluator(self, n_envs: int) -> ReferenceExplorer:
        """Return an explorer for evaluation, apart from that of the training environments."""
        assert self._explorer is not None
        if n_envs not in self._evaluators:
            self._evaluators[n_envs] = resized(self._explorer, n_envs)
        return self._evaluators[n_envs]

    def _checked_mask(self, explorer: ReferenceExplorer, masks: Any) -> Mask | None:
        """Return the allowed actions, bool (n_envs, k); each row needs one that is possible."""
        if masks is None:
            return None
        mask = np.asarray(masks, bool).reshape(explorer.n_envs, explorer.n_actions)
        impossible = ~((explorer.probabilities() > 0) & mask).any(axis=1)
        if impossible.any():
            env = int(impossible.argmax())
            raise ArgumentError(
                f"expected a mask that allows an action with a positive probability, found that "
                f"environment {env} allows only {np.flatnonzero(mask[env]).tolist()}, which the "
                "reference never takes there: use a positive reference_floor"
            )
        return mask

    # --- saving and loading -------------------------------------------------------------------

    def _excluded_save_params(self) -> list[str]:
        transient = ["_evaluators", "_chosen", "_likely"]
        return [*super()._excluded_save_params(), *transient]

    @classmethod
    def load(
        cls,
        path: Any,
        env: Any = None,
        *args: Any,
        reference: Reference | None = None,
        **kwargs: Any,
    ) -> Any:
        """Load a model; see Stable-Baselines3 for its arguments.

        With `force_reset=False` and the environments it was trained in, a seeded model continues
        exactly as if it had not been saved and loaded. `reference` must be the one it was saved
        with; pass it if the number of environments changed, and all start at the empty word.
        """
        if "reference_floor" in kwargs:
            raise ArgumentError(
                "expected a model to be loaded with its own reference_floor: set "
                "`model.reference_floor` and then `model.reference` after loading"
            )
        if reference is not None:
            kwargs["_requested"] = reference
        return super().load(path, env, *args, **kwargs)


def _batch_size(observation: Any) -> int:
    """Return the number of observations in a batch of tensors."""
    if isinstance(observation, dict):
        observation = next(iter(observation.values()))
    return len(observation)


def _checked_strength(value: Any) -> float:
    """Return an exponent of the reference as a float."""
    try:
        number = None if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError):
        number = None
    if number is None:
        raise ArgumentTypeError(
            "expected reference_strength as a number, or as a function of the remaining progress "
            f"that returns one, found {excerpt(repr(value))}"
        )
    if not np.isfinite(number) or number < 0:
        raise ArgumentError(
            f"expected a reference_strength of at least 0, found {number}: 1 is the reference, 0 "
            "the uniform policy"
        )
    return number
