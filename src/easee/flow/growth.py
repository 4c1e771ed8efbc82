"""How fast the layers of a graph grow, and which actions its policy never takes."""

import math
from collections.abc import Sequence

import numpy as np

from easee._utils.arrays import Floats
from easee.graph import LocalGraph, most_nodes

LEAST_DEPTH = 4  # to tell polynomial from exponential growth


def growth(graph: LocalGraph) -> str:
    """Return a sentence on the growth of the layers and the deepest graph that fits in memory.

    >>> from easee.priors.equivalences import Equivalences
    >>> from easee.graph import unroll
    >>> growth(unroll(Equivalences(["a"], ["a a a ~"]), depth=6))
    'finite: no new nodes after depth 2'
    """
    sizes = graph.layer_sizes
    last = int(graph.depths[-1])
    if last < graph.depth:
        return f"finite: no new nodes after depth {last}"
    if graph.depth < LEAST_DEPTH:
        return f"the last layer has {sizes[-1]:,} nodes"
    ratio, degree = sizes[-1] / sizes[-2], _degree(sizes, graph.depth // 2, graph.depth)
    limit = most_nodes(len(graph.actions))
    if _is_exponential(sizes):
        fits = graph.depth + math.log(limit / len(graph)) / math.log(max(ratio, 1.001))
        return f"layers grow {ratio:.2f} times a step; about depth {fits:,.0f} fits in memory"
    fits = graph.depth * (limit / len(graph)) ** (1 / (degree + 1))
    kind = "layers stay small" if degree < 0.5 else f"layers grow like depth^{degree:.1f}"
    return f"{kind}; about depth {_rounded(fits):,} fits in memory"


def never_taken(graph: LocalGraph, visits: Floats, probabilities: Floats) -> list[str]:
    """Return the actions that a policy (visits (n,), probabilities (n, k)) never takes."""
    taken = (visits[:, None] * probabilities).sum(axis=0) > 0
    return [name for name, is_taken in zip(graph.actions, taken, strict=True) if not is_taken]


def unused_notes(graph: LocalGraph, unused: Sequence[str]) -> list[str]:
    """Return sentences on actions that a policy never takes, and the way out.

    >>> from easee.priors.equivalences import Equivalences
    >>> from easee.graph import unroll
    >>> unused_notes(unroll(Equivalences(["a", "b", "c"], ["a ~ b"]), depth=2), ["b"])
    ['b will never be taken, because the prior makes it equal to other actions']
    """
    nothing = [name for name in unused if graph.node([name]) == 0]
    others = [name for name in unused if name not in nothing]
    notes = []
    if nothing:
        notes.append(
            f"{', '.join(nothing)} will never be taken, because the prior makes it equal "
            f"to nothing. If it has an effect in some states, give it a rate: {nothing[0]} ~ @ 0.05"
        )
    if others:
        notes.append(
            f"{', '.join(others)} will never be taken, because the prior makes it equal "
            "to other actions"
        )
    return notes


def _is_exponential(sizes: Sequence[int]) -> bool:
    """Return whether the exponent of a power law fitted to the layers grows with the depth."""
    depth = len(sizes) - 1
    half, quarter = depth // 2, max(depth // 4, 1)
    return _degree(sizes, half, depth) > 1.25 * _degree(sizes, quarter, half) + 0.25


def _degree(sizes: Sequence[int], start: int, stop: int) -> float:
    return max(float(np.log(sizes[stop] / sizes[start]) / np.log(stop / start)), 0.0)


def _rounded(number: float) -> int:
    """Return a number with its first two digits."""
    unit: int = 10 ** max(math.floor(math.log10(max(number, 1))) - 1, 0)
    return int(number // unit) * unit
