"""The part of a population that does not depend on the environments."""

import logging
import math
from abc import ABC, abstractmethod
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import jax
import numpy as np

import easee.agents.population.checkpoints as checkpoints
from easee._utils.checks import checked_count
from easee._utils.memory import free_memory
from easee.agents.population.curves import Curves
from easee.agents.population.settings import BaseSettings
from easee.errors import ArgumentError, ArgumentTypeError, PopulationTooLargeError
from easee.explorers.jax import Tables

WORKING_COPIES = 8  # estimated copies of a batch's activations that an update holds at once
AnySettings = TypeVar("AnySettings", bound=BaseSettings)
USABLE = 0.9  # share of the free memory that runs may use


class BasePopulation(ABC, Generic[AnySettings]):
    """Runs that train side by side, with their step count and checkpoints.

    Attributes:
        settings_type: class of the hyperparameters.
        network_name: class of the network, for messages.
        network_method: a method that only this class has.
        memory_advice: which of them makes runs smaller.
        total: number of steps of training.
        steps: number of steps that each run has done.
        description: JSON data that identifies the runs: only checkpoints with the same description
            can be loaded.
    """

    settings_type: ClassVar[type]
    network_name: ClassVar[str] = "a Network"
    network_method: ClassVar[str] = "apply"
    memory_advice: ClassVar[str]

    def __init__(
        self, explorers: Any, seeds: Any, settings: AnySettings, network: Any, bins: int
    ) -> None:
        if not isinstance(settings, self.settings_type):
            raise ArgumentTypeError(f"expected {self.settings_type.__name__}, found {settings!r}")
        check_static(network, self.network_name, self.network_method)
        self.settings, self.network = settings, network
        self.seeds, self.bins = _checked_seeds(seeds, explorers), checked_count(bins, "bins")
        self.total, self.steps = settings.total_steps, 0
        self.description: dict[str, Any] = {
            "settings": asdict(settings),  # type: ignore[call-overload]
            "network": repr(network),
            "seeds": self.seeds,
            "bins": self.bins,
            # Devices round differently, so that a run must not change its device.
            "device": jax.local_devices()[0].device_kind,
        }
        warn_if_cpu()

    def _check_memory(self, arrays: Any, observation_shape: tuple[int, ...]) -> None:
        """Check that the arrays (or shapes) of all runs and their updates fit in device memory."""
        count = len(self)
        stored = sum(math.prod(a.shape) * a.dtype.itemsize for a in jax.tree.leaves(arrays))
        activations = self.settings.batch_size * self.network.activations(observation_shape)
        needed = stored // count + 4 * WORKING_COPIES * activations
        available = int(USABLE * device_memory())
        fits = available // needed
        if count > fits:
            way_out = f"{fits} fit. Use fewer seeds or" if fits else "none fits. Use"
            error = PopulationTooLargeError(
                f"{count} runs need {_gib(count * needed)}, {_gib(needed)} each, and the device "
                f"has {_gib(available)}: {way_out} a smaller {self.memory_advice}"
            )
            error.fits = fits
            raise error

    def __len__(self) -> int:
        return len(self.seeds)

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


@cache
def warn_if_cpu() -> None:
    """Log a warning, once, if there is no accelerator."""
    if jax.default_backend() == "cpu":
        logging.getLogger("easee").warning(
            "JAX finds no GPU: the population runs on the CPU, some hundred times slower"
        )


def device_memory() -> int:
    """Return the free memory of the device in bytes."""
    stats = jax.local_devices()[0].memory_stats()
    if stats and "bytes_limit" in stats:
        return int(stats["bytes_limit"]) - int(stats.get("bytes_in_use", 0))
    return free_memory()


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**27 else f"{size / 2**20:.1f} MiB"


def check_static(value: Any, expected: str, method: str) -> None:
    """Check that a world or a network has a method and can be static in a compiled function."""
    if isinstance(value, type) or not hasattr(value, method):
        raise ArgumentTypeError(f"expected {expected}, found {value!r}")
    try:
        hash(value)
    except TypeError:
        raise ArgumentTypeError(
            f"expected {expected} that is hashable, e.g. a frozen dataclass of tuples, "
            f"found {value!r}"
        ) from None


def _checked_seeds(seeds: Any, explorers: Any) -> list[int]:
    """Return the seeds as ints after checking that there is one for each explorer."""
    for name, values in (("explorers", explorers), ("seeds", seeds)):
        if not hasattr(values, "__len__") or isinstance(values, str | Tables):
            raise ArgumentTypeError(f"expected a list of {name}, found {values!r}")
    if not len(seeds) or len(explorers) != len(seeds):
        raise ArgumentError(
            f"expected an explorer and a seed for every run, found {len(explorers)} explorers and "
            f"{len(seeds)} seeds"
        )
    numbers = [checked_count(seed, "a seed", least=0) for seed in seeds]
    if max(numbers) >= 2**31:
        raise ArgumentError(f"expected seeds below 2**31, found {max(numbers)}")
    return numbers
