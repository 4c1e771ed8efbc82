"""The exploration policy: a table over the nodes of the graph, with its certificate.

`balance` computes it for a graph, `compile` for a prior and a depth.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from easee import policy_file
from easee._utils.arrays import Floats, Mask, ReadOnlyArrays
from easee._utils.checks import checked_array
from easee._utils.tables import html_pairs, text_pairs
from easee._utils.timing import timed
from easee.errors import ArgumentError, ArgumentTypeError, ConvergenceError
from easee.flow.arguments import without_small_weights
from easee.flow.gain import gain
from easee.flow.growth import growth, never_taken
from easee.flow.network import push
from easee.flow.objective import Objective, make_objective
from easee.flow.solve import optimal_shares, visiting_all
from easee.graph import LocalGraph, unroll
from easee.priors.equivalences import Equivalences
from easee.priors.rates import action_floors

if TYPE_CHECKING:
    from easee.viz.pictures import Picture

# Shares of the sum of all weights. A layer with weight w changes the objective by at most w log n,
# and the slope of a path by at most 745 w, since the logarithm of the smallest float is -745.
NEGLIGIBLE_WEIGHTS = (1e-14, 1e-12)


@dataclass(frozen=True, eq=False)
class ExplorationPolicy(ReadOnlyArrays):
    """Action probabilities for each node that visit all nodes as evenly as possible.

    Attributes:
        graph: the local-dynamics graph.
        probabilities: float (n, k), of each action at each node; 0 for pruned actions, and at
            nodes without a forward action (full depth, dead ends).
        visits: float (n,), probability that each node is reached.
        entropy: the objective J, the weighted mean of the entropies of the layers; with outcomes,
            of the states.
        bound: the objective of uniform layers (or states), an upper bound on `entropy`.
        gap: the duality gap: the optimum is at most `entropy + gap`.
        floors: float (k,), the least probability of each action that follows from relations that
            usually hold. Explorers take an action with its floor, and follow `probabilities` for
            the rest. The certificate is that of `probabilities`, on the merged graph.
        weights, interest, outcomes: what `balance` was given, as arrays, or None; `outcomes` is
            sparse. The certificate is for these, and it is checked again when a file is loaded.

    >>> policy = compile(Equivalences(["a", "b"], ["a b ~ b a"]), depth=2)
    >>> policy.visits.round(3)
    array([1.   , 0.5  , 0.5  , 0.333, 0.333, 0.333])
    >>> policy.probabilities[1].round(3)
    array([0.667, 0.333])
    """

    graph: LocalGraph
    probabilities: Floats
    visits: Floats
    entropy: float
    bound: float
    gap: float
    floors: Floats = None  # type: ignore[assignment]  # zeros by default
    weights: Floats | None = None
    interest: Mask | None = None
    outcomes: csr_array | None = None

    def __post_init__(self) -> None:
        floors = checked_floors(self.floors, len(self.graph.actions))
        object.__setattr__(self, "floors", floors)
        super().__post_init__()

    def __repr__(self) -> str:
        return (
            f"ExplorationPolicy(actions={self.graph.actions}, depth={self.graph.depth}, "
            f"nodes={len(self.graph)}, entropy={self.entropy:.6g}, bound={self.bound:.6g}, "
            f"gap={self.gap:.1e})"
        )

    def __str__(self) -> str:
        return text_pairs(self.rows())

    def _repr_html_(self) -> str:
        return html_pairs(self.rows())

    def rows(self) -> list[tuple[str, str]]:
        """Return names and values of what describes the policy, for tables."""
        graph = self.graph
        compared = gain(graph, self.visits)
        uniform = "" if compared is None else f", uniform actions {compared.uniform_entropy:.4f}"
        rows = [*graph.rows()[:3], ("growth", growth(graph))]
        rows.append(("entropy J", f"{self.entropy:.4f} of at most {self.bound:.4f}{uniform}"))
        if compared is not None:
            spread = f"{compared.policy:,.0f} nodes, not {compared.uniform:,.0f}"
            text = f"{compared.times:.2f} times uniform: visits spread over {spread}"
            rows.append(("gain", text))
        rows.append(("duality gap", f"{self.gap:.1e}"))
        if self.floors.any():
            floors = zip(graph.actions, self.floors.tolist(), strict=True)
            rows.append(("floors", ", ".join(f"{name} {p:.3g}" for name, p in floors if p)))
        if self.never_taken:
            rows.append(("never taken", ", ".join(self.never_taken)))
        return rows

    @property
    def never_taken(self) -> tuple[str, ...]:
        """The actions that are never taken, because the policy has no use for them, and no floor.

        >>> compile(Equivalences(["go", "wait"], ["wait ~"]), depth=3).never_taken
        ('wait',)
        """
        unused = never_taken(self.graph, self.visits, self.probabilities)
        floors = dict(zip(self.graph.actions, self.floors.tolist(), strict=True))
        return tuple(name for name in unused if not floors[name])

    def draw(self, path: str | os.PathLike[str] | None = None, *, pruned: bool = False) -> Picture:
        """Draw the policy on its graph; a notebook shows the picture.

        Args:
            path: an `.svg`, `.png` or `.pdf` file to write; by default none.
            pruned: whether to show pruned edges, dashed.

        Raises:
            MissingExtraError: matplotlib is not installed.
            ArgumentError: the graph is too large to draw.
        """
        from easee.viz.pictures import draw_policy  # lazy: pictures are above policies

        return draw_policy(self, path, pruned=pruned)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one `.npz` file atomically."""
        contents = [getattr(self, name) for name in policy_file.Contents._fields]
        policy_file.write(path, policy_file.Contents(*contents))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ExplorationPolicy:
        """Read a file written by `save`, and check all that it says, also its certificate.

        Raises:
            PolicyFileError: the file is missing, damaged, of a newer version, or not a policy.
        """
        return cls(**policy_file.read(path)._asdict())


def checked_floors(floors: ArrayLike | None, n_actions: int) -> Floats:
    """Return the least probability of each action, float (k,); zeros for None."""
    if floors is None:
        return np.zeros(n_actions)
    array = checked_array(floors, "floors", (n_actions,), "one for each action").copy()
    if array.sum() > 1.0:
        raise ArgumentError(
            f"expected floors that sum to at most 1, found {array.tolist()}, which sum to "
            f"{array.sum():g}: scale them down"
        )
    return array


def balance(
    graph: LocalGraph,
    *,
    weights: ArrayLike | None = None,
    interest: ArrayLike | None = None,
    outcomes: Any = None,
    tolerance: float = 1e-9,
) -> ExplorationPolicy:
    """Find the policy that visits the nodes of a graph as evenly as possible.

    The optimal visits are unique. Of the policies with these visits, the one of largest path
    entropy is returned, so that the result is unique and has every symmetry of the prior.

    With `outcomes` (the paper's stochastic case), a node is a distribution over states, and the
    policy maximises the entropy of the state, whose distribution is the mixture of those of the
    nodes. The optimal mixture of every step is unique; again the policy of largest path entropy is
    returned, with equal probabilities at nodes that it does not visit. Outcomes that never overlap
    within a step and are equally uncertain do not change the policy.

    Args:
        graph: the local-dynamics graph.
        weights: float (d,), non-negative weights of the entropies of layers 1 to d; scaled to
            sum 1. All equal by default, as in the paper.
        interest: bool (n,), the nodes whose visits count; by default all.
        outcomes: float (n, states), dense or scipy.sparse: row i is the distribution over states
            that the shortest words of node i lead to. Not together with `interest`.
        tolerance: the largest duality gap to accept.

    Raises:
        ConvergenceError: the gap is larger than `tolerance`. Its `policy` is the best one found.

    >>> graph = unroll(Equivalences(["a", "b"], ["a b ~ b a"]), depth=3)
    >>> policy = balance(graph, weights=[0, 0, 1])  # the last layer only
    >>> bool(policy.gap <= 1e-9), policy.visits[-4:].round(6)
    (True, array([0.25, 0.25, 0.25, 0.25]))

    Two of three actions lead to state 0, and the third to either state with equal probability:

    >>> graph = unroll(Equivalences(["a", "b", "c"]), depth=1)
    >>> policy = balance(graph, outcomes=[[1, 0], [1, 0], [1, 0], [0.5, 0.5]])
    >>> policy.probabilities[0].round(6), round(float(np.exp(policy.entropy)), 6)
    (array([0., 0., 1.]), 2.0)
    """
    if not isinstance(graph, LocalGraph):
        raise ArgumentTypeError(f"expected a LocalGraph, found {type(graph).__name__}")
    if not isinstance(tolerance, Real) or not float(tolerance) > 0:
        raise ArgumentError(f"expected a positive tolerance, found {tolerance!r}")
    with timed("build"):
        objective = make_objective(graph, weights=weights, interest=interest, outcomes=outcomes)
    shares = optimal_shares(graph, objective, tolerance)
    if weights is not None:
        shares = _without_small_weights(
            graph, objective, shares, weights, interest=interest, outcomes=outcomes,
            tolerance=tolerance,
        )  # fmt: skip
    with timed("certificate"):
        visits = push(objective.network, shares)
        probabilities = np.zeros(graph.successors.shape)
        probabilities[graph.forward] = shares
        # Rounding errors may exceed the bound by a little.
        entropy = min(objective.value(visits), objective.bound)
        gap = objective.certificate(visits)
    policy = ExplorationPolicy(
        graph,
        probabilities,
        visits,
        entropy,
        objective.bound,
        gap,
        weights=None if weights is None else np.array(weights, dtype=float),
        interest=None if interest is None else np.array(interest),
        outcomes=None if outcomes is None else csr_array(outcomes, dtype=float, copy=True),
    )
    if not gap <= tolerance:
        message = (
            f"expected a duality gap of at most {tolerance:.1e}, found {gap:.1e}: "
            "pass a larger tolerance, or use the `policy` of this error"
        )
        raise ConvergenceError(message, gap, tolerance, policy)
    return policy


def _without_small_weights(
    graph: LocalGraph,
    objective: Objective,
    shares: Floats,
    weights: ArrayLike,
    *,
    interest: ArrayLike | None,
    outcomes: Any,
    tolerance: float,
) -> Floats:
    """Return the given shares, or better ones if their gap is too large.

    Beside weights of very different sizes, the smallest spoil the arithmetic of the others.
    """
    tried = np.asarray(weights, dtype=float)
    for smallest in NEGLIGIBLE_WEIGHTS:
        if _gap(objective, shares) <= tolerance:
            break
        kept = without_small_weights(weights, smallest)
        if np.array_equal(kept, tried):
            continue
        tried = kept
        with suppress(ArgumentError):  # no node of interest has any weight left
            simpler = make_objective(graph, weights=kept, interest=interest, outcomes=outcomes)
            other = optimal_shares(graph, simpler, tolerance)
            shares = min(shares, other, key=partial(_gap, objective))
            if _gap(objective, shares) > tolerance:
                # Nodes without a weight may be unvisited, which costs too much with a small one.
                other = visiting_all(objective.network, other)
                shares = min(shares, other, key=partial(_gap, objective))
    return shares


def _gap(objective: Objective, shares: Floats) -> float:
    return objective.certificate(push(objective.network, shares))


def compile(
    equivalences: Equivalences,
    depth: int,
    *,
    weights: ArrayLike | None = None,
    tolerance: float = 1e-9,
) -> ExplorationPolicy:
    """Build the graph of a prior and balance it: `balance(unroll(equivalences, depth))`.

    Relations that usually hold are merged like exact ones. The actions that only they make equal to
    nothing get `floors`, see `easee.priors.rates`.

    Args:
        equivalences: the prior.
        depth: length of the longest words, at least 1.
        weights: float (d,), weights of the layers, as for `balance`.
        tolerance: the largest duality gap to accept.

    Raises:
        PriorError: the prior makes every action equivalent to the empty word.
        GraphTooLargeError: the graph does not fit in memory.
        ConvergenceError: the gap is larger than `tolerance`.

    >>> omega = Equivalences(["forward", "left", "right"], ["left right ~", "right left ~"])
    >>> compile(omega, depth=3).graph.layer_sizes
    (1, 3, 7, 17)
    """
    floors = action_floors(equivalences)
    try:
        policy = balance(unroll(equivalences, depth), weights=weights, tolerance=tolerance)
    except ConvergenceError as error:
        best = replace(error.policy, floors=floors)
        raise ConvergenceError(str(error), error.gap, error.tolerance, best) from None
    return replace(policy, floors=floors)
