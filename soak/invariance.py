"""Presentations written in another way: the graph and the policy must be the same.

Actions are renamed and reordered, relations reordered, their sides swapped, and relations added
that follow from the others.
"""

from __future__ import annotations

import numpy as np

import easee
from easee import Equivalences, ExplorationPolicy, LocalGraph
from soak import presentations
from soak.attack import Attack, Case, Counts, expect
from soak.presentations import NAMES, Word
from tests import oracles

AGREEMENT = 1e-6  # of visits: the optimum is unique, but each policy has its own rounding errors
MOST_NODES = 3000


def draw(rng: np.random.Generator) -> Case:
    """Draw a presentation and another way to write it."""
    case = presentations.draw(rng)
    letters, pairs = case["letters"], case["pairs"]
    order = rng.permutation(letters).tolist()
    implied = [_implied(rng, letters, pairs) for _ in range(rng.integers(0, 3))]
    other = [_swapped(pair) if rng.random() < 0.5 else pair for pair in [*pairs, *implied]]
    rng.shuffle(other)
    names = [f"x{i}" for i in rng.permutation(letters)]
    return {**case, "order": order, "names": names, "other": other}


def _swapped(pair: list[str]) -> list[str]:
    return pair[::-1]


def _implied(rng: np.random.Generator, letters: int, pairs: list[list[str]]) -> list[str]:
    """Return a relation that one relation implies, between two words around it."""
    left, right = pairs[rng.integers(len(pairs))]
    before, after = (presentations.draw_word(rng, letters, 2) for _ in range(2))
    return [" ".join(f"{before} {side} {after}".split()) for side in (left, right)]


def check(case: Case) -> Counts:
    """Compare both graphs and their policies."""
    first = presentations.equivalences(case)
    second = _rewritten(case)
    graphs = [_graph(omega, case["depth"]) for omega in (first, second)]
    one, two = graphs
    if one is None or two is None:
        bounded = any(graph is not None and not graph.exact for graph in graphs)
        expect(bounded or one is two, "only one of two equal priors has a graph")
        return {"without a graph": 1}
    if not (one.exact and two.exact):
        return {"not exact": 1}
    nodes = _matching_nodes(one, two, case["order"])
    if len(one) > MOST_NODES:
        return {"graphs": 1}
    _compare(easee.balance(one), easee.balance(two), nodes)
    return {"graphs": 1, "policies": 1}


def _rewritten(case: Case) -> Equivalences:
    """Return the prior with other names, in another order."""
    new = dict(zip(NAMES, case["names"], strict=False))
    actions = [case["names"][i] for i in case["order"]]
    pairs = [tuple(" ".join(new[a] for a in side.split()) for side in p) for p in case["other"]]
    return Equivalences(actions, pairs)


def _graph(omega: Equivalences, depth: int) -> LocalGraph | None:
    try:
        return easee.unroll(omega, depth, max_nodes=100_000)
    except easee.PriorError:
        return None


def _matching_nodes(one: LocalGraph, two: LocalGraph, order: list[int]) -> list[int]:
    """Check that both graphs have the same classes; return the node of each in the other."""
    expect(one.layer_sizes == two.layer_sizes, "equal priors have layers of different sizes")
    place = {letter: i for i, letter in enumerate(order)}
    nodes = oracles.graph_classes(one, one.depth)
    others = oracles.graph_classes(two, two.depth)
    match: dict[int, int] = {}
    for word, node in nodes.items():
        other = others[_translated(word, place)]
        expect(match.setdefault(node, other) == other, "equal priors have different classes")
    return [match[node] for node in range(len(one))]


def _translated(word: Word, place: dict[int, int]) -> Word:
    return tuple(place[letter] for letter in word)


def _compare(one: ExplorationPolicy, two: ExplorationPolicy, nodes: list[int]) -> None:
    difference = float(np.abs(one.visits - two.visits[nodes]).max())
    expect(difference < AGREEMENT, f"equal priors have visits that differ by {difference:.1e}")
    differs = abs(one.entropy - two.entropy)
    expect(differs < 1e-8, f"equal priors have entropies that differ by {differs:.1e}")


ATTACK = Attack(
    "invariance",
    "graphs and policies of presentations that are renamed, reordered, swapped and extended",
    draw,
    check,
    share=1.5,
)
