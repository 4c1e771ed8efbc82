"""Builders of common relations, each over the actions that it names. Join them with `|`.

Each takes a `rate`, the share of states in which its relations fail, for those that usually hold.
"""

import itertools
from collections.abc import Sequence

from easee._utils.checks import checked_count
from easee.errors import PriorError
from easee.priors.equivalences import AnyWord, Equivalences, as_word


def _over(*pairs: tuple[AnyWord, AnyWord], rate: float) -> Equivalences:
    words = [(as_word(u), as_word(v)) for u, v in pairs]
    names = dict.fromkeys(itertools.chain(*itertools.chain(*words)))
    return Equivalences(names, [(u, v, rate) for u, v in words])


def commute(u: AnyWord, v: AnyWord, *, rate: float = 0.0) -> Equivalences:
    """Return the relation that two words have the same effect in either order.

    >>> print(commute("left", "right"))
    actions: left right
    left right ~ right left
    """
    first, second = as_word(u), as_word(v)
    return _over((first + second, second + first), rate=rate)


def commute_all(*actions: AnyWord, rate: float = 0.0) -> Equivalences:
    """Return the relations that any two of the actions commute.

    Args:
        actions: action names, or a list of them.
        rate: share of states in which each relation fails.

    >>> len(commute_all("up", "down", "left", "right"))
    6
    """
    names = [name for group in actions for name in as_word(group)]
    pairs = [((a, b), (b, a), rate) for a, b in itertools.combinations(names, 2)]
    return Equivalences(names, pairs)


def inverse(u: AnyWord, v: AnyWord, *, rate: float = 0.0) -> Equivalences:
    """Return the relations that each of two words undoes the other.

    >>> print(inverse("left", "right"))
    actions: left right
    left right ~ Λ
    right left ~ Λ
    """
    first, second = as_word(u), as_word(v)
    return _over((first + second, ()), (second + first, ()), rate=rate)


def independent(*factors: Sequence[str] | Equivalences, rate: float = 0.0) -> Equivalences:
    """Return the relations of independent factors, such as the joints of an arm.

    Actions of different factors commute. The two actions of a factor undo each other.

    Args:
        factors: for each factor, its one or two actions, or `Equivalences` over its actions.
        rate: share of states in which each relation that is added here fails.

    >>> print(independent(["a+", "a-"], ["wait"], power("turn", 4)))
    actions: a+ a- wait turn
    a+ a- ~ Λ
    a- a+ ~ Λ
    turn turn turn turn ~ Λ
    a+ wait ~ wait a+
    a- wait ~ wait a-
    a+ turn ~ turn a+
    a- turn ~ turn a-
    wait turn ~ turn wait
    """
    parts = [_factor(factor, rate) for factor in factors]
    names = [name for part in parts for name in part.actions]
    pairs = [
        ((a, b), (b, a), rate)
        for one, two in itertools.combinations(parts, 2)
        for a, b in itertools.product(one.actions, two.actions)
    ]
    return Equivalences(names, [*parts, *pairs])


def _factor(factor: Sequence[str] | Equivalences, rate: float) -> Equivalences:
    if isinstance(factor, Equivalences):
        return factor
    names = as_word(factor)
    if len(names) > 2:
        raise PriorError(
            f"expected a factor of one or two actions, found {len(names)}: {', '.join(names)}. "
            "Pass the relations of a larger one as Equivalences"
        )
    return inverse(*names, rate=rate) if len(names) == 2 else Equivalences(names)


def idempotent(word: AnyWord, *, rate: float = 0.0) -> Equivalences:
    """Return the relation that doing a word twice is the same as doing it once.

    >>> print(idempotent("open"))
    actions: open
    open open ~ open
    """
    once = as_word(word)
    return _over((once + once, once), rate=rate)


def noop(word: AnyWord, *, rate: float = 0.0) -> Equivalences:
    """Return the relation that a word does nothing.

    >>> print(noop("wait") | noop("pickup", rate=0.05))
    actions: wait pickup
    wait ~ Λ
    pickup ~ Λ @ 0.05
    """
    return _over((as_word(word), ()), rate=rate)


def power(word: AnyWord, n: int, equals: AnyWord = (), *, rate: float = 0.0) -> Equivalences:
    """Return the relation that doing a word `n` times is the same as `equals`.

    >>> print(power("turn", 4))
    actions: turn
    turn turn turn turn ~ Λ
    """
    return _over((as_word(word) * checked_count(n, "power"), equals), rate=rate)


def decompose(action: AnyWord, *parts: AnyWord, rate: float = 0.0) -> Equivalences:
    """Return the relation that an action is the same as several others in a row.

    >>> print(decompose("upright", "up", "right"))
    actions: upright up right
    upright ~ up right
    """
    return _over((as_word(action), sum(map(as_word, parts), ())), rate=rate)
