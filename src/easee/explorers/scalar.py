"""The walk of one environment in plain Python numbers, where NumPy's overhead would dominate."""

from bisect import bisect_right

from easee.explorers.table import PolicyTable

Row = tuple[list[float], list[int]]  # cumulative probabilities and next nodes of a node

MAX_ROWS = 50_000  # cached rows, about 200 bytes each


class Walker:
    """The current node of a policy table and the number of actions since the last restart."""

    __slots__ = ("cumulative", "depth", "length", "next_nodes", "node", "rows", "table")

    def __init__(self, table: PolicyTable) -> None:
        self.table = table
        self.depth = table.depth
        self.rows: dict[int, Row] = {}
        self.move_to(0, 0)

    def move_to(self, node: int, length: int) -> None:
        """Continue at a node, after a number of actions."""
        self.node, self.length = node, length
        self.cumulative, self.next_nodes = self._read_row(node)

    def action(self, uniform: float) -> int:
        """Return the policy's action for a uniform in [0, 1)."""
        return bisect_right(self.cumulative, uniform)

    def step(self, action: int, done: bool) -> None:
        """Move along an action, by the rules of `PolicyTable`."""
        node, length = self.next_nodes[action], self.length + 1
        if done or node < 0 or length >= self.depth:
            node = length = 0
        row = self.rows.get(node)
        self.cumulative, self.next_nodes = self._read_row(node) if row is None else row
        self.node, self.length = node, length

    def _read_row(self, node: int) -> Row:
        if len(self.rows) >= MAX_ROWS:
            self.rows.clear()
        row = self.table.cumulative[node].tolist(), self.table.next_nodes[node].tolist()
        self.rows[node] = row
        return row
