"""Checks of a population's arguments."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from easee.agents.compat import check_actions, check_compiled
from easee.envs.jax import World
from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers import jax as explorers
from easee.explorers.jax import Tables
from easee.policy import ExplorationPolicy


def checked_seeds(seeds: Sequence[int], explorers: Sequence[Any]) -> list[int]:
    """Return the seeds as ints after checking that there is one for each explorer."""
    for name, values in (("explorers", explorers), ("seeds", seeds)):
        if not hasattr(values, "__len__") or isinstance(values, str | Tables):
            raise ArgumentTypeError(f"expected a list of {name}, found {values!r}")
    if not len(seeds) or len(explorers) != len(seeds):
        raise ArgumentError(
            f"expected an explorer and a seed for every run, found {len(explorers)} explorers and "
            f"{len(seeds)} seeds"
        )
    return [_checked_seed(seed) for seed in seeds]


def _checked_seed(seed: Any) -> int:
    try:
        number = -1 if isinstance(seed, bool) else operator.index(seed)
    except TypeError:
        number = -1
    if not 0 <= number < 2**31:
        raise ArgumentError(f"expected seeds as whole numbers below 2**31, found {seed!r}")
    return number


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


def fit_tables(explorer: Tables | ExplorationPolicy, world: World) -> Tables:
    """Return the tables of an explorer after checking its actions against the world's."""
    if isinstance(explorer, ExplorationPolicy):
        check_actions(explorer.graph.actions, world.n_actions, world.action_names)
        return explorers.from_policy(explorer)
    check_compiled(explorer)
    if not isinstance(explorer, Tables):
        raise ArgumentTypeError(
            "expected explorers as Tables (see easee.explorers.jax) or policies, "
            f"found {type(explorer).__name__}"
        )
    check_actions(explorer.n_actions, world.n_actions, world.action_names)
    return explorer
