"""The local-dynamics graph: all words up to a depth, equivalent ones merged (Section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import freeze
from easee._utils.checks import checked_count
from easee._utils.memory import free_memory
from easee._utils.timing import timed
from easee.errors import ArgumentError, ArgumentTypeError, GraphTooLargeError, PriorError
from easee.priors.equivalences import AnyWord, Equivalences, Word, word_indices
from easee.words.automaton import automaton, unroll_words
from easee.words.closure import close
from easee.words.presentation import Presentation, known_pairs, rules_of

MOST_DEPTH = 100_000

Ids = NDArray[np.int32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LocalGraph:
    """Classes of equivalent words and where each action leads.

    Node 0 is the empty word. Nodes are numbered breadth first, actions in order, so that node
    numbers do not depend on how the graph was found.

    Attributes:
        actions: their names.
        depth: length of the longest words.
        depths: int (n,), the length of each node's shortest word.
        successors: int (n, k), the node after an action; -1 at full depth, where it is unknown.
        exact: whether nodes are proved to be the true classes. If not, two nodes may still be
            equivalent, by a derivation through words longer than were looked at.
        stable: whether looking further did not change the graph. True wherever `exact` is.

    >>> graph = unroll(Equivalences(["a", "b"], ["a a ~", "b a ~ a b"]), depth=2)
    >>> graph
    LocalGraph(actions=('a', 'b'), depth=2, layer_sizes=(1, 2, 2), exact=True)
    >>> graph.successors.tolist()
    [[1, 2], [0, 3], [3, 4], [-1, -1], [-1, -1]]
    >>> graph.node("b a"), graph.word(3)
    (3, ('a', 'b'))
    """

    actions: tuple[str, ...]
    depth: int
    depths: Ids
    successors: Ids
    exact: bool
    stable: bool = True

    def __post_init__(self) -> None:
        freeze(self, "depths", "successors")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        freeze(self, *state)

    def __len__(self) -> int:
        return len(self.depths)

    def __repr__(self) -> str:
        return (
            f"LocalGraph(actions={self.actions}, depth={self.depth}, "
            f"layer_sizes={self.layer_sizes}, exact={self.exact})"
        )

    @cached_property
    def layer_sizes(self) -> tuple[int, ...]:
        """Number of nodes at each depth from 0 to `depth`."""
        return tuple(np.bincount(self.depths, minlength=self.depth + 1).tolist())

    @cached_property
    def forward(self) -> Mask:
        """Bool (n, k): which actions lead one layer deeper. The others are pruned."""
        deeper: Mask = self.depths[self.successors] == self.depths[:, None] + 1
        deeper &= self.successors >= 0  # -1 picked the depth of the last node above
        deeper.setflags(write=False)
        return deeper

    @cached_property
    def ends(self) -> Mask:
        """Bool (n,): nodes without a forward action: those at full depth and the dead ends."""
        ends: Mask = np.logical_not(self.forward.any(axis=1))
        ends.setflags(write=False)
        return ends

    @cached_property
    def _parents(self) -> NDArray[np.int64]:
        """Int (n,): the first edge, as node * k + action, that leads to each node."""
        flat = self.successors.ravel()
        first = np.zeros(len(self), np.int64)
        known = np.flatnonzero(flat >= 0)[::-1]
        first[flat[known]] = known  # the last assignment stays, and that is the first edge
        return first

    @cached_property
    def _action_index(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.actions)}

    def node(self, word: AnyWord) -> int:
        """Return the node of a word of at most `depth` actions."""
        indices = word_indices(word, self._action_index)
        if len(indices) > self.depth:
            raise ArgumentError(
                f"expected a word of at most {self.depth} actions, the depth of the graph, "
                f"found {len(indices)}"
            )
        node = 0
        for action in indices:
            node = self.successors.item(node, action)
        return node

    def word(self, node: int) -> Word:
        """Return a node's first shortest word."""
        node = checked_count(node, "node", least=0)
        if node >= len(self):
            raise ArgumentError(f"expected a node from 0 to {len(self) - 1}, found {node}")
        names: list[str] = []
        while node:
            node, action = divmod(int(self._parents[node]), len(self.actions))
            names.append(self.actions[action])
        return tuple(reversed(names))


def unroll(
    equivalences: Equivalences,
    depth: int,
    *,
    slack: int | None = None,
    max_nodes: int | None = None,
) -> LocalGraph:
    """Build the local-dynamics graph of an equivalence set.

    Where completion ends the graph is exact. Elsewhere bounded closure is used: it never merges
    words that are not equivalent but may miss some, and the graph says so (`exact`, `stable`).

    Args:
        equivalences: the prior.
        depth: length of the longest words, at least 1.
        slack: for closure, how many layers to look beyond `depth`; by default as many as every
            relation needs, and until two more change nothing.
        max_nodes: refuse graphs with more nodes; by default what half of the free memory holds.

    Raises:
        PriorError: the prior makes every action equal to nothing.
        GraphTooLargeError: with the depth that would fit.

    >>> unroll(Equivalences(["a", "b"], ["a b ~ b a"]), depth=30).layer_sizes[-1]
    31
    """
    depth = checked_depth(depth)
    if not isinstance(equivalences, Equivalences):
        raise ArgumentTypeError(f"expected Equivalences, found {type(equivalences).__name__}")
    presentation = equivalences.indexed
    if slack is not None:
        slack = checked_count(slack, "slack", least=0)
    if max_nodes is None:
        most = _nodes_in_memory(presentation.letters)
    else:
        most = checked_count(max_nodes, "max_nodes")
    with timed("completion"):
        rules = rules_of(presentation)
    if rules.confluent:
        with timed("build"):
            depths, successors = _unroll_confluent(presentation, depth, most)
        exact = stable = True
    else:
        with timed("closure"):
            pairs = known_pairs(presentation)
            closed = close(presentation.letters, pairs, depth, slack=slack, max_nodes=most)
        depths, successors = closed.depths, closed.successors
        exact, stable = closed.exact, closed.stable
    if len(depths) == 1:
        raise PriorError(
            "the prior makes every action equal to nothing: there is nowhere to go. "
            "Look for a relation with an empty side that should not have one"
        )
    with timed("build"):
        depths, successors = _breadth_first(depths, successors)
    return LocalGraph(equivalences.actions, depth, depths, successors, exact, stable)


def checked_depth(depth: int) -> int:
    """Return a depth as an int, or say what is wrong with it."""
    value = checked_count(depth, "depth")
    if value > MOST_DEPTH:
        raise ArgumentError(f"expected a depth of at most {MOST_DEPTH:,}, found {value:,}")
    return value


def _nodes_in_memory(letters: int) -> int:
    """Estimate how many nodes half of the free memory holds, with their policy."""
    per_node = 40 + 30 * letters  # successors, mask, probabilities and the solver's edge arrays
    return min(free_memory() // 2 // per_node, 2**31 - 1)


def _unroll_confluent(presentation: Presentation, depth: int, most: int) -> tuple[Ids, Ids]:
    machine = automaton(presentation.letters, rules_of(presentation))
    sizes = machine.layer_sizes(depth, most)
    totals = list(accumulate(sizes))
    if totals[-1] > most:
        fits = len(totals) - 2
        raise GraphTooLargeError(
            f"depth {depth} does not fit: layer {fits + 1} alone has {sizes[-1]:,} nodes, and "
            f"memory holds about {most:,} in all; "
            + (f"depth {fits} fits ({totals[fits]:,} nodes)" if fits > 0 else "no depth fits")
        )
    return unroll_words(machine, depth)


def _breadth_first(depths: Ids, successors: Ids) -> tuple[Ids, Ids]:
    """Renumber nodes within each layer by their first edge, so that numbers are canonical."""
    bounds = np.searchsorted(depths, np.arange(depths[-1] + 2))
    new = np.zeros(len(depths), np.int32)
    order = np.zeros(1, np.int64)
    rows = [order]
    for start, stop in zip(bounds[1:-1], bounds[2:], strict=True):
        heads = successors[order].ravel()
        heads = heads[(heads >= start) & (heads < stop)] - start
        first = np.full(stop - start, heads.size)
        first[heads[::-1]] = np.arange(heads.size)[::-1]
        order = start + np.argsort(first, kind="stable")
        new[order] = np.arange(start, stop)
        rows.append(order)
    if all(np.array_equal(row, np.sort(row)) for row in rows):
        return depths, successors
    ordered = successors[np.concatenate(rows)]
    return depths, np.where(ordered < 0, -1, new[ordered])
