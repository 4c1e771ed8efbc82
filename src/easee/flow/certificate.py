"""The duality gap: a certificate of how far any policy is from the optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from easee._utils.arrays import Floats, dot
from easee.errors import ArgumentError, ArgumentTypeError
from easee.flow.network import Network, best_values, network, push
from easee.flow.objective import bound, node_weights
from easee.flow.outcomes import Mixture, mixture, refuse_interest
from easee.graph import LocalGraph


def objective(net: Network, visits: Floats) -> float:
    """Return J of a flow with these visits."""
    return 0.0 - float(np.sum(net.omega * visits * _log_density(net, visits)))


def gap(net: Network, visits: Floats) -> float:
    """Bound how far a flow with these visits is from the optimum. Infinite where p(v) = 0."""
    return linear_gap(net, marginal(net, visits), visits)


def linear_gap(net: Network, reward: Floats, visits: Floats) -> float:
    """Return the best path's sum of a reward less the flow's own average; inf if the reward is."""
    finite = np.isfinite(reward)
    if not finite.all():
        return float("inf")
    return max(0.0, float(best_values(net, reward)[0]) - dot(reward, visits))


def marginal(net: Network, visits: Floats) -> Floats:
    """Return dJ/dp for every node; infinite where a node that counts is never visited."""
    counts = net.omega > 0
    reward = np.zeros(net.n_nodes)
    with np.errstate(divide="ignore"):
        reward[counts] = -net.omega[counts] * (np.log((visits / net.sizes)[counts]) + 1.0)
    return reward


def _log_density(net: Network, visits: Floats) -> Floats:
    return np.log(np.where(visits > 0, visits / net.sizes, 1.0))


def duality_gap(
    graph: LocalGraph,
    probabilities: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    interest: ArrayLike | None = None,
    outcomes: Any = None,
) -> float:
    """Bound how far a policy is from the optimum, for any policy over forward actions.

    Args:
        graph: the local-dynamics graph.
        probabilities: float (n, k); rows of nodes that are reached sum to 1, and actions that are
            not forward have none.
        weights: as for `balance`.
        interest: as for `balance`.
        outcomes: as for `balance`.

    Returns:
        An upper bound on the optimal objective less that of the policy.

    >>> from easee.priors.equivalences import Equivalences
    >>> from easee.graph import unroll
    >>> graph = unroll(Equivalences(["a", "b"], ["a b ~ b a"]), depth=2)
    >>> even = graph.forward / 2  # a, ab, b: the middle one is visited twice as often
    >>> round(duality_gap(graph, even), 4)
    0.0294
    """
    if not isinstance(graph, LocalGraph):
        raise ArgumentTypeError(f"expected a LocalGraph, found {type(graph).__name__}")
    table = checked_probabilities(graph, probabilities)
    if outcomes is not None:
        refuse_interest(interest)
    net = network(graph, node_weights(graph, weights, interest))
    visits = push(net, table[graph.forward])
    if outcomes is not None:
        return mixed_certificate(net, mixture(graph, outcomes, weights), visits)
    return certificate(net, visits, bound(graph, weights, interest) - objective(net, visits))


def certificate(net: Network, visits: Floats, below_bound: float) -> float:
    """Return the smaller of two bounds on the distance from the optimum: linear, and uniform."""
    return max(0.0, min(gap(net, visits), below_bound))  # rounding may leave a hair below zero


def mixed_certificate(net: Network, mix: Mixture, visits: Floats) -> float:
    """Return the same for the entropy of a mixture of outcomes."""
    linear = linear_gap(net, mix.marginal(visits), visits)
    return max(0.0, min(linear, mix.bound - mix.objective(visits)))


def checked_probabilities(graph: LocalGraph, probabilities: ArrayLike) -> Floats:
    """Return probabilities as an array (n, k), or say why they are no policy on the graph."""
    try:
        table = np.asarray(probabilities, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentTypeError("expected probabilities as an array of numbers") from None
    if table.shape != graph.successors.shape:
        raise ArgumentError(
            f"expected probabilities of shape {graph.successors.shape} (nodes, actions), "
            f"found {table.shape}"
        )
    if not (table >= 0).all():
        raise ArgumentError("expected non-negative probabilities, found a negative one or NaN")
    if table[~graph.forward].any():
        raise ArgumentError(
            "expected probability 0 for every action that does not lead deeper, found some: "
            "set them to 0 where `graph.forward` is False and scale the rows to sum 1"
        )
    total = table.sum(axis=1)
    wrong = ~graph.ends & (np.abs(total - 1.0) > 1e-6)
    if wrong.any():
        wrong &= (total > 0) | _reached(graph, table)
    if wrong.any():
        node = int(np.flatnonzero(wrong)[0])
        raise ArgumentError(f"expected rows that sum to 1, found {total[node]:g} at node {node}")
    # What a row has too much would grow with every layer, and make a policy look better than it is.
    scaled: Floats = table / np.where(total > 0, total, 1.0)[:, None]
    return scaled


def _reached(graph: LocalGraph, probabilities: Floats) -> NDArray[np.bool_]:
    """Return which nodes a policy gets to, bool (n,)."""
    net = network(graph, np.zeros(len(graph)))
    reached: NDArray[np.bool_] = push(net, (probabilities > 0)[graph.forward].astype(float)) > 0
    return reached
