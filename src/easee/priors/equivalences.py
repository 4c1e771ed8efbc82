"""Equivalence sets: which action sequences do the same thing (Section 3.1 of the paper).

A *word* is a sequence of actions, a *relation* a pair of words with the same effect from every
state. `Equivalences` holds the actions and the relations; `easee.priors.builders` has functions
for the usual ones (`commute`, `inverse`, ...), and `|` joins them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from easee._utils.checks import nearest
from easee._utils.files import replacing
from easee.errors import ArgumentTypeError, PriorError, UnknownActionError
from easee.words import presentation as word_problem

Word: TypeAlias = tuple[str, ...]
Relation: TypeAlias = tuple[Word, Word]
AnyWord: TypeAlias = str | Sequence[str]
AnyRelation: TypeAlias = "str | Sequence[AnyWord] | Equivalences"

EMPTY = "Λ"


@dataclass(frozen=True)
class Equivalences:
    """The actions of an environment and the pairs of words known to be equivalent.

    Args:
        actions: names, in the order of the environment's action indices. A name has no
            white space, no `~` and no `#`.
        pairs: each a text `"left right ~ right left"`, a pair of words, or another
            `Equivalences`, whose pairs are taken over. An empty side, or `Λ`, is the empty word.

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
    """

    actions: tuple[str, ...]
    pairs: tuple[Relation, ...]
    _index: dict[str, int] = field(init=False, repr=False, compare=False)

    def __init__(self, actions: Iterable[str], pairs: Iterable[AnyRelation] = ()) -> None:
        names = check_action_names(actions)
        object.__setattr__(self, "actions", names)
        object.__setattr__(self, "_index", {name: i for i, name in enumerate(names)})
        # An equivalence set is a set of unordered pairs: repeats and u ~ u say nothing.
        seen: set[frozenset[Word]] = set()
        kept: list[Relation] = []
        for pair in _flatten(pairs):
            left, right = (self._checked(word, pair) for word in pair)
            key = frozenset((left, right))
            if len(key) == 2 and key not in seen:
                seen.add(key)
                kept.append((left, right))
        object.__setattr__(self, "pairs", tuple(kept))

    def _checked(self, word: Word, pair: Relation) -> Word:
        for name in word:
            if name not in self._index:
                hint = nearest(str(name), self.actions)
                raise UnknownActionError(
                    f"unknown action {name!r} in '{_relation_text(pair)}': {hint}"
                )
        return word

    def __iter__(self) -> Iterator[Relation]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    def __or__(self, other: Equivalences) -> Equivalences:
        """Join two sets: the actions of both (first come, first numbered) and the pairs of both."""
        if not isinstance(other, Equivalences):
            return NotImplemented
        return Equivalences(dict.fromkeys(self.actions + other.actions), [self, other])

    def __str__(self) -> str:
        lines = ["actions: " + " ".join(self.actions), *map(_relation_text, self.pairs)]
        return "\n".join(lines)

    @cached_property
    def indexed(self) -> word_problem.Presentation:
        """Return the pairs with actions as indices, which is what the algebra works on.

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
        names = as_word(word)
        return tuple(self._index[name] for name in self._checked(names, (names, ())))

    def equivalent(self, u: AnyWord, v: AnyWord) -> bool | None:
        """Tell whether two words are equivalent: True, False, or None when it stays unknown.

        Unknown happens only where completion does not end (the word problem is undecidable in
        general) and no bounded derivation joins the two words.

        >>> omega = Equivalences(["a", "b"], ["a b ~ b a"])
        >>> omega.equivalent("a a b", "b a a"), omega.equivalent("a", "b")
        (True, False)
        """
        return word_problem.equivalent(self.indexed, self.indices(u), self.indices(v))

    @classmethod
    def parse(cls, text: str) -> Equivalences:
        r"""Read the text format: a line `actions: ...`, then one relation a line.

        `#` starts a comment, blank lines are skipped, an empty side or `Λ` is the empty word.

        >>> Equivalences.parse("actions: l r\nl r ~   # undo\n").pairs
        ((('l', 'r'), ()),)

        Raises:
            PriorError: with the number and the text of the offending line.
        """
        if not isinstance(text, str):
            raise PriorError(f"expected a prior as text, found {type(text).__name__}")
        actions: tuple[str, ...] | None = None
        pairs: list[Relation] = []
        for number, raw in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
            line = raw.split("#", 1)[0].strip()
            if not line:
                continue
            try:
                if actions is None:
                    actions = check_action_names(_action_line(line))
                else:
                    pairs.extend(cls(actions, [line]).pairs)
            except PriorError as error:
                # The error's own class is kept: an unknown action stays an UnknownActionError.
                raise type(error)(f"line {number}: {error} (in {raw.strip()!r})") from None
        if actions is None:
            raise PriorError("no actions: expected a first line such as 'actions: left right'")
        return cls(actions, pairs)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Equivalences:
        """Read a file in the text format; see `parse`."""
        try:
            return cls.parse(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise PriorError(f"cannot read the prior {str(path)!r}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise PriorError(f"{str(path)!r} is not UTF-8 text, so it is no prior") from error
        except PriorError as error:
            raise type(error)(f"{path}: {error}") from None
        except ValueError as error:  # such as a NUL in the path
            raise PriorError(f"cannot read the prior {str(path)!r}: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the text format, all or nothing."""
        with replacing(path) as file:
            file.write(f"{self}\n".encode())


def check_action_names(actions: Iterable[str]) -> tuple[str, ...]:
    """Return action names as a tuple of distinct valid names, or raise a `PriorError`."""
    if isinstance(actions, str) or not isinstance(actions, Iterable):
        raise PriorError(f"expected a list of action names, found {actions!r}")
    if isinstance(actions, set | frozenset):
        raise PriorError(
            f"expected a list of action names in the environment's order, found a "
            f"{type(actions).__name__}, which has none: {sorted(map(str, actions))}"
        )
    names = tuple(str(name) if isinstance(name, str) else name for name in actions)
    if not names:
        raise PriorError("no actions: expected at least one action name, found none")
    for name in names:
        if not isinstance(name, str):
            raise PriorError(f"expected action names as text, found {name!r}")
        if not name.isprintable() or name in ("", EMPTY) or set(name) & set(" ~#"):
            raise PriorError(
                f"{name!r} cannot name an action: expected a printable name without white space, "
                f"'~' or '#', other than {EMPTY!r}"
            )
    repeated = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if repeated is not None:
        raise PriorError(f"action {repeated!r} is named twice: give every action its own name")
    return names


def _action_line(line: str) -> list[str]:
    head, colon, rest = line.partition(":")
    if head.strip() != "actions" or not colon:
        raise PriorError("expected the list of actions first, as in 'actions: left right'")
    return rest.split()


def as_word(word: AnyWord) -> Word:
    """Return a word as a tuple of names."""
    if isinstance(word, str):
        parts = tuple(word.split())
        return () if parts == (EMPTY,) else parts
    names = tuple(word) if isinstance(word, Iterable) else (word,)
    if not isinstance(word, Iterable) or not all(isinstance(name, str) for name in names):
        raise ArgumentTypeError(f"expected a word as text or a sequence of names, found {word!r}")
    return tuple(map(str, names))  # NumPy's texts are no others


def as_relation(pair: AnyRelation) -> Relation:
    """Return a relation as a pair of words."""
    if isinstance(pair, str):
        sides = pair.split("~")
        if len(sides) != 2:
            raise PriorError(
                f"malformed relation {pair!r}: expected two words with one '~' between them, "
                f"found {len(sides) - 1} '~'"
            )
        return as_word(sides[0]), as_word(sides[1])
    if not isinstance(pair, Sequence) or len(pair) != 2:
        raise PriorError(
            f"malformed relation {pair!r}: expected a text with '~' or a pair of words"
        )
    return as_word(pair[0]), as_word(pair[1])


def _flatten(pairs: Iterable[AnyRelation]) -> Iterator[Relation]:
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise PriorError(f"expected a list of relations, found {pairs!r}")
    for pair in pairs:
        if isinstance(pair, Equivalences):
            yield from pair.pairs
        else:
            yield as_relation(pair)


def _relation_text(pair: Relation) -> str:
    return " ~ ".join(" ".join(map(str, side)) or EMPTY for side in pair)
