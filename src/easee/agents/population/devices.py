"""The device that a population runs on, and its memory."""

from __future__ import annotations

import logging
import math
from functools import lru_cache
from typing import Any

import jax

from easee._utils.memory import free_memory
from easee.agents.population.networks import Network
from easee.errors import PopulationTooLargeError

WORKING_COPIES = 8  # estimated copies of a batch's activations that an update holds at once
USABLE = 0.9  # share of the free memory that runs may use


@lru_cache(maxsize=1)
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


def check_memory(
    run: Any, count: int, network: Network, shape: tuple[int, ...], batch: int
) -> None:
    """Check that a number of runs fits in the device's memory.

    Args:
        run: tree of the arrays of one run, or of their shapes.
        count: number of runs.
        network: their network.
        shape: shape of an observation.
        batch: number of transitions of an update.

    Raises:
        PopulationTooLargeError: they do not fit; the message says how many would.
    """
    stored = sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in jax.tree.leaves(run))
    needed = stored + 4 * WORKING_COPIES * batch * network.activations(shape)
    available = int(USABLE * device_memory())
    if count * needed > available:
        raise PopulationTooLargeError(
            f"{count} runs need {_gib(count * needed)}, {_gib(needed)} each, and the device has "
            f"{_gib(available)}: {available // needed} fit. Use fewer seeds or a smaller "
            "buffer_size"
        )


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**27 else f"{size / 2**20:.1f} MiB"
