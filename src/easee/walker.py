"""One environment's node without arrays: for a single environment numpy's overhead is the cost.

`Explorer` uses this when it has one environment. Tables stay in numpy; the rows in use are kept as
Python lists, and uniforms are drawn a block at a time.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

BLOCK = 256  # uniforms drawn at a time
MOST_ROWS = 50_000  # rows kept as lists, some 200 bytes each


class Walker:
    """A node, moved by actions.

    Args:
        cumulative: float (n, k), the distribution function of the actions at each node.
        following: int (n, k), the node after an action; -1 where it starts again.
        depth: after how many actions it starts again anyway.
        rng: where uniforms come from.
    """

    __slots__ = ("cumulative", "depth", "following", "length", "node", "rng", "rows", "uniforms")

    def __init__(
        self,
        cumulative: NDArray[np.float64],
        following: NDArray[np.int32],
        depth: int,
        rng: np.random.Generator,
    ) -> None:
        self.cumulative = cumulative
        self.following = following
        self.depth = depth
        self.rng = rng
        self.rows: dict[int, tuple[list[float], list[int]]] = {}
        self.uniforms: list[float] = []
        self.node = 0
        self.length = 0

    def uniform(self) -> float:
        """Return the next uniform in [0, 1)."""
        if not self.uniforms:
            self.uniforms = self.rng.random(BLOCK).tolist()
        return self.uniforms.pop()

    def row(self) -> tuple[list[float], list[int]]:
        """Return the node's distribution function and its successors."""
        found = self.rows.get(self.node)
        if found is None:
            if len(self.rows) >= MOST_ROWS:
                self.rows.clear()
            found = self.cumulative[self.node].tolist(), self.following[self.node].tolist()
            self.rows[self.node] = found
        return found

    def sample(self) -> int:
        """Return an action of the policy."""
        return bisect_right(self.row()[0], self.uniform())

    def step(self, action: int, done: bool) -> None:
        """Move along an action; start again at an end, after `depth` actions, or when done."""
        node = self.row()[1][action]
        self.length += 1
        if done or node < 0 or self.length >= self.depth:
            self.node = self.length = 0
        else:
            self.node = node
