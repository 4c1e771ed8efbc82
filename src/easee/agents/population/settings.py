"""What the hyperparameters of all learners have in common: their checks."""

from collections.abc import Collection
from dataclasses import fields
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from easee._utils.checks import checked_count, checked_share
from easee.errors import ArgumentError


class BaseSettings:
    """Checks the fields of a frozen dataclass of hyperparameters.

    Integers are at least 1 and numbers positive, except for the fields named here. Values become
    Python numbers, which checkpoints can store as JSON.
    """

    may_be_zero: ClassVar[Collection[str]] = ()
    shares: ClassVar[Collection[str]] = ()  # from 0 to 1

    steps: int
    batch_size: int

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = self._checked(field.name, field.type, getattr(self, field.name))
            object.__setattr__(self, field.name, value)

    def _checked(self, name: str, kind: Any, value: Any) -> Any:
        if kind is bool:
            if not isinstance(value, bool):
                raise ArgumentError(f"expected {name} as True or False, found {value!r}")
            return value
        if kind is int:
            return checked_count(value, name, least=0 if name in self.may_be_zero else 1)
        if name in self.shares:
            return float(checked_share(value, name))
        may_be_zero = name in self.may_be_zero
        if isinstance(value, Real) and not isinstance(value, bool):
            number = float(value)
            if 0.0 < number < np.inf or (may_be_zero and number == 0.0):
                return number
        expected = "a number of at least 0" if may_be_zero else "a positive number"
        raise ArgumentError(f"expected {name} as {expected}, found {value!r}")

    @property
    def rollout_steps(self) -> int:
        """Number of steps between two updates."""
        raise NotImplementedError

    @property
    def total_steps(self) -> int:
        """Number of steps, rounded up to whole rollouts."""
        return -(-self.steps // self.rollout_steps) * self.rollout_steps
