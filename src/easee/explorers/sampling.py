"""Drawing actions from rows of probabilities by inverting their cumulative sums."""

import numpy as np
from numpy.typing import NDArray

Actions = NDArray[np.int64]
Mask = NDArray[np.bool_]


def cumulative_rows(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cumulative sums of rows that are exactly 1 from the last possible action on.

    >>> cumulative_rows(np.array([[0.0, 0.5, 0.5, 0.0]]))
    array([[0. , 0.5, 1. , 1. ]])
    """
    sums = np.cumsum(table, axis=1)
    # Rounding may leave the last sum below 1, and then a large uniform would match no action.
    possible = table > 0
    last = table.shape[1] - 1 - np.argmax(possible[:, ::-1], axis=1)
    sums[np.arange(table.shape[1]) >= last[:, None]] = 1.0
    return sums


def draw(cumulative: NDArray[np.float64], uniforms: NDArray[np.float64]) -> Actions:
    """Return the action of each row of cumulative sums (n, k) at uniforms in [0, 1), (n,)."""
    actions: Actions = (cumulative > uniforms[:, None]).argmax(axis=1)
    return actions


def restrict(probabilities: NDArray[np.float64], mask: Mask) -> NDArray[np.float64]:
    """Restrict rows (n, k) to a mask and scale them to sum 1; uniform on the mask where all are 0.

    Rows from which the mask takes nothing stay the same to the last bit, and with them the actions
    that are drawn from them.

    >>> restrict(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), np.array([[False, True, True]]))
    array([[0. , 1. , 0. ],
           [0. , 0.5, 0.5]])
    """
    allowed = np.where(mask, probabilities, 0.0)
    total = allowed.sum(axis=1, keepdims=True)
    allowed = np.where(total > 0, allowed, mask)
    whole = (allowed == probabilities).all(axis=1, keepdims=True) & (np.abs(total - 1.0) < 1e-9)
    allowed /= np.where(whole, 1.0, allowed.sum(axis=1, keepdims=True))
    return allowed


def draw_masked(
    probabilities: NDArray[np.float64], mask: Mask, uniforms: NDArray[np.float64]
) -> Actions:
    """Draw from rows (n, k) restricted to a mask; uniformly from the mask where that leaves 0."""
    return draw(cumulative_rows(restrict(probabilities, mask)), uniforms)
