"""From the text of a prior to its policy, and to what the page shows of it."""

import time
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from easee.errors import ConvergenceError, GraphTooLargeError
from easee.flow.growth import growth, unused_notes
from easee.flow.objective import layer_entropies, layer_supports
from easee.graph import LocalGraph, deepest_that_fits, unroll
from easee.policy import ExplorationPolicy, balance
from easee.priors.rates import action_floors
from easee.studio.drawing import Layout, draw, lay_out
from easee.studio.limits import CONFIRM_NODES, MAX_DEPTH, MAX_NODES, checked_depth
from easee.studio.prior_text import read_prior
from easee.viz.symbols import symbol

Json = dict[str, Any]


@dataclass(frozen=True)
class Compiled:
    """A policy, the seconds that its graph and it took, and what to warn of."""

    policy: ExplorationPolicy
    seconds: tuple[float, float]
    warnings: tuple[str, ...]

    @cached_property
    def layout(self) -> Layout:
        """Where the nodes are drawn."""
        return lay_out(self.policy)


@lru_cache(maxsize=4)
def _built_graph(text: str, depth: int) -> tuple[LocalGraph, float]:
    """Return the graph of a prior and the seconds it took."""
    start = time.perf_counter()
    graph = unroll(read_prior(text), depth, max_nodes=MAX_NODES)
    return graph, time.perf_counter() - start


def compiled(text: str, depth: int) -> Compiled:
    """Return the policy of a prior; the last few are cached."""
    read_prior(text)
    return _compiled(text, checked_depth(depth))


@lru_cache(maxsize=4)
def _compiled(text: str, depth: int) -> Compiled:
    graph, build_seconds = _built_graph(text, depth)
    start = time.perf_counter()
    warnings = []
    try:
        policy = balance(graph)
    except ConvergenceError as error:  # its policy is a good one, with a larger gap
        policy = error.policy
        warnings.append(str(error))
    policy = replace(policy, floors=action_floors(read_prior(text)))
    warnings += unused_notes(graph, policy.never_taken)
    if not graph.stable:
        warnings.append(
            "the graph is not stable: words that the prior makes equal may be different nodes"
        )
    return Compiled(policy, (build_seconds, time.perf_counter() - start), tuple(warnings))


def compile_prior(text: str, depth: int, confirmed: bool = False) -> Json:
    """Return what the page shows of a policy; for a large graph only its size, until confirmed."""
    read_prior(text)
    try:
        graph, _ = _built_graph(text, checked_depth(depth))
    except GraphTooLargeError as error:
        return {"too_large": str(error), "fits": error.fits}
    if len(graph) > CONFIRM_NODES and not confirmed:
        return {"nodes": len(graph), "needs_confirmation": True, "sizes": graph.layer_sizes}
    found = compiled(text, depth)
    policy = found.policy
    actions = graph.actions
    return {
        "actions": list(actions),
        "symbols": [symbol(actions, name) for name in actions],
        "depth": graph.depth,
        "nodes": len(graph),
        "exact": graph.exact,
        "stable": graph.stable,
        "growth": growth(graph),
        "entropy": policy.entropy,
        "bound": policy.bound,
        "gap": policy.gap,
        "seconds": list(found.seconds),
        "rows": [list(row) for row in policy.rows()],
        "warnings": list(found.warnings),
        "layers": layers(policy),
        "drawing": draw(policy, found.layout),
    }


def layers(policy: ExplorationPolicy) -> list[Json]:
    """Return size, dead ends, entropy, its bound and evenness of each layer from 1 on."""
    graph = policy.graph
    entropies, bounds = layer_entropies(graph, policy.visits), np.log(layer_supports(graph))
    found = []
    for depth, size in enumerate(graph.layer_sizes[1:], start=1):
        visits = policy.visits[graph.depths == depth]
        found.append(
            {
                "depth": depth,
                "size": size,
                "dead_ends": int(graph.ends[graph.depths == depth].sum())
                if depth < graph.depth
                else None,
                "entropy": float(entropies[depth - 1]),
                "bound": float(bounds[depth - 1]),
                "evenness": float(visits.min() / visits.max()) if visits.any() else None,
            }
        )
    return found


def forecast(text: str) -> Json:
    """Return the sizes of all layers up to the largest depth that fits within the limits."""
    omega = read_prior(text)
    deepest = deepest_that_fits(omega, MAX_DEPTH, max_nodes=MAX_NODES)
    graph = unroll(omega, deepest, max_nodes=MAX_NODES)
    return {
        "deepest": deepest,
        "totals": np.cumsum(graph.layer_sizes).tolist(),
        "limited_by_nodes": deepest < MAX_DEPTH,
    }
