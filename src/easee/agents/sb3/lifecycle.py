"""What the mixins for Stable-Baselines3 share: an explorer that lives as long as its model.

It is fitted to the model's environments once these are known. It is reset when they are reset, and
saved and loaded with the model.
"""

import inspect
from collections.abc import Sequence
from typing import Any, ClassVar

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

import easee.agents.sb3.fitting as fitting
from easee.agents.compat import check_space
from easee.agents.sb3.random_state import restore_random_state, storing_random_state
from easee.explorers.base import BaseExplorer


class ExplorerLifecycle(BaseAlgorithm):
    """A model with an explorer whose nodes follow its environments.

    A subclass is a mixin. It names its arguments and fits explorers to the model.

    Attributes:
        argument: name of the argument that holds a policy or an explorer, for error messages.
        added: names of all arguments that the mixin adds to the algorithm's own.
    """

    argument: ClassVar[str]
    added: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        """Show the algorithm's arguments and the mixin's in the signature."""
        if "added" in cls.__dict__:  # a mixin without an algorithm
            return
        owner: Any = next(base for base in cls.__mro__ if "__init__" in base.__dict__)
        own = inspect.signature(owner.__dict__["__init__"]).parameters
        parameters = list(own.values())[1:]
        if "added" in owner.__dict__:
            algorithm = next(b for b in cls.__mro__ if not issubclass(b, ExplorerLifecycle))
            added = [own[name] for name in owner.added]
            parameters = [*inspect.signature(algorithm).parameters.values(), *added]
        cls.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]

    def __init__(
        self, *args: Any, requested: Any, names: Sequence[str] | None, **kwargs: Any
    ) -> None:
        env: Any = kwargs.get("env", args[1] if len(args) > 1 else None)
        fitting.check_env(env)
        if requested is not None and hasattr(env, "action_space"):
            check_space(env.action_space)
        self._requested = requested  # replaced by an explorer once the environments are known
        self._explorer: BaseExplorer | None = None
        self._names = names
        self._random_state: dict[str, Any] | None = None
        try:
            super().__init__(*args, **kwargs)
        except AssertionError:  # of Stable-Baselines3; an environment given by its id has no space
            if requested is not None and hasattr(self, "action_space"):
                check_space(self.action_space)
            raise

    def _fitted(self, requested: Any, env: VecEnv | None = None) -> BaseExplorer:
        """Return an explorer that fits the model and its environments, or others."""
        raise NotImplementedError

    def _setup_model(self) -> None:
        super()._setup_model()  # type: ignore[safe-super]  # the algorithm has one
        requested, self._requested = self._requested, None
        if requested is not None:
            explorer = self._fitted(requested)
            if self._explorer is not None:
                fitting.resume_explorer(explorer, self._explorer, self.argument)
            self._explorer = explorer
        elif self._explorer is not None:
            fitting.check_env_count(self._explorer.n_envs, self.n_envs, self.argument)
            self._fitted(self._explorer)

    def _setup_learn(
        self,
        total_timesteps: int,
        callback: Any = None,
        reset_num_timesteps: bool = True,
        *args: Any,
        **kwargs: Any,
    ) -> tuple[int, BaseCallback]:
        if self._explorer is not None and (reset_num_timesteps or self._last_obs is None):
            self._explorer.reset()  # the environments are reset here too
        return super()._setup_learn(total_timesteps, callback, reset_num_timesteps, *args, **kwargs)

    def set_env(self, env: Any, force_reset: bool = True) -> None:
        """Set the environments; an explorer requires as many as before."""
        fitting.check_env(env)
        wrapped = self._wrap_env(env, self.verbose)
        if self._explorer is not None:
            fitting.check_env_count(self.n_envs, wrapped.num_envs, self.argument)
            self._fitted(self._explorer, wrapped)
        super().set_env(wrapped, force_reset)

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_requested"]

    def save(self, path: Any, exclude: Any = None, include: Any = None) -> None:
        """Save the model with its explorer: policy, nodes and generator."""
        with storing_random_state(self):
            super().save(path, exclude, include)

    @classmethod
    def load(cls, path: Any, env: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Load a model; a policy or an explorer is passed as the attribute `_requested`."""
        model = super().load(path, env, *args, **kwargs)
        restore_random_state(model)
        return model
