"""Builders of common relations, each over the actions that it names. Join them with `|`."""

import itertools

from easee._utils.checks import checked_count
from easee.priors.equivalences import AnyWord, Equivalences, as_relation, as_word


def _over(*pairs: tuple[AnyWord, AnyWord]) -> Equivalences:
    words = [as_relation(pair) for pair in pairs]
    return Equivalences(dict.fromkeys(itertools.chain(*itertools.chain(*words))), words)


def commute(u: AnyWord, v: AnyWord) -> Equivalences:
    """Return the relation that two words have the same effect in either order.

    >>> print(commute("left", "right"))
    actions: left right
    left right ~ right left
    """
    first, second = as_word(u), as_word(v)
    return _over((first + second, second + first))


def commute_all(*actions: AnyWord) -> Equivalences:
    """Return the relations that any two of the actions commute.

    Args:
        actions: action names, or a list of them.

    >>> len(commute_all("up", "down", "left", "right"))
    6
    """
    names = [name for group in actions for name in as_word(group)]
    pairs = [((a, b), (b, a)) for a, b in itertools.combinations(names, 2)]
    return Equivalences(names, pairs)


def inverse(u: AnyWord, v: AnyWord) -> Equivalences:
    """Return the relations that each of two words undoes the other.

    >>> print(inverse("left", "right"))
    actions: left right
    left right ~ Λ
    right left ~ Λ
    """
    first, second = as_word(u), as_word(v)
    return _over((first + second, ()), (second + first, ()))


def idempotent(word: AnyWord) -> Equivalences:
    """Return the relation that doing a word twice is the same as doing it once.

    >>> print(idempotent("open"))
    actions: open
    open open ~ open
    """
    once = as_word(word)
    return _over((once + once, once))


def noop(word: AnyWord) -> Equivalences:
    """Return the relation that a word does nothing.

    >>> print(noop("wait"))
    actions: wait
    wait ~ Λ
    """
    return _over((as_word(word), ()))


def power(word: AnyWord, n: int, equals: AnyWord = ()) -> Equivalences:
    """Return the relation that doing a word `n` times is the same as `equals`.

    >>> print(power("turn", 4))
    actions: turn
    turn turn turn turn ~ Λ
    """
    return _over((as_word(word) * checked_count(n, "power"), equals))


def decompose(action: AnyWord, *parts: AnyWord) -> Equivalences:
    """Return the relation that an action is the same as several others in a row.

    >>> print(decompose("upright", "up", "right"))
    actions: upright up right
    upright ~ up right
    """
    return _over((as_word(action), sum(map(as_word, parts), ())))
