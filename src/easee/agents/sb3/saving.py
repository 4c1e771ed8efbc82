"""State that is saved beside a Stable-Baselines3 model so that training resumes exactly."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch

from easee.errors import ArgumentError
from easee.explorers.base import BaseExplorer


def resume_explorer(explorer: BaseExplorer, saved: BaseExplorer) -> None:
    """Set a new explorer to the state of a saved one.

    Explorers without a `state_dict`, or for another number of environments, are left as they are.

    Raises:
        ArgumentError: the two follow different policies.
    """
    if not (hasattr(saved, "state_dict") and hasattr(explorer, "state_dict")):
        return
    state = saved.state_dict()
    if explorer.state_dict().get("policy") != state.get("policy"):
        raise ArgumentError(
            "the model was saved with another prior or depth than the explorer's: load it without "
            "`explorer` to resume with its own, or set `model.explorer` after loading"
        )
    if saved.n_envs == explorer.n_envs:
        explorer.load_state_dict(state)


def get_random_state() -> dict[str, Any]:
    """Return the state of the global generators that Stable-Baselines3 seeds and draws from."""
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state(),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Restore the state of the global generators."""
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
