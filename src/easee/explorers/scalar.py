"""One environment's node without arrays: for few environments numpy's overhead is the cost.

`Explorer` has one of these for every environment when there are few. Tables stay in numpy; the rows
in use are kept as Python lists, the same for all.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

Row = tuple[list[float], list[int]]  # a distribution function, and successors

MOST_ROWS = 50_000  # rows kept as lists, some 200 bytes each


class Walker:
    """A node, moved by actions.

    Args:
        cumulative: float (n, k), the distribution function of the actions at each node.
        following: int (n, k), the node after an action; -1 where it starts again.
        depth: after how many actions it starts again anyway.
        rows: the rows in use.
    """

    __slots__ = ("cumulative", "depth", "following", "length", "node", "rows")

    def __init__(
        self,
        cumulative: NDArray[np.float64],
        following: NDArray[np.int32],
        depth: int,
        rows: dict[int, Row],
    ) -> None:
        self.cumulative = cumulative
        self.following = following
        self.depth = depth
        self.rows = rows
        self.node = 0
        self.length = 0

    def row(self) -> Row:
        """Return the node's distribution function and its successors."""
        found = self.rows.get(self.node)
        if found is None:
            if len(self.rows) >= MOST_ROWS:
                self.rows.clear()
            found = self.cumulative[self.node].tolist(), self.following[self.node].tolist()
            self.rows[self.node] = found
        return found

    def action(self, uniform: float) -> int:
        """Return the policy's action for a uniform in [0, 1)."""
        return bisect_right(self.row()[0], uniform)

    def step(self, action: int, done: bool) -> None:
        """Move along an action; start again at an end, after `depth` actions, or when done."""
        node = self.row()[1][action]
        self.length += 1
        if done or node < 0 or self.length >= self.depth:
            self.node = self.length = 0
        else:
            self.node = node


def make_walkers(
    cumulative: NDArray[np.float64], following: NDArray[np.int32], depth: int, count: int
) -> list[Walker]:
    """Return so many walkers that keep their rows together."""
    rows: dict[int, Row] = {}
    return [Walker(cumulative, following, depth, rows) for _ in range(count)]
