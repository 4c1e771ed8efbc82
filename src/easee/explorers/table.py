"""The table that every explorer of a policy is built from: scalar, array and JAX."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from easee._utils.arrays import Floats, freeze
from easee._utils.checks import checked_count, checked_share
from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers.sampling import cumulative_rows
from easee.policy import ExplorationPolicy, checked_floors

Floor = float | ArrayLike | None


@dataclass(frozen=True, eq=False)
class PolicyTable:
    """Action probabilities and successors of the nodes of a policy.

    Attributes:
        actions: names of the actions.
        probabilities: float (n, k), exploratory action probabilities, floors included; rows of ends
            (full depth, dead ends) are 0.
        cumulative: float (n, k), their cumulative sums, exactly 1 at the end of a row.
        next_nodes: int (n, k), node after each action; -1 where the walk restarts.
        depth: number of actions after which the walk restarts.

    A walk starts at node 0 and restarts there after `depth` actions, where the next node is -1, and
    at the end of an episode.

    >>> from easee.priors.builders import inverse
    >>> from easee.policy import compile
    >>> table = PolicyTable.from_policy(compile(inverse("left", "right"), depth=2), floor=0.5)
    >>> table.probabilities[1], table.next_nodes[1]
    (array([0.75, 0.25]), array([-1,  0], dtype=int32))
    """

    actions: tuple[str, ...]
    probabilities: NDArray[np.float64]
    cumulative: NDArray[np.float64]
    next_nodes: NDArray[np.int32]
    depth: int

    def __post_init__(self) -> None:
        freeze(self, "probabilities", "cumulative", "next_nodes")

    @classmethod
    def from_policy(cls, policy: ExplorationPolicy, floor: Floor = None) -> PolicyTable:
        """Build the table of a policy.

        Args:
            policy: exploration policy.
            floor: instead of the policy's own floors, the weight of the uniform policy mixed in,
                between 0 and 1, or the least probability of each action, float (k,).
        """
        if not isinstance(policy, ExplorationPolicy):
            raise ArgumentTypeError(f"expected an ExplorationPolicy, found {type(policy).__name__}")
        graph = policy.graph
        floors = _floors(policy, floor)
        probabilities = (1.0 - floors.sum()) * policy.probabilities
        probabilities[~graph.ends] += floors
        continues = (graph.successors >= 0) & ~graph.ends[graph.successors]
        next_nodes = np.where(continues, graph.successors, -1)
        cumulative = cumulative_rows(probabilities)
        return cls(graph.actions, probabilities, cumulative, next_nodes, graph.depth)

    @classmethod
    def uniform(cls, n_actions: int) -> PolicyTable:
        """Build the table of a single node where all actions are equally likely."""
        k = checked_count(n_actions, "n_actions")
        return cls.fixed(np.full(k, 1.0 / k))

    @classmethod
    def fixed(cls, probabilities: ArrayLike) -> PolicyTable:
        """Build the table of a single node with given action probabilities, float (k,)."""
        try:
            row = np.asarray(probabilities, float)
        except (TypeError, ValueError):
            row = np.zeros(0)
        if row.ndim != 1 or not len(row) or not (row >= 0).all() or abs(row.sum() - 1.0) > 1e-9:
            raise ArgumentError(
                f"expected probabilities of actions that sum to 1, found {probabilities!r}"
            )
        names, next_nodes = tuple(map(str, range(len(row)))), np.full((1, len(row)), -1, np.int32)
        return cls(names, row[None], cumulative_rows(row[None]), next_nodes, 1)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of actions, successors and probabilities."""
        digest = hashlib.sha256(repr(self.actions).encode())
        for array in (self.next_nodes, self.probabilities):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:32]


def _floors(policy: ExplorationPolicy, floor: Floor) -> Floats:
    """Return the least probability of each action, float (k,)."""
    k = len(policy.graph.actions)
    if floor is None:
        return policy.floors
    if not isinstance(floor, list | tuple) and np.ndim(floor) == 0:
        return np.full(k, checked_share(floor, "floor") / k)
    return checked_floors(floor, k)
