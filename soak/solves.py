"""Solves with random weights, nodes of interest and outcomes against an independent gap.

Weights over many orders of magnitude are the hard case, and the independent gap is slow, so each
graph is also balanced with some such weights for which convergence alone is checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import easee
from easee import LocalGraph, priors
from easee.errors import ArgumentError, ConvergenceError
from soak import presentations
from soak.attack import Attack, Case, Counts, Finding
from tests import oracles, state_oracles

READY_MADE = {
    "cardinal-grid": 8,
    "cardinal-right-left": 4,
    "rotation-grid": 4,
    "rotation-grid-complete": 8,
    "catcher": 12,
    "freeway": 5,
    "doorkey": 3,
}
MOST_NODES = 1500
LEAST, MOST = -8.0, 11.0  # decimal logarithms of extreme weights
MORE = 6  # extreme weights for which only convergence is checked


def draw(rng: np.random.Generator) -> Case:
    """Draw a graph, and what to maximise on it."""
    case: Case = {"seed": int(rng.integers(2**32))}  # of outcomes and interest, which are long
    if rng.random() < 0.3:
        case["prior"] = str(rng.choice(list(READY_MADE)))
        case["depth"] = int(rng.integers(1, READY_MADE[case["prior"]] + 1))
    else:
        case |= presentations.draw(rng, 1024)
        case["pairs"] = case["pairs"][:2]  # more leave small graphs
    case["kind"] = str(rng.choice(["nodes", "nodes", "interest", "outcomes"]))
    case["weights"] = _draw_weights(rng, case["depth"])
    return case


def _draw_weights(rng: np.random.Generator, depth: int) -> list[float] | None:
    kind = rng.choice(["none", "small integers", "magnitudes", "extreme", "extreme"])
    if kind == "none":
        return None
    if kind == "small integers":
        weights = rng.choice([0.0, 0.5, 1.0, 3.0], depth)
    else:
        least, most = (-3.0, 3.0) if kind == "magnitudes" else (LEAST, MOST)
        weights = 10.0 ** rng.uniform(least, most, depth)
        weights[rng.random(depth) < 0.1] = 0.0
    weights[-1] = weights[-1] or 1.0
    return [float(weight) for weight in weights]


def check(case: Case) -> Counts:
    """Balance a graph and check its certificate."""
    graph = _graph(case)
    if graph is None:
        return {"without a graph": 1}
    rng = np.random.default_rng(case["seed"])
    weights, kind = case["weights"], case["kind"]
    options: dict[str, Any] = {}
    if kind == "interest":
        options["interest"] = rng.random(len(graph)) < rng.choice([0.1, 0.5, 0.9])
    if kind == "outcomes":
        options["outcomes"] = _outcomes(graph, rng)
    try:
        policy = _balance(graph, weights, **options)
    except ArgumentError:
        if kind != "interest":  # the nodes of interest may have no weight
            raise
        return {"without interest": 1}
    if kind == "outcomes":
        state_oracles.assert_certified(policy, options["outcomes"], weights)
    else:
        oracles.assert_certified(policy, weights, options.get("interest"))
    for _ in range(MORE):
        _balance(graph, 10.0 ** rng.uniform(LEAST, MOST, graph.depth))
    return {f"with {kind}": 1, "with extreme weights": MORE}


def _balance(graph: LocalGraph, weights: Any, **options: Any) -> easee.ExplorationPolicy:
    try:
        return easee.balance(graph, weights=weights, **options)
    except ConvergenceError as error:
        raise Finding(f"balance did not converge: {error}") from None


def _graph(case: Case) -> LocalGraph | None:
    try:
        omega = priors.get(case["prior"]) if "prior" in case else presentations.equivalences(case)
        return easee.unroll(omega, case["depth"], max_nodes=MOST_NODES)
    except (easee.PriorError, easee.GraphTooLargeError):
        return None


def _outcomes(graph: LocalGraph, rng: np.random.Generator) -> Any:
    """Draw a distribution over a few states for every node, many of them equal."""
    states = int(rng.integers(1, 9))
    kinds = rng.choice([0, 0, 1, 2, 0.01], (int(rng.integers(1, 10)), states))
    kinds[~kinds.any(axis=1), 0] = 1.0
    rows = kinds[rng.integers(0, len(kinds), len(graph))]
    return rows / rows.sum(axis=1, keepdims=True)


ATTACK = Attack(
    "solves",
    "policies for random weights, interest and outcomes against an independent duality gap",
    draw,
    check,
    share=2.0,
)
