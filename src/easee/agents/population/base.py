"""The part of a population that does not depend on the algorithm or the environment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from easee._utils.checks import checked_count
from easee.agents.population import checkpoints
from easee.agents.population.curves import Curves
from easee.errors import ArgumentError


class BasePopulation(ABC):
    """Runs that train side by side, with their step count and checkpoints.

    Attributes:
        total: number of steps of training.
        steps: number of steps that each run has done.
        description: JSON data that identifies the runs: only checkpoints with the same description
            can be loaded. It has the entry "seeds".
    """

    def __init__(self, total: int, description: dict[str, Any]) -> None:
        self.total = total
        self.steps = 0
        self.description = description

    def __len__(self) -> int:
        return len(self.description["seeds"])

    @property
    def finished(self) -> bool:
        """Whether training is over."""
        return self.steps >= self.total

    def advance(self, steps: int | None = None) -> Curves:
        """Train for a number of steps, by default to the end, and return the curves so far."""
        count = self.total if steps is None else checked_count(steps, "steps")
        self._train_until(min(self.steps + count, self.total))
        return self.curves()

    @abstractmethod
    def _train_until(self, step: int) -> None:
        """Train until `steps` is at least `step`."""

    @abstractmethod
    def curves(self) -> Curves:
        """Return the learning curves so far; waits until the device is done."""

    @abstractmethod
    def _arrays(self) -> Any:
        """Return a tree of the arrays to save."""

    @abstractmethod
    def _restore(self, arrays: Any) -> None:
        """Continue with loaded arrays; `steps` is set already."""

    def save(self, path: Path) -> None:
        """Write a checkpoint."""
        checkpoints.save(path, (self._arrays(), np.asarray(self.steps)), self.description)

    def load(self, path: Path) -> None:
        """Resume from a checkpoint of the same population."""
        template = self._arrays(), np.asarray(self.steps)
        arrays, steps = checkpoints.load(path, template, self.description)
        if not 0 <= int(steps) <= self.total:
            raise ArgumentError(f"{path} is damaged: found step {int(steps)} of {self.total}")
        del template  # otherwise its arrays would stay in device memory beside the loaded ones
        self.steps = int(steps)
        self._restore(arrays)
