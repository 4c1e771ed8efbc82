"""Random presentations against brute force, finite models and libsemigroups.

The graph must merge all words that a derivation within its depth joins, and only words that are
equal in every model of the relations. Models are sets of two or three states on which the actions
act such that both sides of every relation do the same.
"""

from __future__ import annotations

import itertools
import time

import numpy as np
from numpy.typing import NDArray

import easee
from easee import Equivalences, LocalGraph
from easee.words import closure
from easee.words.completion import Pair, Rules
from easee.words.presentation import Presentation, rules_of
from soak.attack import Attack, Case, Counts, expect
from tests import oracles

NAMES = "abcd"
MOST_WORDS = 800  # of the words that are compared
MOST_MODELS = 60
COMPLETION_SECONDS = 1.0  # processor time; the documented budget is a fraction of it
KNUTH_BENDIX_SECONDS = 0.2  # for libsemigroups

Word = tuple[int, ...]
Models = NDArray[np.int64]  # (models, letters, states), the state after an action


def draw(rng: np.random.Generator, most_words: int = MOST_WORDS) -> Case:
    """Draw a presentation, a depth with at most so many words of that length, and two words."""
    letters = int(rng.integers(1, 5))
    depth = int(rng.integers(1, 6))
    while letters**depth > most_words:
        depth -= 1
    longest = int(rng.choice([2, 3, 3, 4, 5]))
    pairs = [draw_pair(rng, letters, longest) for _ in range(rng.integers(1, 5))]
    words = [draw_word(rng, letters, 6) for _ in range(2)]
    return {"letters": letters, "pairs": pairs, "depth": depth, "words": words}


def draw_word(rng: np.random.Generator, letters: int, longest: int) -> str:
    """Draw a word as text, shorter ones more often."""
    length = int(rng.integers(0, longest + 1))
    return " ".join(NAMES[i] for i in rng.integers(0, letters, length))


def draw_pair(rng: np.random.Generator, letters: int, longest: int) -> list[str]:
    """Draw a relation: two random words, or a common kind of relation."""
    u, v = (draw_word(rng, letters, longest) for _ in range(2))
    kind = rng.choice(["words", "words", "words", "commute", "inverse", "power"])
    if kind == "commute":
        return [f"{u} {v}".strip(), f"{v} {u}".strip()]
    if kind == "inverse":
        return [f"{u} {v}".strip(), ""]
    if kind == "power":
        return [" ".join([u] * int(rng.integers(2, 4))).strip(), v if rng.random() < 0.3 else ""]
    return [u, v]


def equivalences(case: Case) -> Equivalences:
    """Return the prior of a case."""
    pairs = [tuple(pair) for pair in case["pairs"]]
    return Equivalences(list(NAMES[: case["letters"]]), pairs)


def check(case: Case) -> Counts:
    """Compare the graph of a presentation with the references."""
    omega = equivalences(case)
    letters, pairs = omega.indexed
    rules = _timed_completion(letters, pairs)
    counts = {"by completion" if rules.confluent else "by closure": 1}
    words = list(oracles.all_words(letters, case["depth"]))
    models = models_of(letters, pairs)
    try:
        graph = easee.unroll(omega, case["depth"], max_nodes=100_000)
    except easee.PriorError:
        _check_trivial(models)
        return {"without a graph": 1}
    oracles.check_invariants(graph)
    _check_graph(graph, pairs, words, models)
    counts["words"] = len(words)
    counts["models"] = len(models)
    if rules.confluent:
        length = 3 if letters > 2 else 4
        known = oracles.agrees_with_libsemigroups(omega, length, KNUTH_BENDIX_SECONDS)
        counts["with libsemigroups"] = int(known)
    counts |= _check_closure(letters, pairs, case["depth"], rules)
    _check_equivalent(omega, case["words"], models)
    return counts


def _timed_completion(letters: int, pairs: tuple[Pair, ...]) -> Rules:
    began = time.process_time()
    rules = rules_of(Presentation(letters, pairs))
    took = time.process_time() - began
    expect(took < COMPLETION_SECONDS, f"completion took {took:.1f} s of processor time")
    return rules


def models_of(letters: int, pairs: tuple[Pair, ...]) -> Models:
    """Return actions of the letters on three states that satisfy the relations, some if many."""
    maps = np.array(list(itertools.product(range(3), repeat=3)))
    rng = np.random.default_rng(0)
    if letters <= 3:
        chosen = np.array(list(itertools.product(range(len(maps)), repeat=letters)))
    else:
        chosen = rng.integers(0, len(maps), (20_000, letters))
    models: Models = maps[chosen]
    for u, v in pairs:
        models = models[(_act(models, u) == _act(models, v)).all(axis=1)]
    if len(models) > MOST_MODELS:
        models = models[rng.choice(len(models), MOST_MODELS, replace=False)]
    return models


def _act(models: Models, word: Word) -> NDArray[np.int64]:
    """Return the states that a word leads to, int (models, states)."""
    states = np.broadcast_to(np.arange(models.shape[2]), (len(models), models.shape[2]))
    for letter in word:
        states = np.take_along_axis(models[:, letter], states, axis=1)
    return states


def _check_graph(
    graph: LocalGraph, pairs: tuple[Pair, ...], words: list[Word], models: Models
) -> None:
    nodes = oracles.graph_classes(graph, graph.depth)
    derived = oracles.brute_force_classes(len(graph.actions), pairs, graph.depth)
    expect(oracles.refines(derived, nodes, words), "the graph misses a short derivation")
    if graph.exact and all(len(u) == len(v) for u, v in pairs):
        expect(oracles.refines(nodes, derived, words), "the graph merges words that differ")
    effects = {word: _act(models, word).tobytes() for word in words}
    expect(oracles.refines(nodes, effects, words), "the graph merges words that differ in a model")


def _check_closure(letters: int, pairs: tuple[Pair, ...], depth: int, rules: Rules) -> Counts:
    """Compare closure, called directly, with completion.

    A closure that is stable without being exact may miss an equivalence. That is counted.
    """
    if not rules.confluent or letters ** (depth + 6) > 20_000:
        return {}
    closed = closure.close(letters, pairs, depth)
    words = list(oracles.all_words(letters, depth))
    nodes = {word: closed.node(word) for word in words}
    normal = {word: rules.reduce(word) for word in words}
    expect(oracles.refines(nodes, normal, words), "closure merges words that differ")
    complete = oracles.refines(normal, nodes, words)
    expect(complete or not closed.exact, "closure says exact, but misses an equivalence")
    return {
        "stable closures": int(closed.stable),
        "of them incomplete": int(closed.stable and not complete),
    }


def _check_equivalent(omega: Equivalences, words: list[str], models: Models) -> None:
    u, v = words
    answer = omega.equivalent(u, v)
    same = bool((_act(models, omega.indices(u)) == _act(models, omega.indices(v))).all())
    expect(same or answer is not True, "equivalent says True for words that differ in a model")
    expect(omega.equivalent(v, u) == answer, "equivalent depends on the order of the words")
    for side, other in omega.pairs:
        expect(omega.equivalent(side, other) is True, "equivalent says no for a relation")
        longer = [*side, *u.split()], [*other, *u.split()]
        expect(omega.equivalent(*longer) is True, "equivalent says no for a longer relation")


def _check_trivial(models: Models) -> None:
    """Check that all actions do nothing if the library says so."""
    still = bool((models == np.arange(3)).all())
    expect(still, "unroll says that every action does nothing, but a model disagrees")


ATTACK = Attack(
    "presentations",
    "graphs of random presentations against brute force, finite models and libsemigroups",
    draw,
    check,
    share=3.0,
)
