"""The local-dynamics graph: the classes of equivalent words up to a depth (Section 3.2)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import Ids, Mask, ReadOnlyArrays
from easee._utils.checks import checked_count
from easee._utils.memory import free_memory
from easee._utils.tables import html_pairs, shortened, text_pairs
from easee._utils.timing import timed
from easee.errors import ArgumentError, ArgumentTypeError, GraphTooLargeError, PriorError
from easee.priors.equivalences import AnyWord, Equivalences, Word, word_indices
from easee.words.automaton import unroll_words
from easee.words.closure import close
from easee.words.presentation import known_pairs, rules_of

MOST_DEPTH = 100_000


@dataclass(frozen=True, eq=False)
class LocalGraph(ReadOnlyArrays):
    """A graph of classes of equivalent words, with an edge per action.

    Node 0 is the empty word. Nodes are numbered breadth first, actions in order, so that node
    numbers do not depend on the algorithm that built the graph.

    Attributes:
        actions: action names.
        depth: length of the longest words.
        depths: int (n,), the length of the shortest word of each node.
        successors: int (n, k), the node after an action; -1 at full depth, where it is unknown.
        exact: whether the nodes are proved to be the true classes. If not, some nodes may be
            equivalent, by a derivation through longer words than were examined.
        stable: whether examining longer words did not change the graph; True if `exact`. This is
            evidence that no equivalence is missed, and no proof.

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

    def __len__(self) -> int:
        return len(self.depths)

    def __repr__(self) -> str:
        return (
            f"LocalGraph(actions={self.actions}, depth={self.depth}, "
            f"layer_sizes={self.layer_sizes}, exact={self.exact})"
        )

    def __str__(self) -> str:
        return text_pairs(self.rows())

    def _repr_html_(self) -> str:
        return html_pairs(self.rows())

    def rows(self) -> list[tuple[str, str]]:
        """Return names and values of what describes the graph, for tables."""
        closure = "closure" + (", stable" if self.stable else ", NOT stable")
        return [
            ("actions", shortened(self.actions)),
            ("depth", f"{self.depth:,}"),
            ("nodes", f"{len(self):,} ({'exact' if self.exact else closure})"),
            ("layers", shortened([f"{size:,}" for size in self.layer_sizes])),
            ("forward edges", f"{int(self.forward.sum()):,}"),
        ]

    @cached_property
    def layer_sizes(self) -> tuple[int, ...]:
        """Number of nodes at each depth from 0 to `depth`."""
        return tuple(np.bincount(self.depths, minlength=self.depth + 1).tolist())

    @cached_property
    def forward(self) -> Mask:
        """Whether an action leads one layer deeper, bool (n, k); the others are pruned."""
        deeper: Mask = self.depths[self.successors] == self.depths[:, None] + 1
        deeper &= self.successors >= 0  # above, -1 stood for the last node
        deeper.setflags(write=False)
        return deeper

    @cached_property
    def ends(self) -> Mask:
        """Whether a node has no forward action, bool (n,), as at full depth and at dead ends."""
        ends: Mask = np.logical_not(self.forward.any(axis=1))
        ends.setflags(write=False)
        return ends

    @cached_property
    def _parents(self) -> NDArray[np.int64]:
        """Int (n,): the first edge that leads to each node, as node * k + action."""
        heads = self.successors.ravel()
        first = np.zeros(len(self), np.int64)
        edges = np.flatnonzero(heads >= 0)[::-1]
        first[heads[edges]] = edges  # the last assignment wins, hence the reversed order
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
        """Return the first of the shortest words of a node."""
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

    If completion terminates, the graph is exact. Otherwise bounded closure is used, which never
    merges words that are not equivalent but may miss equivalent ones; see `LocalGraph.exact` and
    `LocalGraph.stable`.

    Args:
        equivalences: the prior.
        depth: length of the longest words, at least 1.
        slack: number of layers that closure examines beyond `depth`; by default enough to apply
            every relation everywhere, and then until two more layers change nothing.
        max_nodes: largest number of nodes; by default what fits in half of the free memory.

    Raises:
        PriorError: the prior makes every action equivalent to the empty word.
        GraphTooLargeError: there are more than `max_nodes` nodes.

    >>> unroll(Equivalences(["a", "b"], ["a b ~ b a"]), depth=30).layer_sizes[-1]
    31
    """
    depth = checked_count(depth, "depth")
    if depth > MOST_DEPTH:
        raise ArgumentError(f"expected a depth of at most {MOST_DEPTH:,}, found {depth:,}")
    if not isinstance(equivalences, Equivalences):
        raise ArgumentTypeError(f"expected Equivalences, found {type(equivalences).__name__}")
    presentation = equivalences.indexed
    letters = presentation.letters
    if slack is not None:
        slack = checked_count(slack, "slack", least=0)
    if max_nodes is None:
        max_nodes = most_nodes(letters)
    else:
        max_nodes = checked_count(max_nodes, "max_nodes")
    with timed("completion"):
        rules = rules_of(presentation)
    exact = stable = True
    if rules.confluent:
        with timed("build"):
            depths, successors = unroll_words(letters, rules, depth, max_nodes)
    else:
        with timed("closure"):
            pairs = known_pairs(presentation)
            closure = close(letters, pairs, depth, slack=slack, max_nodes=max_nodes)
        depths, successors = closure.depths, closure.successors
        exact, stable = closure.exact, closure.stable
    if len(depths) == 1:
        raise PriorError(
            "the prior makes every action equivalent to nothing, so the graph has no edges: "
            "look for a wrong relation with an empty side"
        )
    with timed("build"):
        successors = _breadth_first(depths, successors)
    return LocalGraph(equivalences.actions, depth, depths, successors, exact, stable)


def most_nodes(n_actions: int) -> int:
    """Return the number of nodes of the largest graph that fits in half of the free memory."""
    # Successors, mask, probabilities and the solver's edge arrays.
    return min(free_memory() // 2 // (40 + 30 * n_actions), 2**31 - 1)


def deepest_that_fits(
    equivalences: Equivalences, depth: int, *, max_nodes: int | None = None
) -> int:
    """Return the largest depth, up to a given one, whose graph fits.

    Args:
        equivalences: the prior.
        depth: largest depth of interest.
        max_nodes: largest number of nodes; by default what fits in half of the free memory.

    Raises:
        GraphTooLargeError: no depth fits.

    >>> deepest_that_fits(Equivalences(["a", "b"]), 30, max_nodes=1000)
    8
    """
    while True:
        try:
            unroll(equivalences, depth, max_nodes=max_nodes)
        except GraphTooLargeError as error:
            if depth == 1:
                raise
            depth = min(error.fits or depth, depth - 1)
        else:
            return depth


def _breadth_first(depths: Ids, successors: Ids) -> Ids:
    """Renumber the nodes of each layer by their first edge, which makes the numbers unique."""
    bounds = np.searchsorted(depths, np.arange(depths[-1] + 2))
    layer = np.zeros(1, np.int64)
    layers = [layer]
    for start, stop in zip(bounds[1:-1], bounds[2:], strict=True):
        heads = successors[layer].ravel()
        heads = heads[(heads >= start) & (heads < stop)] - start
        first = np.full(stop - start, heads.size)
        first[heads[::-1]] = np.arange(heads.size)[::-1]
        layer = start + np.argsort(first, kind="stable")
        layers.append(layer)
    order = np.concatenate(layers)
    numbers = np.arange(len(depths), dtype=np.int32)
    if np.array_equal(order, numbers):
        return successors
    new = np.empty_like(numbers)
    new[order] = numbers
    ordered = successors[order]
    return np.where(ordered < 0, -1, new[ordered])
