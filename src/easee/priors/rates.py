"""From relations that usually hold to the least probability of each action.

A relation such as `pickup ~ @ 0.05` merges `pickup` with doing nothing, so the optimal policy never
picks anything up. But where the relation fails, the action matters. Therefore each action that only
usual relations make equal to nothing keeps a probability, a *floor*, and the optimal policy shares
the rest.

The floor does not grow with the rate. Suppose that a task needs an action that works in a share r
of the states, and m moves: with probability q for the action, success is proportional to
q r (1 - q)^m, whose best q does not depend on r. The constants below were chosen by measuring the
success of pure exploration on seven MiniGrid tasks (`docs/usual.md`). An action that undoes another
such action, as `drop` undoes `pickup`, gets less: otherwise every effect is undone soon after.
"""

from __future__ import annotations

import numpy as np

from easee._utils.arrays import Floats
from easee.priors.equivalences import Equivalences, Word

FLOOR = 0.15  # probability of an action that only usual relations make equal to nothing
UNDOING = 1 / 3  # share of it for an action that undoes another one of this kind
LARGEST_SUM = 0.5  # of all floors; larger sums are scaled down


def action_floors(equivalences: Equivalences) -> Floats:
    """Return the least probability of each action, float (k,).

    >>> omega = Equivalences(
    ...     ["go", "pickup", "drop", "wait"],
    ...     ["wait ~", "pickup ~ @ 0.05", "drop ~ @ 0.02", "pickup drop ~ @ 0.01"],
    ... )
    >>> action_floors(omega)
    array([0.  , 0.15, 0.05, 0.  ])
    """
    floors = np.zeros(len(equivalences.actions))
    if not equivalences.rates.any():
        return floors
    exact = equivalences.exact
    usually_nothing = [
        name
        for name in equivalences.actions
        if equivalences.usually_equivalent(name, ()) and not exact.usually_equivalent(name, ())
    ]
    undoing = _undoing(equivalences)
    for name in usually_nothing:
        undoes = any((other, name) in undoing for other in usually_nothing)
        floors[equivalences.actions.index(name)] = FLOOR * (UNDOING if undoes else 1.0)
    scaled: Floats = floors * min(1.0, LARGEST_SUM / max(floors.sum(), LARGEST_SUM))
    return scaled


def _undoing(equivalences: Equivalences) -> set[Word]:
    """Return the words `a b` in which b undoes a: `a b ~` fails less often than `b a ~`."""
    rates: dict[Word, float] = {
        max(pair, key=len): float(rate)
        for pair, rate in zip(equivalences.pairs, equivalences.rates, strict=True)
        if sorted(map(len, pair)) == [0, 2]
    }
    return {(a, b) for (a, b), rate in rates.items() if a != b and rate < rates.get((b, a), 1.0)}
