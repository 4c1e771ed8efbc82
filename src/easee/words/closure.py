"""Bounded closure: the quotient of short words if completion does not terminate.

The words are unrolled layer by layer. As soon as the horizon is far enough from a node, both sides
of each relation are traced from it and the two ends are merged; this also merges the successors of
the two nodes. Only equivalent words are ever merged. Equivalences may be missed if every
derivation passes through words longer than the horizon, so the horizon lies some layers (the
*slack*) beyond the requested depth.

This is Todd-Coxeter enumeration with a horizon, vectorised over layers.
"""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from easee._utils.arrays import Ids, components
from easee.errors import GraphTooLargeError
from easee.words.completion import Letters, Pair

PATIENCE = 2  # consecutive layers without a change after which the search ends
MOST_SLACK = 12  # layers beyond those needed to trace every relation
SPARE = 200_000  # nodes that the slack may create, if that is more than eight times the graph
_NONE = 2**31  # depth of a merge that did not happen


@dataclass(frozen=True)
class Closure:
    """Classes of equivalent words up to a depth.

    They are `stable` if every relation was traced from every node and the last layers of slack
    changed nothing. That is evidence and no proof: a merge may need a derivation through words that
    are longer still, after some layers that change nothing. Of 1,450 stable closures of random
    presentations, 4 missed a merge; with the rules that completion derived (`known_pairs`), which
    `unroll` adds, no such case is known. They are `exact`, proved to be the true quotient, if every
    relation has sides of equal length, or the monoid is finite and was enumerated completely.
    """

    depths: Ids  # (n,), the length of the shortest word of each class
    successors: Ids  # (n, k), the class of word + letter; -1 at full depth
    stable: bool
    exact: bool

    def node(self, word: Letters) -> int:
        """Return the class of a word that is not longer than the depth."""
        node = 0
        for letter in word:
            node = self.successors.item(node, letter)
        return node


def close(
    letters: int,
    pairs: tuple[Pair, ...],
    depth: int,
    *,
    slack: int | None = None,
    max_nodes: int = 2**31 - 1,
) -> Closure:
    """Merge equivalent words of length up to `depth`.

    `slack` is the number of layers to unroll beyond `depth`; by default enough to trace every
    relation from every node, and then until two more layers change nothing.

    Raises:
        GraphTooLargeError: the layers up to `depth` have more than `max_nodes` nodes.

    >>> close(1, (((0, 0, 0), ()),), 5).depths.tolist()  # a cycle of three
    [0, 1, 2]
    """
    table = _Table(letters, pairs)
    homogeneous = all(len(u) == len(v) for u, v in pairs)
    working_nodes = max(max_nodes, SPARE)  # before the slack has merged some of them
    while table.horizon < depth and not table.closed:
        table.check_size(depth, working_nodes, max_nodes)
        table.advance()
    table.check_size(depth, working_nodes, max_nodes)
    spare = max(SPARE, 8 * table.size)
    most_slack = 0 if homogeneous else table.longest + MOST_SLACK
    last = depth + (most_slack if slack is None else slack)
    while table.horizon < last and not table.closed and table.next_size() <= spare:
        if slack is None and table.layers_without_merge(depth) >= PATIENCE:
            break
        table.advance()
    table.check_size(depth, max_nodes, max_nodes)
    exact = table.closed or homogeneous
    stable = exact or table.layers_without_merge(depth) > 0
    return Closure(*table.extract(depth), stable=stable, exact=exact)


class _Table:
    """The unrolled words and a union-find structure over them.

    Ids increase with depth. Of two merged nodes the one with the smaller id, which is never the
    deeper one, stays alive: it is its own parent. Every live node above the horizon has all its
    successors.
    """

    def __init__(self, letters: int, pairs: tuple[Pair, ...]) -> None:
        self.letters = letters
        self.pairs = pairs
        self.longest = max((len(word) for pair in pairs for word in pair), default=0)
        self.horizon = 0  # depth of the last layer
        self.closed = False  # whether the monoid is finite and enumerated completely
        self.starts = [0, 1]  # layer t has the ids from starts[t] to starts[t + 1] - 1
        self.successors = np.full((64, letters), -1, np.int32)
        self.parent = np.arange(64, dtype=np.int32)
        self.shallowest_merge = [0]  # for each horizon, the least depth of a node that was lost

    @property
    def size(self) -> int:
        return self.starts[-1]

    def layer(self, depth: int) -> Ids:
        """Return the live nodes of a layer."""
        return self._live(np.arange(*self.starts[depth : depth + 2], dtype=np.int32))

    def _live(self, ids: Ids) -> Ids:
        live: Ids = ids[self.parent[ids] == ids]
        return live

    def layers_without_merge(self, depth: int) -> int:
        """Count the last horizons at which no node of this depth or less was merged.

        Only horizons at which every relation had been traced from every such node count.
        """
        beyond = self.shallowest_merge[depth + self.longest :]
        return next((i for i, least in enumerate(reversed(beyond)) if least <= depth), len(beyond))

    def next_size(self) -> int:
        """Return the number of nodes with one more layer, before merging."""
        return self.size + len(self.layer(self.horizon)) * self.letters

    def check_size(self, depth: int, working_nodes: int, max_nodes: int) -> None:
        """Raise an error above `working_nodes`, or if the next layer is too large to be merged.

        The error reports `max_nodes`, the largest number of nodes in the result.
        """
        layers = [self.layer(t) for t in range(min(depth, self.horizon) + 1)]
        totals = list(accumulate(map(len, layers)))
        if totals[-1] <= working_nodes:
            if self.horizon >= depth or self.closed or self.next_size() <= 16 * working_nodes:
                return
            totals.append(self.next_size())
        raise GraphTooLargeError.at_depth(depth, totals, max_nodes)

    def advance(self) -> None:
        """Unroll one more layer and merge all nodes that are now known to be equivalent."""
        frontier = self.layer(self.horizon)
        first = self.size
        block = first + np.arange(frontier.size * self.letters, dtype=np.int32)
        self._reserve(first + block.size)
        self.successors[frontier] = block.reshape(-1, self.letters)
        self.starts.append(first + block.size)
        self.horizon += 1
        # Trace each relation from the nodes from which it just reaches the horizon.
        depths = [(pair, self.horizon - max(map(len, pair))) for pair in self.pairs]
        least = self._merge_ends([(pair, self.layer(t)) for pair, t in depths if t >= 0])
        self._drop_dead(frontier, first)
        if self.size == first:
            least = min(least, self._close())
        self.shallowest_merge.append(least)

    def _reserve(self, size: int) -> None:
        have = len(self.parent)
        if size > have:
            grown = max(size, 2 * have)
            rows = np.full((grown - have, self.letters), -1, np.int32)
            self.successors = np.concatenate([self.successors, rows])
            self.parent = np.concatenate([self.parent, np.arange(have, grown, dtype=np.int32)])

    def _merge_ends(self, sources: list[tuple[Pair, Ids]]) -> int:
        """Trace both sides of each relation from its nodes and merge the ends, as `_merge`."""
        if not sources:
            return _NONE
        left = [self._trace(nodes, u) for (u, _), nodes in sources]
        right = [self._trace(nodes, v) for (_, v), nodes in sources]
        return self._merge(np.concatenate(left), np.concatenate(right))

    def _trace(self, nodes: Ids, word: Letters) -> Ids:
        for letter in word:
            nodes = self._find(self.successors[nodes, letter])
        return nodes

    def _find(self, nodes: Ids) -> Ids:
        while True:
            up = self.parent[nodes]
            if np.array_equal(up, nodes):
                return nodes
            nodes = up

    def _merge(self, left: Ids, right: Ids) -> int:
        """Merge pairs of nodes and then their successors; return the least depth of a lost node."""
        least = _NONE
        while left.size:
            left, right = self._find(left), self._find(right)
            differ = left != right
            if not differ.any():
                break
            lost, kept = _representatives(left[differ], right[differ])
            self.parent[lost] = kept
            least = min(least, int(np.searchsorted(self.starts, lost.min(), side="right")) - 1)
            expanded = self.successors[lost, 0] >= 0
            left = self.successors[lost[expanded]].ravel()
            right = self.successors[kept[expanded]].ravel()
        return least

    def _drop_dead(self, frontier: Ids, first: int) -> None:
        """Renumber the newest layer without the nodes that were merged into others."""
        frontier = self._live(frontier)
        ids = self._find(self.successors[frontier].ravel())
        live = self.layer(self.horizon)
        new = ids >= first
        ids[new] = first + np.searchsorted(live, ids[new])
        self.successors[frontier] = ids.reshape(-1, self.letters)
        self.parent[first : self.size] = np.arange(first, self.size)
        self.starts[-1] = first + live.size

    def _close(self) -> int:
        """Trace every relation from every node of a finite monoid until nothing changes."""
        least = _NONE
        while not self.closed:
            nodes = self._live(np.arange(self.size, dtype=np.int32))
            depth = self._merge_ends([(pair, nodes) for pair in self.pairs])
            least = min(least, depth)
            self.closed = depth == _NONE
        return least

    def extract(self, depth: int) -> tuple[Ids, Ids]:
        """Return depths (n,) and successors (n, k) of the live nodes up to a depth, renumbered."""
        layers = [self.layer(t) for t in range(min(depth, self.horizon) + 1)]
        live = np.concatenate(layers)
        depths = np.repeat(np.arange(len(layers), dtype=np.int32), [len(layer) for layer in layers])
        inner = live[depths < depth]
        rows = np.searchsorted(live, self._find(self.successors[inner].ravel()))
        successors = np.full((live.size, self.letters), -1, np.int32)
        successors[: inner.size] = rows.reshape(-1, self.letters)
        return depths, successors


def _representatives(left: Ids, right: Ids) -> tuple[Ids, Ids]:
    """Return the nodes that the pairs merge into others, and for each the node it becomes."""
    nodes, inverse = np.unique(np.concatenate([left, right]), return_inverse=True)
    _, labels = components(inverse[: left.size], inverse[left.size :], nodes.size)
    _, first = np.unique(labels, return_index=True)
    kept = nodes[first[labels]]
    lost = nodes != kept
    return nodes[lost], kept[lost]
