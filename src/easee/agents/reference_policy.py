"""Exploration policies as the reference of a policy gradient agent.

A policy gradient agent with a reference has the action probabilities

    pi(a | s, node)  proportional to  exp(network(s)[a]) * reference(a | node)

and its entropy bonus is -KL(pi || reference). With a uniform reference, it is the plain agent.
"""

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from easee._utils.arrays import Floats
from easee._utils.checks import checked_share
from easee.agents.compat import explorer_type_error, fit_explorer
from easee.explorers.baselines import UniformExplorer
from easee.explorers.easee import Explorer
from easee.explorers.sampling import Mask
from easee.policy import ExplorationPolicy
from easee.policy_text import AnyPolicy, read_policy

ReferenceExplorer = Explorer | UniformExplorer
Reference = AnyPolicy | ReferenceExplorer

FLOOR = 0.1
IMPOSSIBLE = -1e8  # instead of log 0, as in sb3-contrib: finite, and its softmax is 0
EXPECTED = (
    "an ExplorationPolicy, a string such as 'doorkey:6', an easee.Explorer or an "
    "easee.UniformExplorer"
)


def fit_reference(
    reference: Reference,
    floor: float = FLOOR,
    *,
    n_envs: int,
    n_actions: int,
    names: Sequence[str] | None = None,
    seed: int | None = None,
) -> ReferenceExplorer:
    """Return the explorer that follows a reference policy in some environments.

    Args:
        reference: a policy or its string, to which the floor is added, or an explorer, which has
            its own floor.
        floor: weight of the uniform policy, from 0 to 1, mixed into the policy and its own floors.
        n_envs: number of environments.
        n_actions: number of their actions.
        names: names of their actions, if they have any.
        seed: of the explorer's generator.

    Raises:
        ArgumentError: the actions, their names (if any) or the number of environments differ.
        PolicyFileError: the file is not a policy.

    >>> from easee.priors.builders import inverse
    >>> from easee.policy import compile
    >>> policy = compile(inverse("left", "right"), depth=4)
    >>> explorer = fit_reference(policy, 0.2, n_envs=2, n_actions=2)
    >>> explorer.step([0, 1])
    >>> explorer.probabilities()
    array([[0.9, 0.1],
           [0.1, 0.9]])
    """
    checked_share(floor, "reference_floor")
    policy = read_reference(reference)
    if isinstance(policy, ExplorationPolicy):
        policy = Explorer(policy, n_envs, seed, mixed_floors(policy, floor))
    fitted = fit_explorer(policy, n_envs=n_envs, n_actions=n_actions, names=names)
    assert isinstance(fitted, Explorer | UniformExplorer)
    return fitted


def mixed_floors(policy: ExplorationPolicy, floor: float) -> Floats:
    """Return the floors of a policy with the uniform policy mixed in, by a weight from 0 to 1."""
    share = checked_share(floor, "reference_floor")
    mixed = (1.0 - share) * policy.floors + share / len(policy.graph.actions)
    return mixed if mixed.sum() <= 1.0 else mixed * (1.0 - 1e-12)  # by rounding


def read_reference(reference: Reference) -> ExplorationPolicy | ReferenceExplorer:
    """Return a policy or an explorer, read from a text if need be; check its type."""
    if isinstance(reference, str | os.PathLike):
        return read_policy(reference)
    # A ZetaExplorer derives from UniformExplorer, but repeats only what it samples itself.
    if isinstance(reference, ExplorationPolicy | Explorer) or type(reference) is UniformExplorer:
        return reference
    raise explorer_type_error(reference, EXPECTED)


def resized(explorer: ReferenceExplorer, n_envs: int) -> ReferenceExplorer:
    """Return an explorer with the same probabilities for another number of environments."""
    if isinstance(explorer, Explorer):
        return Explorer(explorer.policy, n_envs, 0, explorer.floor)
    return UniformExplorer(explorer.n_actions, n_envs, 0)


def log_reference(
    probabilities: Floats, strength: float = 1.0, mask: Mask | None = None
) -> NDArray[np.float32]:
    """Return the logarithms of a reference's probabilities, float32 (n, k), finite everywhere.

    Args:
        probabilities: float (n, k), rows that sum to 1.
        strength: exponent of the reference: 1 is the reference, 0 is the uniform policy.
        mask: bool (n, k), the allowed actions. Others have the largest value of their row: it has
            no effect, because the mask excludes them.

    >>> log_reference(np.array([[0.5, 0.5, 0.0]]))
    array([[-6.931472e-01, -6.931472e-01, -1.000000e+08]], dtype=float32)
    """
    rows = np.full(probabilities.shape, IMPOSSIBLE)
    np.log(probabilities, out=rows, where=probabilities > 0)
    allowed = np.ones(rows.shape, bool) if mask is None else mask
    if strength != 1.0:
        rows = strength * rows
        largest = rows.max(axis=1, keepdims=True, where=allowed, initial=-np.inf)
        sums = np.exp(rows - largest).sum(axis=1, keepdims=True, where=allowed)
        rows -= largest + np.log(sums)
    largest = rows.max(axis=1, keepdims=True, where=allowed, initial=-np.inf)
    return np.where(allowed, rows, largest).astype(np.float32)
