"""The word problem: completion if it terminates, bounded closure otherwise."""

from functools import lru_cache
from typing import NamedTuple

from easee.errors import GraphTooLargeError
from easee.words.closure import Closure, close
from easee.words.completion import MANY_ORDERS, Letters, Pair, Rules, complete

MOST_NODES = 1_000_000  # limits the memory that comparing two words may take


class Presentation(NamedTuple):
    """A monoid given by generators and relations."""

    letters: int  # number of letters, which are 0, 1, ...
    pairs: tuple[Pair, ...]


@lru_cache(maxsize=256)
def rules_of(presentation: Presentation, orders: int = MANY_ORDERS) -> Rules:
    """Return the rewriting system of a presentation, confluent if completion terminated.

    `orders` is the number of orders of the letters that completion tries.
    """
    return complete(presentation.letters, presentation.pairs, orders=orders)


def equivalent(
    presentation: Presentation, u: Letters, v: Letters, orders: int = MANY_ORDERS
) -> bool | None:
    """Return whether two words are equal: True, False, or None if it is unknown.

    >>> equivalent(Presentation(2, (((0, 1), (1, 0)),)), (0, 0, 1), (1, 0, 0))
    True
    """
    rules = rules_of(presentation, orders)
    # Even if the system is not confluent, reduced words are equal to the original ones and never
    # longer.
    u, v = rules.reduce(u), rules.reduce(v)
    if u == v:
        return True
    if rules.confluent:
        return False
    try:
        closure = _closure(presentation, max(len(u), len(v)), orders)
    except GraphTooLargeError:
        return None
    return closure.node(u) == closure.node(v) or (False if closure.exact else None)


def known_pairs(presentation: Presentation, orders: int = MANY_ORDERS) -> tuple[Pair, ...]:
    """Return the relations and the consequences that completion derived, if not longer.

    Closure would need more slack to derive these consequences itself.
    """
    longest = max((len(word) for pair in presentation.pairs for word in pair), default=0)
    derived = (pair for pair in rules_of(presentation, orders).pairs if len(pair[0]) <= longest)
    return tuple(dict.fromkeys([*presentation.pairs, *derived]))


@lru_cache(maxsize=16)
def _closure(presentation: Presentation, depth: int, orders: int) -> Closure:
    pairs = known_pairs(presentation, orders)
    return close(presentation.letters, pairs, depth, max_nodes=MOST_NODES)
