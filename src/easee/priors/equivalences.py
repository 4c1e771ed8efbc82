"""Sets of equivalent action sequences (Section 3.1 of the paper).

A *word* is a sequence of actions, a *relation* a pair of words with the same effect from every
state. A relation that only *usually* holds has a *rate*, the share of states in which it fails.
`Equivalences` holds the actions and the relations. `easee.priors.builders` builds common relations
(`commute`, `inverse`, ...), and `|` joins them.
"""

from __future__ import annotations

import itertools
import logging
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from easee._utils.arrays import Floats
from easee._utils.checks import excerpt, nearest
from easee._utils.files import replacing
from easee.errors import ArgumentTypeError, PriorError, UnknownActionError
from easee.words import presentation as word_problem

Word: TypeAlias = tuple[str, ...]
Relation: TypeAlias = tuple[Word, Word]
AnyWord: TypeAlias = str | Sequence[str]
AnyRelation: TypeAlias = "str | Sequence[AnyWord] | tuple[AnyWord, AnyWord, float] | Equivalences"

EMPTY = "Λ"
_RATE = re.compile(r"(?<![^\s~])@")  # what follows is the rate of a relation


@dataclass(frozen=True)
class Equivalences:
    """The actions of an environment and the pairs of words known to be equivalent.

    Repeated pairs and pairs of equal words are dropped.

    Args:
        actions: action names, in the order of the environment's action indices. Names must not
            contain white space, `~` or `#`, nor start with `@` or end in a comma.
        pairs: relations, each a string such as `"left right ~ right left"`, a pair of words, or
            another `Equivalences`, whose pairs are included. An empty side or `Λ` is the empty
            word. A relation that usually holds has a rate, as in `"pickup ~ @ 0.05"` or
            `("pickup", "", 0.05)`.

    >>> omega = Equivalences(["forward", "left", "right"], ["right left ~ ", "left right ~ Λ"])
    >>> omega.pairs
    ((('right', 'left'), ()), (('left', 'right'), ()))
    >>> omega.equivalent("left left right", "left")
    True
    >>> from easee.priors.builders import inverse
    >>> print(omega | inverse("forward", "back"))
    actions: forward left right back
    right left ~ Λ
    left right ~ Λ
    forward back ~ Λ
    back forward ~ Λ

    A relation that usually holds:

    >>> omega = Equivalences(["go", "pickup"], ["pickup pickup ~ pickup", "pickup ~ @ 0.05"])
    >>> omega.rates, omega.exact.pairs
    (array([0.  , 0.05]), ((('pickup', 'pickup'), ('pickup',)),))
    """

    actions: tuple[str, ...]
    pairs: tuple[Relation, ...]
    _rates: tuple[float, ...] = field(repr=False)

    def __init__(self, actions: Iterable[str], pairs: Iterable[AnyRelation] = ()) -> None:
        object.__setattr__(self, "actions", check_action_names(actions))
        relations: dict[frozenset[Word], tuple[Relation, float]] = {}  # the pairs are unordered
        for pair, rate in _flatten(pairs):
            _check_known(pair, self._index)
            if pair[0] == pair[1]:
                continue
            _, known = relations.setdefault(frozenset(pair), (pair, rate))
            if known != rate:
                raise PriorError(
                    f"two rates for one relation: '{excerpt(_relation_text(pair))}' fails in a "
                    f"share of {known:g} and of {rate:g} of the states: remove one of them"
                )
        object.__setattr__(self, "pairs", tuple(pair for pair, _ in relations.values()))
        object.__setattr__(self, "_rates", tuple(rate for _, rate in relations.values()))

    @cached_property
    def rates(self) -> Floats:
        """Share of states in which each relation fails, float (relations,); 0 for exact ones."""
        rates = np.array(self._rates, dtype=float)
        rates.setflags(write=False)
        return rates

    @cached_property
    def exact(self) -> Equivalences:
        """The same actions with only the exact relations, those of rate 0."""
        if not any(self._rates):
            return self
        pairs = [pair for pair, rate in zip(self.pairs, self._rates, strict=True) if not rate]
        return Equivalences(self.actions, pairs)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.actions)}

    def __iter__(self) -> Iterator[Relation]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __or__(self, other: Equivalences) -> Equivalences:
        """Join two sets: the actions of both, those of `self` first, and the pairs of both."""
        if not isinstance(other, Equivalences):
            return NotImplemented
        return Equivalences(dict.fromkeys(self.actions + other.actions), [self, other])

    def __str__(self) -> str:
        lines = map(_relation_text, self.pairs, self._rates)
        # A comma after a single name tells one with commas in it from several names.
        single = "," if len(self.actions) == 1 and "," in self.actions[0] else ""
        return "\n".join([f"actions: {' '.join(self.actions)}{single}", *lines])

    @cached_property
    def indexed(self) -> word_problem.Presentation:
        """The presentation of all relations, with actions as indices.

        >>> Equivalences(["a", "b"], ["a b ~ b a"]).indexed
        Presentation(letters=2, pairs=(((0, 1), (1, 0)),))
        """
        pairs = tuple((self.indices(u), self.indices(v)) for u, v in self.pairs)
        return word_problem.Presentation(len(self.actions), pairs)

    def indices(self, word: AnyWord) -> tuple[int, ...]:
        """Return a word as action indices.

        >>> Equivalences(["a", "b"]).indices("b a b")
        (1, 0, 1)
        """
        return word_indices(word, self._index)

    def equivalent(self, u: AnyWord, v: AnyWord) -> bool | None:
        """Return whether two words are equivalent: True, False, or None if it is unknown.

        The answer is unknown only if completion does not terminate (the word problem is
        undecidable in general) and no derivation of bounded length joins the two words.

        Only exact relations count. If the words are equivalent by relations that usually hold, a
        warning of the logger "easee" says so; `usually_equivalent` answers that question.

        >>> omega = Equivalences(["a", "b"], ["a b ~ b a"])
        >>> omega.equivalent("a a b", "b a a"), omega.equivalent("a", "b")
        (True, False)
        """
        words = self.indices(u), self.indices(v)
        answer = word_problem.equivalent(self.exact.indexed, *words)
        if answer is not True and any(self._rates) and self.usually_equivalent(u, v):
            logging.getLogger("easee").warning(
                "'%s' holds only by relations that usually hold, so the words are not equivalent",
                _relation_text((as_word(u), as_word(v))),
            )
        return answer

    def usually_equivalent(self, u: AnyWord, v: AnyWord) -> bool | None:
        """Return whether two words are equivalent if every relation is taken as exact.

        >>> Equivalences(["wait", "go"], ["wait ~ @ 0.1"]).usually_equivalent("wait go", "go")
        True
        """
        return word_problem.equivalent(self.indexed, self.indices(u), self.indices(v))

    @classmethod
    def parse(cls, text: str) -> Equivalences:
        r"""Read the text format: a line `actions: ...`, then one relation per line.

        Names are separated by spaces or commas. `#` starts a comment, blank lines are ignored, an
        empty side or `Λ` is the empty word. A relation that usually holds ends in `@ rate`, the
        share of states in which it fails.

        >>> Equivalences.parse("actions: l r\nl r ~   # undo\nr r r ~ @ 0.1").pairs
        ((('l', 'r'), ()), (('r', 'r', 'r'), ()))

        Raises:
            PriorError: a line is invalid; the message quotes it with its number.
        """
        if not isinstance(text, str):
            raise PriorError(f"expected a prior as text, found {type(text).__name__}")
        actions: tuple[str, ...] = ()
        index: dict[str, int] = {}
        pairs: list[tuple[Word, Word, float]] = []
        # Only line feeds end a line; other separators are white space.
        for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
            line = raw.split("#", 1)[0].strip()
            if not line:
                continue
            try:
                if not actions:
                    actions = check_action_names(_action_line(line))
                    index = {name: i for i, name in enumerate(actions)}
                else:
                    pair, rate = as_relation(line)
                    _check_known(pair, index)
                    pairs.append((*pair, rate))
            except PriorError as error:
                # Keep the class of the error: it may be an UnknownActionError.
                where = f"(in {_quoted(raw.strip())})"
                located = type(error)(f"line {number}: {error} {where}")
                located.line = number
                raise located from None
        if not actions:
            raise PriorError("no actions: expected a first line such as 'actions: left right'")
        return cls(actions, pairs)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Equivalences:
        """Read a prior from a text file; see `parse` for the format."""
        try:
            # Not `read_text`, which would turn carriage returns into line feeds.
            return cls.parse(Path(path).read_bytes().decode("utf-8"))
        except OSError as error:
            raise PriorError(f"cannot read the prior {str(path)!r}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise PriorError(f"cannot read the prior {str(path)!r}: not UTF-8 text") from error
        except PriorError as error:
            raise type(error)(f"{path}: {error}") from None
        except ValueError as error:  # for example, a NUL character in the path
            raise PriorError(f"cannot read the prior {str(path)!r}: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the prior to a text file, atomically."""
        with replacing(path) as file:
            file.write(f"{self}\n".encode())


def check_action_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of actions as a tuple of `str`.

    Raises:
        PriorError: there are none, a name is repeated, or a name is invalid.

    >>> check_action_names(["left", "right"])
    ('left', 'right')
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise PriorError(f"expected a list of action names, found {_quoted(names)}")
    if isinstance(names, set | frozenset):
        raise PriorError(
            f"expected a list of action names in the environment's order, found a "
            f"{type(names).__name__}, which is unordered: {excerpt(sorted(map(str, names)))}"
        )
    # Convert numpy.str_ to str.
    checked = tuple(str(name) if isinstance(name, str) else name for name in names)
    if not checked:
        raise PriorError("no actions: expected at least one action name, found none")
    for name in checked:
        if not isinstance(name, str):
            raise PriorError(f"expected action names as text, found {_quoted(name)}")
        valid = name.isprintable() and not set(name) & set(" ~#") and not name.startswith("@")
        if not valid or name in ("", EMPTY) or name.endswith(","):
            raise PriorError(
                f"invalid action name {_quoted(name)}: expected printable text without white "
                f"space, '~' or '#', without '@' at its start and ',' at its end, other than "
                f"{EMPTY!r}"
            )
    if len(set(checked)) < len(checked):
        repeated = next(name for name, count in Counter(checked).items() if count > 1)
        raise PriorError(
            f"action {_quoted(repeated)} is named twice: give every action its own name"
        )
    return checked


def word_indices(word: AnyWord, index: Mapping[str, int]) -> tuple[int, ...]:
    """Return a word as action indices, given the index of each action name."""
    names = as_word(word)
    try:
        return tuple([index[name] for name in names])
    except KeyError as error:
        raise _unknown_action(error.args[0], index, " ".join(names)) from None


def _check_known(pair: Relation, known: Mapping[str, int]) -> None:
    for name in itertools.chain(*pair):
        if name not in known:
            raise _unknown_action(name, known, _relation_text(pair))


def _unknown_action(name: str, known: Iterable[str], text: str) -> UnknownActionError:
    return UnknownActionError(
        f"unknown action {_quoted(name)} in {_quoted(text)}: {nearest(name, known)}"
    )


def _action_line(line: str) -> list[str]:
    head, colon, rest = line.partition(":")
    if head.strip() != "actions" or not colon:
        raise PriorError("expected the list of actions first, as in 'actions: left right'")
    # Commas may separate names: 'left, right' or 'left,right'. Inside a name of a list, as in
    # '(0,1) (1,0)', they belong to it; 'x,y,' is a single name.
    names = rest.split()
    if len(names) == 1 and not names[0].endswith(","):
        names = names[0].split(",")
    return [name.removesuffix(",") for name in names if name not in ("", ",")]


def as_word(word: AnyWord) -> Word:
    """Return a word as a tuple of action names."""
    if isinstance(word, str):
        parts = tuple(word.split())
        return () if parts == (EMPTY,) else parts
    names = tuple(word) if isinstance(word, Iterable) else (None,)
    if not all(isinstance(name, str) for name in names):
        raise ArgumentTypeError(
            f"expected a word as text or a sequence of names, found {_quoted(word)}"
        )
    return tuple(map(str, names))  # Convert numpy.str_ to str.


def as_relation(pair: AnyRelation) -> tuple[Relation, float]:
    """Return a relation as a pair of words and its rate."""
    if isinstance(pair, str):
        text, *after_at = _RATE.split(pair, maxsplit=1)
        sides = text.split("~")
        if len(sides) != 2:
            raise PriorError(
                f"malformed relation {_quoted(pair)}: expected two words separated by one '~', "
                f"found {len(sides) - 1} '~'"
            )
        rate = _checked_rate(after_at[0], pair) if after_at else 0.0
        return (as_word(sides[0]), as_word(sides[1])), rate
    if not isinstance(pair, Sequence) or len(pair) not in (2, 3):
        raise PriorError(
            f"malformed relation {_quoted(pair)}: expected a pair of words, with a rate if it "
            "usually holds, or text with '~'"
        )
    rate = _checked_rate(pair[2], pair) if len(pair) == 3 else 0.0
    return (as_word(pair[0]), as_word(pair[1])), rate


def _checked_rate(rate: Any, pair: AnyRelation) -> float:
    try:
        number = math.nan if isinstance(rate, bool) else float(rate)
    except (TypeError, ValueError):
        number = math.nan
    if not 0.0 <= number < 1.0:
        raise PriorError(
            f"invalid rate {_quoted(rate)} in {_quoted(pair)}: expected the share of states in "
            "which the relation fails, a number from 0 (never) to less than 1"
        )
    return number


def _flatten(pairs: Iterable[AnyRelation]) -> Iterator[tuple[Relation, float]]:
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise PriorError(f"expected a list of relations, found {_quoted(pairs)}")
    for pair in [pairs] if isinstance(pairs, Equivalences) else pairs:
        if isinstance(pair, Equivalences):
            yield from zip(pair.pairs, pair._rates, strict=True)
        else:
            yield as_relation(pair)


def _relation_text(pair: Relation, rate: float = 0.0) -> str:
    text = " ~ ".join(" ".join(map(str, side)) or EMPTY for side in pair)
    return f"{text} @ {rate!r}" if rate else text


def _quoted(value: object) -> str:
    """Return the repr of a value in an error, cut to about a line."""
    return excerpt(repr(value))
