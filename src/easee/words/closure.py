"""Bounded closure: the quotient of short words when completion does not end.

The words are unrolled layer by layer. As soon as the horizon is far enough from a node, both sides
of each relation are traced from it and the two ends are merged; a merge joins the successors of
the two nodes, which may merge more. This is sound: only equivalent words are ever merged. It may
miss equivalences whose every derivation passes through words longer than the horizon, so the
horizon goes some layers (the *slack*) beyond the depth that is wanted.

It is Todd-Coxeter enumeration with a horizon, whole layers at a time.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from easee.errors import GraphTooLargeError
from easee.words.completion import Letters, Pair

Ids = NDArray[np.int32]

PATIENCE = 2  # layers in a row that must change nothing before the answer is believed
MOST_SLACK = 12  # layers beyond those that every relation needs
SPARE = 200_000  # nodes that slack may make, or eight times those that are wanted


@dataclass(frozen=True)
class Closure:
    """The classes of words up to a depth that the relations were seen to join.

    Attributes:
        depths: int (n,), the length of each class's shortest word.
        successors: int (n, k), the class of word + letter; -1 at full depth.
        slack: how many layers beyond the depth were unrolled.
        stable: whether every relation was traced from every node, and the last layers of slack
            changed nothing.
        exact: whether this is proved to be the true quotient: every relation has sides of equal
            length, or the enumeration closed (a finite monoid).
    """

    depths: Ids
    successors: Ids
    slack: int
    stable: bool
    exact: bool


def close(
    letters: int,
    pairs: tuple[Pair, ...],
    depth: int,
    *,
    slack: int | None = None,
    max_nodes: int = 2**31 - 1,
) -> Closure:
    """Merge equivalent words of length up to `depth`.

    Args:
        letters: how many letters there are.
        pairs: the relations.
        depth: length of the longest word of interest.
        slack: layers beyond it to unroll; by default as many as it takes to trace every relation
            from every node, and then until two more change nothing.
        max_nodes: most nodes to return.

    Raises:
        GraphTooLargeError: when the first `depth` layers have more than `max_nodes`.

    >>> close(1, (((0, 0, 0), ()),), 5).depths.tolist()  # a cycle of three
    [0, 1, 2]
    """
    table = _Table(letters, pairs)
    homogeneous = all(len(u) == len(v) for u, v in pairs)
    room = max(max_nodes, SPARE)  # to work in: nodes may still merge
    while table.horizon < depth and not table.closed:
        table.check_room(depth, room, max_nodes)
        table.advance()
    table.check_room(depth, room, max_nodes)
    spare = max(SPARE, 8 * table.size)
    if slack is not None:
        last = depth + slack
    else:
        last = depth if homogeneous else depth + table.reach + MOST_SLACK
    while table.horizon < last and not table.closed and table.next_size() <= spare:
        if slack is None and table.quiet_since(depth) >= PATIENCE:
            break
        table.advance()
    table.check_room(depth, max_nodes, max_nodes)
    exact = table.closed or homogeneous
    stable = exact or table.quiet_since(depth) > 0
    return Closure(
        *table.extract(depth), slack=max(0, table.horizon - depth), stable=stable, exact=exact
    )


class _Table:
    """The unrolled classes and a union-find over them.

    Ids are given out layer by layer, so of two merged nodes the one with the smaller id is never
    the deeper one: it survives. Every live node above the horizon has all its successors.
    """

    def __init__(self, letters: int, pairs: tuple[Pair, ...]) -> None:
        self.letters = letters
        self.pairs = pairs
        self.reach = max((len(word) for pair in pairs for word in pair), default=0)
        self.horizon = 0
        self.closed = False
        self.starts = [0, 1]  # layer t has the ids from starts[t] up to starts[t + 1]
        self.successors = np.full((64, letters), -1, np.int32)
        self.parent = np.arange(64, dtype=np.int32)
        self.shallowest_merge: list[int] = [0]  # for each horizon, the least depth that changed

    @property
    def size(self) -> int:
        return self.starts[-1]

    def layer(self, depth: int) -> Ids:
        """Return the live nodes of a layer."""
        ids = np.arange(self.starts[depth], self.starts[depth + 1], dtype=np.int32)
        live: Ids = ids[self.parent[ids] == ids]
        return live

    def quiet_since(self, depth: int) -> int:
        """Count the last horizons that merged nothing at or above a depth.

        Only those count at which every relation had been traced from every node of that depth.
        """
        beyond = self.shallowest_merge[depth + self.reach :]
        return next((i for i, least in enumerate(reversed(beyond)) if least <= depth), len(beyond))

    def next_size(self) -> int:
        """Return how many nodes there would be with one more layer, before merging."""
        return self.size + len(self.layer(self.horizon)) * self.letters

    def check_room(self, depth: int, room: int, max_nodes: int) -> None:
        """Raise when there are more nodes than room, or the next layer could not even be merged.

        Args:
            depth: what is wanted.
            room: how many nodes up to this depth there may be now.
            max_nodes: how many may be left.
        """
        totals = [len(self.layer(t)) for t in range(min(depth, self.horizon) + 1)]
        totals = np.cumsum(totals).tolist()
        if totals[-1] <= room:
            if self.horizon >= depth or self.closed or self.next_size() <= 16 * room:
                return
            totals.append(self.next_size())
        fits = bisect_right(totals, max_nodes) - 1
        raise GraphTooLargeError(
            f"depth {depth} does not fit: up to layer {fits + 1} there are {totals[fits + 1]:,} "
            f"nodes, and memory holds about {max_nodes:,}; "
            + (f"depth {fits} fits ({totals[fits]:,} nodes)" if fits > 0 else "no depth fits")
        )

    def advance(self) -> None:
        """Unroll one more layer and merge all that is now known to be equal."""
        frontier = self.layer(self.horizon)
        first = self.size
        block = first + np.arange(frontier.size * self.letters, dtype=np.int32)
        self._reserve(first + block.size)
        self.successors[frontier] = block.reshape(-1, self.letters)
        self.starts.append(first + block.size)
        self.horizon += 1
        least = self._merge(*self._ends(self._sources_at_horizon()))
        self._forget_dead(frontier, first)
        if self.size == first:
            least = min(least, self._close())
        self.shallowest_merge.append(least)

    def _reserve(self, size: int) -> None:
        have = len(self.parent)
        if size > have:
            grown = max(size, 2 * have)
            more = np.full((grown - have, self.letters), -1, np.int32)
            self.successors = np.concatenate([self.successors, more])
            self.parent = np.concatenate([self.parent, np.arange(have, grown, dtype=np.int32)])

    def _sources_at_horizon(self) -> list[tuple[Pair, Ids]]:
        """For each relation, the nodes whose distance to the horizon is just its length."""
        gaps = [(pair, self.horizon - max(map(len, pair))) for pair in self.pairs]
        return [(pair, self.layer(gap)) for pair, gap in gaps if gap >= 0]

    def _ends(self, sources: list[tuple[Pair, Ids]]) -> tuple[Ids, Ids]:
        none = np.empty(0, np.int32)
        left = [self._trace(nodes, u) for (u, _), nodes in sources]
        right = [self._trace(nodes, v) for (_, v), nodes in sources]
        return np.concatenate([none, *left]), np.concatenate([none, *right])

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
        """Make pairs equal, and then their successors; return the least depth of a lost node."""
        least = 2**31
        while left.size:
            left, right = self._find(left), self._find(right)
            differ = left != right
            if not differ.any():
                break
            lost, kept = _components(left[differ], right[differ])
            self.parent[lost] = kept
            least = min(least, int(np.searchsorted(self.starts, lost.min(), side="right")) - 1)
            expanded = self.successors[lost, 0] >= 0
            left = self.successors[lost[expanded]].ravel()
            right = self.successors[kept[expanded]].ravel()
        return least

    def _forget_dead(self, frontier: Ids, first: int) -> None:
        """Renumber the newest layer without the nodes that were merged away."""
        frontier = frontier[self.parent[frontier] == frontier]
        ids = self._find(self.successors[frontier].ravel())
        live = np.arange(first, self.size, dtype=np.int32)
        live = live[self.parent[live] == live]
        fresh = ids >= first
        ids[fresh] = first + np.searchsorted(live, ids[fresh])
        self.successors[frontier] = ids.reshape(-1, self.letters)
        self.parent[first : self.size] = np.arange(first, self.size)
        self.starts[-1] = first + live.size

    def _close(self) -> int:
        """Nothing new was found: the monoid is finite. Trace every relation from every node."""
        least = 2**31
        while True:
            nodes = np.arange(self.size, dtype=np.int32)
            nodes = nodes[self.parent[nodes] == nodes]
            lost = self._merge(*self._ends([(pair, nodes) for pair in self.pairs]))
            least = min(least, lost)
            if lost == 2**31:
                self.closed = True
                return least

    def extract(self, depth: int) -> tuple[Ids, Ids]:
        """Return depths and successors of the live nodes up to a depth, renumbered."""
        layers = [self.layer(t) for t in range(min(depth, self.horizon) + 1)]
        live = np.concatenate(layers)
        depths = np.repeat(np.arange(len(layers), dtype=np.int32), [len(x) for x in layers])
        inner = live[depths < depth]
        rows = np.searchsorted(live, self._find(self.successors[inner].ravel()))
        successors = np.full((live.size, self.letters), -1, np.int32)
        successors[: inner.size] = rows.reshape(-1, self.letters)
        return depths, successors


def _components(left: Ids, right: Ids) -> tuple[Ids, Ids]:
    """Return the nodes that the pairs make superfluous, and for each the one that stays."""
    nodes, inverse = np.unique(np.concatenate([left, right]), return_inverse=True)
    ones = np.ones(left.size, np.int8)
    links = coo_array((ones, (inverse[: left.size], inverse[left.size :])), shape=(nodes.size,) * 2)
    _, labels = connected_components(links, directed=False)
    _, first = np.unique(labels, return_index=True)
    kept = nodes[first[labels]]
    lost = nodes != kept
    return nodes[lost], kept[lost]
