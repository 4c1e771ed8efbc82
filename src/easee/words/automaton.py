"""Unrolling a confluent rewriting system, a whole layer at a time.

The nodes are the irreducible words. They are the paths of an automaton whose states are the proper
prefixes of the left-hand sides (as in Aho-Corasick string search), which also counts them without
building anything. Where `w.a` is reducible it ends in exactly one left-hand side, so its node is
found by going up from `w` and tracing the right-hand side through successors already known:
a few table look-ups an edge, never a rewriting of words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import Floats, sum_at
from easee.words.completion import Letters, Rules

Ids = NDArray[np.int32]


@dataclass(frozen=True)
class Automaton:
    """Recognises irreducible words.

    Attributes:
        next_state: int (s, k), the state after a letter, where that stays irreducible.
        rule: int (s, k), the index of the rule whose left-hand side the letter completes, or -1.
        rules: the rewriting system.
    """

    next_state: Ids
    rule: Ids
    rules: Rules

    def layer_sizes(self, depth: int, most: int = 2**62) -> list[int]:
        """Count the irreducible words of each length from 0 to `depth`.

        Counting stops with the layer at which there are more than `most` in all. Counts are exact
        below 2**53.

        >>> from easee.words.completion import complete
        >>> automaton(2, complete(2, [((0, 1), (1, 0))])).layer_sizes(4)
        [1, 2, 3, 4, 5]
        """
        count: Floats = np.zeros(len(self.next_state))
        count[0] = 1
        fresh = self.rule < 0
        sizes = [1]
        total = 1
        while len(sizes) <= depth and total <= most:
            arriving = np.broadcast_to(count[:, None], fresh.shape)[fresh]
            count = sum_at(self.next_state[fresh], arriving, len(count))
            sizes.append(int(count.sum()))
            total += sizes[-1]
        return sizes


def automaton(letters: int, rules: Rules) -> Automaton:
    """Build the automaton of the irreducible words of a reduced rewriting system."""
    lefts = {left: i for i, (left, _) in enumerate(rules.pairs)}
    prefixes = sorted({left[:n] for left in lefts for n in range(len(left))} | {()}, key=len)
    state = {prefix: i for i, prefix in enumerate(prefixes)}
    next_state = np.zeros((len(prefixes), letters), np.int32)
    rule = np.full((len(prefixes), letters), -1, np.int32)
    for prefix, i in state.items():
        for letter in range(letters):
            for suffix in _suffixes((*prefix, letter)):
                if suffix in lefts:
                    rule[i, letter] = lefts[suffix]
                    break
                if suffix in state:
                    next_state[i, letter] = state[suffix]
                    break
    return Automaton(next_state, rule, rules)


def _suffixes(word: Letters) -> Iterator[Letters]:
    return (word[n:] for n in range(len(word) + 1))


def unroll_words(machine: Automaton, depth: int) -> tuple[Ids, Ids]:
    """Build depths (n,) and successors (n, k) of all irreducible words up to a length.

    Nodes come in shortlex order of the rewriting system; successors at full depth are -1.
    """
    sizes = machine.layer_sizes(depth)
    total = sum(sizes)
    successors = np.full((total, machine.rule.shape[1]), -1, np.int32)
    parent = np.zeros(total, np.int32)
    state = np.zeros(total, np.min_scalar_type(len(machine.next_state)))
    start, stop = 0, 1
    for size in sizes[1:]:
        states = state[start:stop]
        rule = machine.rule[states]
        row, letter = np.nonzero(rule < 0)
        new = np.arange(stop, stop + size, dtype=np.int32)
        successors[start + row, letter] = new
        parent[new] = start + row
        state[new] = machine.next_state[states[row], letter]
        _fill_reducible(successors, parent, rule, start, machine.rules)
        start, stop = stop, stop + size
    depths = np.repeat(np.arange(depth + 1, dtype=np.int32), sizes)
    return depths, successors


def _fill_reducible(successors: Ids, parent: Ids, rule: Ids, start: int, rules: Rules) -> None:
    """Find the successors of one layer that are older words under another name."""
    row, letter = np.nonzero(rule >= 0)
    which = rule[row, letter]
    order = np.argsort(which, kind="stable")
    row, letter, which = row[order] + start, letter[order], which[order]
    while row.size:
        ends = np.full(row.size, -1, np.int32)
        used, first = np.unique(which, return_index=True)
        for r, i, j in zip(used, first, [*first[1:], row.size], strict=True):
            left, right = rules.pairs[r]
            ends[i:j] = _trace(successors, _ancestor(parent, row[i:j], len(left) - 1), right)
        found = ends >= 0
        successors[row[found], letter[found]] = ends[found]
        # A rule that keeps the length may lead through an edge of this same layer that is not
        # filled yet; that edge belongs to a smaller word, so every round fills some.
        row, letter, which = row[~found], letter[~found], which[~found]


def _ancestor(parent: Ids, nodes: NDArray[np.intp], generations: int) -> NDArray[np.integer]:
    up: NDArray[np.integer] = nodes
    for _ in range(generations):
        up = parent[up]
    return up


def _trace(successors: Ids, nodes: NDArray[np.integer], word: Letters) -> NDArray[np.integer]:
    """Follow a word; an unknown successor gives -1, and so does all that comes after it."""
    for letter in word:
        step = successors[nodes, letter]
        nodes = np.where(nodes < 0, -1, step)
    return nodes
