"""The duality gap: a certificate of how far any policy is from the optimum."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from easee._utils.arrays import Floats
from easee._utils.checks import checked_array
from easee.errors import ArgumentError, ArgumentTypeError
from easee.flow.network import network, push
from easee.flow.objective import make_objective
from easee.graph import LocalGraph


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
        probabilities: float (n, k), of each action at each node; 0 for actions that are not
            forward. Rows of nodes that are reached sum to 1.
        weights: as for `balance`.
        interest: as for `balance`.
        outcomes: as for `balance`.

    Returns:
        An upper bound on the optimal objective minus that of the policy.

    >>> from easee.priors.equivalences import Equivalences
    >>> from easee.graph import unroll
    >>> graph = unroll(Equivalences(["a", "b"], ["a b ~ b a"]), depth=2)
    >>> even = graph.forward / 2  # a a, a b, b b: the middle one is visited twice as often
    >>> round(duality_gap(graph, even), 4)
    0.0294
    """
    if not isinstance(graph, LocalGraph):
        raise ArgumentTypeError(f"expected a LocalGraph, found {type(graph).__name__}")
    table = checked_probabilities(graph, probabilities)
    objective = make_objective(graph, weights=weights, interest=interest, outcomes=outcomes)
    return objective.certificate(push(objective.network, table[graph.forward]))


def checked_probabilities(graph: LocalGraph, probabilities: ArrayLike) -> Floats:
    """Return the probabilities of a policy on a graph as an array (n, k) whose rows sum to 1.

    Raises:
        ArgumentError: the shape is wrong, an entry is negative, or a row does not sum to 1.
    """
    shape = graph.successors.shape
    table = checked_array(probabilities, "probabilities", shape, "nodes by actions")
    if table[~graph.forward].any():
        raise ArgumentError(
            "expected probability 0 for every action that does not lead deeper, found some: "
            "set them to 0 where `graph.forward` is False and scale the rows to sum 1"
        )
    total = table.sum(axis=1)
    wrong = ~graph.ends & (np.abs(total - 1.0) > 1e-6)
    if wrong.any():
        reached = push(network(graph), (table > 0)[graph.forward].astype(float)) > 0
        wrong &= (total > 0) | reached
    if wrong.any():
        node = int(np.flatnonzero(wrong)[0])
        raise ArgumentError(f"expected rows that sum to 1, found {total[node]:g} at node {node}")
    # An excess in a row would be multiplied at every layer and make the policy look better.
    return table / np.where(total > 0, total, 1.0)[:, None]
