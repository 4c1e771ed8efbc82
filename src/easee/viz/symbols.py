"""Short labels of actions and words: arrows for the usual moves."""

from collections.abc import Sequence

from easee.priors.equivalences import EMPTY

_ARROWS = {"forward": "↑", "up": "↑", "down": "↓", "left": "←", "right": "→"}
_TURNS = {"forward": "↑", "left": "↶", "right": "↷"}


def symbol(actions: Sequence[str], name: str) -> str:
    """Return an arrow for the usual moves, curved if left and right are turns.

    >>> symbol(["forward", "left", "right"], "left"), symbol(["left", "right"], "left")
    ('↶', '←')
    """
    if set(_TURNS) <= set(actions):
        return _TURNS.get(name, name)
    return _ARROWS.get(name, name) if {"left", "right"} <= set(actions) else name


def word_label(actions: Sequence[str], word: Sequence[str]) -> str:
    """Return the symbols of a word, without spaces between single characters.

    >>> word_label(["left", "right"], ["left", "left"]), word_label(["go", "wait"], ["go", "wait"])
    ('←←', 'go wait')
    """
    symbols = [symbol(actions, name) for name in word]
    separator = "" if all(len(text) == 1 for text in symbols) else " "
    return separator.join(symbols) or EMPTY
