"""Slow, simple implementations of the flow problem with outcomes."""

import numpy as np
import pytest

import easee
from tests.oracles import step_distributions


def scaled(graph, weights):
    weights = np.ones(graph.depth) if weights is None else np.asarray(weights, float)
    return weights / weights.sum()


def plain_mixtures(graph, table, outcomes):
    return [outcomes.T @ p for p in step_distributions(graph, table)]


def plain_entropy(graph, table, outcomes, weights=None):
    total = 0.0
    for w, q in zip(scaled(graph, weights), plain_mixtures(graph, table, outcomes), strict=True):
        total -= w * float(q[q > 0] @ np.log(q[q > 0]))
    return total


def plain_gap(graph, table, outcomes, weights=None):
    """Compute the gap from its definition, with gradients summed over the steps of each node."""
    reward, average = np.zeros(len(graph)), 0.0
    mixtures = plain_mixtures(graph, table, outcomes)
    distributions = step_distributions(graph, table)
    for t, (w, p, q) in enumerate(
        zip(scaled(graph, weights), distributions, mixtures, strict=True), start=1
    ):
        if w == 0:
            continue
        holds = (graph.depths == t) | (graph.ends & (graph.depths < t))
        for node in np.flatnonzero(holds).tolist():
            states = np.flatnonzero(outcomes[node])
            gain = w * float(outcomes[node, states] @ (-np.log(q[states]) - 1))
            reward[node] += gain
            average += p[node] * gain
    best = np.zeros(len(graph))
    for node in reversed(range(len(graph))):
        heads = graph.successors[node][graph.forward[node]]
        if heads.size:
            best[node] = max(reward[h] + best[h] for h in heads.tolist())
    return best[0] - average


def plain_bound(graph, outcomes, weights=None):
    total = 0.0
    for t, w in enumerate(scaled(graph, weights), start=1):
        holds = (graph.depths == t) | (graph.ends & (graph.depths < t))
        total += w * np.log((outcomes[holds] > 0).any(axis=0).sum())
    return total


def assert_certified(policy, outcomes, weights=None, tolerance=1e-9):
    graph, table = policy.graph, policy.probabilities
    assert (table >= 0).all() and not table[~graph.forward].any()
    np.testing.assert_allclose(table[~graph.ends].sum(axis=1), 1.0, atol=1e-12)
    reached = np.eye(1, len(graph))[0]
    for p in step_distributions(graph, table):
        reached = np.where(p > 0, p, reached)
    np.testing.assert_allclose(policy.visits, reached, rtol=1e-8, atol=1e-14)
    assert policy.entropy == pytest.approx(plain_entropy(graph, table, outcomes, weights), abs=1e-9)
    assert policy.bound == pytest.approx(plain_bound(graph, outcomes, weights), abs=1e-12)
    assert policy.entropy <= policy.bound + 1e-9
    assert policy.gap <= tolerance
    assert plain_gap(graph, table, outcomes, weights) <= tolerance + 1e-12
    assert easee.duality_gap(graph, table, weights=weights, outcomes=outcomes) <= tolerance
