"""Hypothesis strategies for words and presentations."""

from hypothesis import reject
from hypothesis import strategies as st

import easee
from easee import Equivalences

NAMES = "abcd"


def words(letters: int, most: int = 4):
    return st.lists(st.sampled_from(NAMES[:letters]), max_size=most).map(tuple)


@st.composite
def presentations(draw, most_letters: int = 3, most_pairs: int = 3, most_length: int = 3):
    letters = draw(st.integers(1, most_letters))
    pair = st.tuples(words(letters, most_length), words(letters, most_length))
    pairs = draw(st.lists(pair, max_size=most_pairs))
    return Equivalences(list(NAMES[:letters]), pairs)


def unroll_or_reject(omega, depth, **options):
    """Unroll a random prior; reject the example if it has no graph or too large a one."""
    try:
        return easee.unroll(omega, depth, **options)
    except (easee.PriorError, easee.GraphTooLargeError):
        reject()
