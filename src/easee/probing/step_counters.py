"""Observations that count steps: words of different lengths can never agree on them."""

from __future__ import annotations

import numpy as np

from easee.errors import ArgumentError
from easee.probing.probe import Probe
from easee.probing.state_keys import counters

STEPS = 8
LONG = 500  # steps after which what goes round has come back


def find_counters(probe: Probe, rng: np.random.Generator) -> list[str]:
    """Return the fields of the observations that count steps."""
    if probe.n_actions == 1:  # whatever is done, it is the same
        return []
    found = _counters(probe, rng, STEPS)
    return _counters(probe, rng, LONG) if found else []


def _counters(probe: Probe, rng: np.random.Generator, steps: int) -> list[str]:
    start = probe.reset(0)
    words = [rng.integers(probe.n_actions, size=steps).tolist() for _ in range(4)]
    walks = [[place.observation for place in probe.walk(start, word)] for word in words]
    shortest = min(len(walk) for walk in walks)
    return counters([walk[:shortest] for walk in walks]) if shortest > 2 else []


def refuse_counters(probe: Probe, rng: np.random.Generator) -> None:
    """Raise an error that names the fields, if observations are compared and some count steps."""
    found = find_counters(probe, rng) if probe.state is None else []
    if found:
        names = ", ".join(name or "the number itself" for name in found)
        raise ArgumentError(
            f"the observations count steps: {names} is another at every step, whatever "
            "is done, so that words of different lengths never come out alike. Leave it out with a "
            "wrapper, or pass state=, a function that reads what matters"
        )
