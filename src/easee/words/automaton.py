"""Unrolling of a confluent rewriting system, one layer at a time.

The nodes are the irreducible words. They are the paths of an automaton whose states are the proper
prefixes of the left-hand sides (as in Aho-Corasick string search), so they can be counted without
building the graph. A reducible word `w.a` with irreducible `w` ends in exactly one left-hand side:
its node is found by going up from `w` and following the right-hand side along known successors.
"""

from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import Ids, sum_at
from easee.errors import GraphTooLargeError
from easee.words.completion import Letters, Rules


def build_automaton(letters: int, rules: Rules) -> tuple[Ids, Ids]:
    """Return the automaton of the irreducible words of a reduced rewriting system.

    Returns:
        For each state and letter, int (s, k), the next state if the word stays irreducible; and the
        index of the rule whose left-hand side the letter completes, or -1.
    """
    rule_of = {left: i for i, (left, _) in enumerate(rules.pairs)}
    prefixes = sorted({left[:n] for left in rule_of for n in range(len(left))} | {()}, key=len)
    state_of = {prefix: i for i, prefix in enumerate(prefixes)}
    next_state = np.zeros((len(prefixes), letters), np.int32)
    rule = np.full((len(prefixes), letters), -1, np.int32)
    for prefix, state in state_of.items():
        for letter in range(letters):
            word = (*prefix, letter)
            for suffix in (word[n:] for n in range(len(word) + 1)):
                if suffix in rule_of:
                    rule[state, letter] = rule_of[suffix]
                    break
                if suffix in state_of:
                    next_state[state, letter] = state_of[suffix]
                    break
    return next_state, rule


def count_words(next_state: Ids, rule: Ids, depth: int, max_nodes: int) -> list[int]:
    """Count the irreducible words of each length from 0 to `depth`, exactly below 2**53.

    Counting stops after the layer that brings the total above `max_nodes`.

    >>> from easee.words.completion import complete
    >>> count_words(*build_automaton(2, complete(2, [((0, 1), (1, 0))])), 4, 100)
    [1, 2, 3, 4, 5]
    """
    count = np.zeros(len(next_state))
    count[0] = 1
    irreducible = rule < 0
    sizes, total = [1], 1
    while len(sizes) <= depth and total <= max_nodes:
        arriving = np.broadcast_to(count[:, None], rule.shape)[irreducible]
        count = sum_at(next_state[irreducible], arriving, len(count))
        sizes.append(int(count.sum()))
        total += sizes[-1]
    return sizes


def unroll_words(letters: int, rules: Rules, depth: int, max_nodes: int) -> tuple[Ids, Ids]:
    """Return depths (n,) and successors (n, k) of the irreducible words up to a length.

    Nodes are in shortlex order of the rewriting system; successors at full depth are -1.

    Raises:
        GraphTooLargeError: there are more than `max_nodes` words.
    """
    next_state, rule_of = build_automaton(letters, rules)
    sizes = count_words(next_state, rule_of, depth, max_nodes)
    total = sum(sizes)
    if total > max_nodes:
        raise GraphTooLargeError.at_depth(depth, list(accumulate(sizes)), max_nodes)
    successors = np.full((total, letters), -1, np.int32)
    parent = np.zeros(total, np.int32)
    state = np.zeros(total, np.min_scalar_type(len(next_state)))
    start, stop = 0, 1
    for size in sizes[1:]:
        states = state[start:stop]
        rule = rule_of[states]
        row, letter = np.nonzero(rule < 0)
        new = np.arange(stop, stop + size, dtype=np.int32)
        successors[start + row, letter] = new
        parent[new] = start + row
        state[new] = next_state[states[row], letter]
        _fill_reducible(successors, parent, rule, start, rules)
        start, stop = stop, stop + size
    return np.repeat(np.arange(depth + 1, dtype=np.int32), sizes), successors


def _fill_reducible(successors: Ids, parent: Ids, rule: Ids, start: int, rules: Rules) -> None:
    """Set the successors of the layer from node `start` whose words are reducible, in place."""
    row, letter = np.nonzero(rule >= 0)
    which = rule[row, letter]
    order = np.argsort(which, kind="stable")
    row, letter, which = row[order] + start, letter[order], which[order]
    while row.size:
        ends = np.full(row.size, -1, np.int32)
        used, first = np.unique(which, return_index=True)
        for r, i, j in zip(used, first, [*first[1:], row.size], strict=True):
            left, right = rules.pairs[r]
            nodes: NDArray[np.integer] = row[i:j]
            for _ in left[:-1]:
                nodes = parent[nodes]
            ends[i:j] = _trace(successors, nodes, right)
        known = ends >= 0
        successors[row[known], letter[known]] = ends[known]
        # A rule that keeps the length may lead through an edge of the same layer that is not set
        # yet. That edge belongs to a smaller word, so every round sets at least one.
        row, letter, which = row[~known], letter[~known], which[~known]


def _trace(successors: Ids, nodes: NDArray[np.integer], word: Letters) -> NDArray[np.integer]:
    """Return the nodes at the end of a word, -1 if an edge on the way is unknown."""
    for letter in word:
        nodes = np.where(nodes < 0, -1, successors[nodes, letter])
    return nodes
