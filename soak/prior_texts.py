"""Prior texts under mutation against a plain parser, with limits on time and on error messages."""

from __future__ import annotations

import time

import numpy as np

from easee import Equivalences, priors
from easee.errors import PriorError
from soak.attack import Attack, Case, Counts, expect

LONGEST_MESSAGE = 1000  # characters: a line of explanation, and quotations of a line's worth
SECONDS_PER_CHARACTER = 2e-5  # of processor time
LEAST_SECONDS = 1.0
EMPTY = "Λ"
# Characters with a meaning in the format, separators that look like line ends, and oddities.
CHARACTERS = [*"~#@:.0Λab \n\t\r", "\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"]
CHARACTERS += ["\0", "\ufeff", "\u200b", "\u202e", "\U0001f600", "é", "\ud800"]
PIECES = ["actions:", " ~ ", "@ 0.1", "@ nan", "@ 1e400", "# ", "left right ~ right left", " @"]


def draw(rng: np.random.Generator) -> Case:
    """Draw a mutated text, or a long one by its sizes."""
    if rng.random() < 0.02:
        actions, relations = (int(10 ** rng.uniform(1, most)) for most in (4.5, 3.0))
        return {"actions": actions, "relations": relations, "seed": int(rng.integers(2**32))}
    text = str(priors.get(str(rng.choice(priors.names())))) + "\n"
    for _ in range(int(rng.choice([0, 1, 1, 2, 3, 10]))):
        text = _mutated(text, rng)
    return {"text": text}


def _mutated(text: str, rng: np.random.Generator) -> str:
    a, b = sorted(rng.integers(0, len(text) + 1, 2).tolist())
    character = CHARACTERS[rng.integers(len(CHARACTERS))]
    lines = text.split("\n")
    place = rng.integers(len(lines))
    line = lines[place]
    name = (lines[0].split() or [""])[-1]
    comment = f"# note{character}{' '.join([name] * 5)} ~"  # no relation, whatever the character
    options = [
        text[:a] + character + text[a:],
        text[:a] + character + text[a + 1 :],
        text[:a] + text[min(b, a + 8) :],
        text[:a] + PIECES[rng.integers(len(PIECES))] + text[a:],
        text + line + "\n",
        "\n".join([*lines[:place], comment, *lines[place:]]),
        text[:a] + character * int(rng.choice([10, 2000])) + text[a:],
    ]
    return str(options[rng.integers(len(options))])


def long_text(actions: int, relations: int, seed: int) -> str:
    """Return a prior with many actions and relations."""
    rng = np.random.default_rng(seed)
    names = [f"action{i}" for i in range(actions)]
    pairs = rng.integers(0, actions, (relations, 2)).tolist()
    lines = [f"{names[a]} {names[b]} ~ {names[b]} {names[a]}" for a, b in pairs]
    return "\n".join(["actions: " + " ".join(names), *lines, ""])


def check(case: Case) -> Counts:
    """Parse a text, and compare the result with that of a plain parser."""
    text = case["text"] if "text" in case else long_text(**case)
    began = time.process_time()
    try:
        omega = Equivalences.parse(text)
    except PriorError as error:
        _check_time(text, began)
        length = len(str(error))
        expect(length <= LONGEST_MESSAGE, f"an error message has {length:,} characters")
        expect("text" in case, f"a long prior was rejected: {str(error)[:200]}")
        return {"rejected": 1}
    _check_time(text, began)
    actions, pairs = plain_parse(text)
    expect(omega.actions == actions, "the actions are not those of the first line")
    expect(set(map(frozenset, omega.pairs)) == pairs, "the relations are not those of the lines")
    again = Equivalences.parse(str(omega))
    expect(again == omega, "a prior differs after it was written and parsed")
    return {"accepted": 1}


def _check_time(text: str, began: float) -> None:
    took = time.process_time() - began
    limit = max(LEAST_SECONDS, SECONDS_PER_CHARACTER * len(text))
    expect(took < limit, f"parsing {len(text):,} characters took {took:.1f} s of processor time")


Sides = frozenset[tuple[str, ...]]


def plain_parse(text: str) -> tuple[tuple[str, ...], set[Sides]]:
    """Return the actions and relations of a valid text; comments end at line feeds."""
    lines = [line.split("#")[0] for line in text.removeprefix("\ufeff").split("\n")]
    first, *rest = [line for line in lines if line.strip()]
    pairs = set()
    for line in rest:
        left, right = (_plain_word(side) for side in line.split("~"))
        if left != right:
            pairs.add(frozenset((left, right)))
    return tuple(first.split(":", 1)[1].split()), pairs


def _plain_word(side: str) -> tuple[str, ...]:
    """Return the actions of a side, without its rate."""
    words = side.split()
    for i, word in enumerate(words):
        if word.startswith("@"):
            words = words[:i]
            break
    return () if words == [EMPTY] else tuple(words)


ATTACK = Attack(
    "prior-texts",
    "mutated and long prior texts against a plain parser, with limits on time and messages",
    draw,
    check,
    share=1.0,
    seconds=20.0,
    gigabytes=6.0,
)
