"""The paper's solver, vectorised: CVXPY with Clarabel at its default settings."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from easee.flow.objective import NodeEntropy, make_objective
from easee.graph import LocalGraph


def balance(graph: LocalGraph) -> tuple[NDArray[np.float64], str]:
    """Return the probabilities (n, k) of the optimal flow, and the solver's status."""
    tails, actions = np.nonzero(graph.forward)
    heads = graph.successors[tails, actions]
    edges = np.arange(len(tails))
    ones = np.ones(len(tails))
    into = csr_array((ones, (heads, edges)), shape=(len(graph), len(tails)))[1:]
    out = csr_array((ones, (tails, edges)), shape=(len(graph), len(tails)))
    inner = np.flatnonzero(~graph.ends)
    flow = cp.Variable(len(tails), nonneg=True)
    visits = into @ flow
    weighted = make_objective(graph)
    assert isinstance(weighted, NodeEntropy)
    objective = cp.Maximize(weighted.omega[1:] @ cp.entr(visits))
    constraints = [out[:1] @ flow == 1, out[inner[1:]] @ flow == visits[inner[1:] - 1]]
    problem = cp.Problem(objective, constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "solution may be inaccurate", which the status shows too
        problem.solve(solver=cp.CLARABEL)
    if flow.value is None:
        raise RuntimeError(f"Clarabel: {problem.status}")
    return _as_policy(graph, tails, actions, flow.value), str(problem.status)


def _as_policy(
    graph: LocalGraph,
    tails: NDArray[np.int64],
    actions: NDArray[np.int64],
    flow: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return a policy for an almost feasible flow: no negative flows, rows that sum to 1."""
    table = np.zeros(graph.successors.shape)
    table[tails, actions] = np.maximum(flow, 1e-300)
    total = table.sum(axis=1, keepdims=True)
    np.divide(table, total, out=table, where=total > 0)
    return table
