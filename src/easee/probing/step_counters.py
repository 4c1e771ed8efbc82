"""Fields of observations that count steps, which words of different lengths never agree on."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from easee._utils.digests import leaves
from easee.errors import ArgumentError
from easee.probing.probe import Probe
from easee.probing.state_keys import ObservationFunction

SHORT_WALK = 8
LONG_WALK = 500  # steps, enough for a periodic field to repeat


def numbers(observation: Any) -> dict[str, float]:
    """Return each number in an observation by its path.

    >>> numbers({"time": 3, "place": np.array([1.0, 2.0])})
    {"['place'][0]": 1.0, "['place'][1]": 2.0, "['time']": 3.0}
    """
    values: dict[str, float] = {}
    for path, value in leaves(observation):
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            paths = [path] if value.ndim == 0 else [f"{path}[{i}]" for i in range(value.size)]
            values |= dict(zip(paths, value.ravel().astype(float).tolist(), strict=True))
        elif isinstance(value, int | float):
            values[path] = float(value)
    return values


def counters(walks: Sequence[Sequence[Any]]) -> list[str]:
    """Return the fields that change at every step, in the same way along several walks.

    >>> counters([[{"t": 0, "x": 0}, {"t": 1, "x": 1}], [{"t": 0, "x": 0}, {"t": 1, "x": -1}]])
    ["['t']"]
    """
    tables = [[numbers(observation) for observation in walk] for walk in walks]
    fields = []
    for field in tables[0][0]:
        first, *others = [[row.get(field) for row in table] for table in tables]
        is_distinct = None not in first and len(set(first)) == len(first)
        if is_distinct and all(column == first for column in others):
            fields.append(field)
    return fields


def find_counters(probe: Probe, rng: np.random.Generator) -> list[str]:
    """Return the fields of an environment's observations that count steps."""
    fields: list[str] = []
    shown = probe.state.transform if isinstance(probe.state, ObservationFunction) else _itself
    for steps in (SHORT_WALK, LONG_WALK) if probe.n_actions > 1 else ():
        start = probe.reset(0)
        words = [rng.integers(probe.n_actions, size=steps).tolist() for _ in range(4)]
        walks = [[shown(s.observation) for s in probe.walk(start, word)] for word in words]
        shortest = min(map(len, walks))
        fields = counters([walk[:shortest] for walk in walks]) if shortest > 2 else []
        if not fields:
            break
    return fields


def _itself(observation: Any) -> Any:
    return observation


def check_counters(probe: Probe, rng: np.random.Generator) -> None:
    """Raise an ArgumentError if observations are compared and some of their fields count steps."""
    observed = probe.state is None or isinstance(probe.state, ObservationFunction)
    fields = find_counters(probe, rng) if observed else []
    if fields:
        raise ArgumentError(
            f"the observations count steps: {', '.join(f or 'the number itself' for f in fields)} "
            "changes at every step, whatever the actions, so words of different lengths are never "
            "equivalent. Remove it with a wrapper, or compare only what matters, as with "
            'state="observation:0,1" (--state observation:0,1 on the command line)'
        )
