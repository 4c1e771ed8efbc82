"""The device that a population runs on: which it is, and how much it holds."""

from __future__ import annotations

import logging
import math
from functools import lru_cache
from typing import Any

from easee._utils.memory import free_memory
from easee.agents.population.networks import Network
from easee.errors import MissingExtraError, PopulationTooLargeError

try:
    import jax
except ImportError:
    raise MissingExtraError("jax", "jax") from None

WORKING = 8  # copies of what the network computes for a batch that an update has at once
SHARE = 0.9  # of the memory that may be used


@lru_cache(maxsize=1)
def announce() -> None:
    """Say once if there is no accelerator."""
    if jax.default_backend() == "cpu":
        logging.getLogger("easee").warning(
            "JAX finds no GPU: the population runs on the CPU, some hundred times slower"
        )


def memory() -> int:
    """Return how many bytes the device can hold."""
    stats = jax.local_devices()[0].memory_stats()
    if stats and "bytes_limit" in stats:
        return int(stats["bytes_limit"]) - int(stats.get("bytes_in_use", 0))
    return free_memory()


def check_room(run: Any, count: int, network: Network, shape: tuple[int, ...], batch: int) -> None:
    """Check that so many runs fit.

    Args:
        run: one, as arrays or their shapes.
        count: how many are wanted.
        network: what they learn.
        shape: of an observation.
        batch: transitions of an update.

    Raises:
        PopulationTooLargeError: they do not; it says how many would.
    """
    kept = sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in jax.tree.leaves(run))
    each = kept + 4 * WORKING * batch * network.activations(shape)
    room = int(SHARE * memory())
    if count * each > room:
        raise PopulationTooLargeError(
            f"{count} runs need {_gib(count * each)}, {_gib(each)} each, and the device has room "
            f"for {_gib(room)}: {room // each} fit. Take fewer seeds, or a smaller buffer_size"
        )


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size >= 2**27 else f"{size / 2**20:.1f} MiB"
