"""The global random generators that Stable-Baselines3 seeds and draws from."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


@contextmanager
def storing_random_state(model: Any) -> Iterator[None]:
    """Let a seeded model with an explorer hold the state of the generators while it is saved."""
    if model._explorer is not None and model.seed is not None:
        model._random_state = random_state()
    try:
        yield
    finally:
        model._random_state = None


def restore_random_state(model: Any) -> None:
    """Restore the state of the generators that a model was saved with, if any."""
    state, model._random_state = model._random_state, None
    if state is not None:
        set_random_state(state)


def random_state() -> dict[str, Any]:
    """Return the state of the global generators."""
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state(),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all(),
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Restore the state of the global generators."""
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])
    torch.cuda.set_rng_state_all(state["cuda"][: torch.cuda.device_count()])
