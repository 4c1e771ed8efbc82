"""Ready-made priors: the equivalence sets that the paper names, and complete ones.

The paper prints "all actions commute" as two pairs, but its figures can be reproduced only with
all six (see `docs/paper.md`). `cardinal-all-commute` and the priors built on it have six pairs,
those with `-printed` in their name have two.
"""

from collections.abc import Callable, Sequence

from easee._utils.checks import nearest
from easee.errors import PriorError
from easee.priors.builders import commute, commute_all, decompose, idempotent, inverse, noop, power
from easee.priors.equivalences import AnyRelation, Equivalences, check_action_names

CARDINAL_ACTIONS = ("right", "left", "up", "down")
ROTATION_ACTIONS = ("forward", "left", "right")
DOORKEY_ACTIONS = ("left", "right", "forward", "pickup", "open")
MINIGRID_ACTIONS = ("left", "right", "forward", "pickup", "drop", "toggle", "done")

_TURNS = (inverse("left", "right"), power("left", 2, equals="right right"))
_OPEN_SPACE = (  # false at walls
    "forward right forward left ~ right forward left forward @ 0.1",
    "forward left left forward ~ left left @ 0.3",
)


def get(name: str) -> Equivalences:
    """Return a ready-made prior.

    >>> print(get("catcher"))
    actions: left right
    left right ~ right left

    Raises:
        PriorError: the name is unknown; the message suggests the nearest one.
    """
    if name not in _PRIORS:
        raise PriorError(f"unknown prior {name!r}: {nearest(str(name), _PRIORS)}")
    return _PRIORS[name][1]()


def names() -> list[str]:
    """Return the names of all ready-made priors."""
    return list(_PRIORS)


def describe(name: str) -> str:
    """Return a description of a ready-made prior.

    >>> describe("freeway")
    'going back twice is going back once; waiting and going back commute'
    """
    get(name)
    return _PRIORS[name][0]


def cardinal_grid(*, commuting: str = "all", inverses: int = 2) -> Equivalences:
    """Return a prior for four moves on a grid.

    Args:
        commuting: the moves that commute: "horizontal" (right and left), "printed" (right and
            left, up and down), or "all" (six pairs).
        inverses: number of inverse pairs: 0, 1 (right-left) or 2 (also up-down).

    >>> len(cardinal_grid())
    8
    """
    horizontal, vertical = commute("right", "left"), commute("up", "down")
    all_pairs = commute_all(CARDINAL_ACTIONS)
    sets = {"horizontal": horizontal, "printed": horizontal | vertical, "all": all_pairs}
    if commuting not in sets:
        raise PriorError(f"unknown commuting set {commuting!r}: {nearest(commuting, sets)}")
    if inverses not in (0, 1, 2):
        raise PriorError(f"expected 0, 1 or 2 inverses, found {inverses!r}")
    undo = ["right left ~", "up down ~"][:inverses]
    return Equivalences(CARDINAL_ACTIONS, [sets[commuting], *undo])


def rotation_grid(*, relations: int = 3) -> Equivalences:
    """Return a prior for a forward move and two turns on a grid.

    Args:
        relations: number of relations: the first 1, 2 or 3 of the paper's (right left ~,
            left right ~, left left ~ right right), or 5 with the two that make it complete on an
            open grid (two ways around a corner, and turning back between two steps forward).

    >>> print(rotation_grid(relations=1))
    actions: forward left right
    right left ~ Λ
    """
    known = [
        "right left ~",
        "left right ~",
        "left left ~ right right",
        "forward right forward left ~ right forward left forward",
        "forward left left forward ~ left left",
    ]
    if relations not in (1, 2, 3, 5):
        raise PriorError(f"expected 1, 2, 3 or 5 relations, found {relations!r}")
    return Equivalences(ROTATION_ACTIONS, known[:relations])


def doorkey() -> Equivalences:
    """Return the paper's five relations for DoorKey, whose `open` action cannot close a door."""
    return Equivalences(DOORKEY_ACTIONS, [*_TURNS, idempotent("open"), idempotent("pickup")])


def doorkey_usual() -> Equivalences:
    """Return a prior for DoorKey with relations that usually hold.

    Picking up and opening do nothing, and corners and about-turns are free of walls.

    >>> len(doorkey_usual())
    7
    """
    usual: list[AnyRelation] = [noop(name, rate=0.01) for name in ("pickup", "open")]
    return Equivalences(DOORKEY_ACTIONS, [*_TURNS, *_OPEN_SPACE, *usual])


def minigrid() -> Equivalences:
    """Return a prior for MiniGrid's seven actions if `done` does not end the episode.

    There is no relation for `toggle`.

    >>> len(minigrid())
    6
    """
    objects = [idempotent("pickup"), idempotent("drop"), noop("done")]
    return Equivalences(MINIGRID_ACTIONS, [*_TURNS, *objects])


def minigrid_usual() -> Equivalences:
    """Return a prior for MiniGrid's seven actions with relations that usually hold.

    The rates are typical ones; `easee.verify(env, minigrid_usual()).equivalences` has those of a
    task. `drop` undoes `pickup`, so it gets a smaller probability (see `easee.priors.rates`).

    >>> minigrid_usual().exact == Equivalences(MINIGRID_ACTIONS, [*_TURNS, noop("done")])
    True
    """
    usual: list[AnyRelation] = [
        *_OPEN_SPACE,
        *(noop(name, rate=0.05) for name in ("pickup", "drop", "toggle")),
        "pickup drop ~ @ 0.05",
    ]
    return Equivalences(MINIGRID_ACTIONS, [*_TURNS, noop("done"), *usual])


def catcher() -> Equivalences:
    """Return the paper's prior for Catcher, which ignores the walls."""
    return commute("left", "right")


def freeway() -> Equivalences:
    """Return the paper's prior for Freeway, which prevents going back repeatedly."""
    return Equivalences(["noop", "up", "down"], [idempotent("down"), commute("noop", "down")])


def atari(meanings: Sequence[str]) -> Equivalences:
    """Return a prior that decomposes the actions of an Atari game.

    A diagonal move is a vertical and then a horizontal move, and an action with FIRE is the move
    and then FIRE, if the game has all of these actions.

    Args:
        meanings: action names from `env.unwrapped.get_action_meanings()`.

    >>> print(atari(["NOOP", "FIRE", "UP", "UPFIRE"]))
    actions: NOOP FIRE UP UPFIRE
    UPFIRE ~ UP FIRE
    """
    meanings = check_action_names(meanings)
    known = set(meanings)
    diagonals = [(v + h, v, h) for v in ("UP", "DOWN") for h in ("RIGHT", "LEFT")]
    moves = ["UP", "RIGHT", "LEFT", "DOWN", *(d for d, _, _ in diagonals)]
    parts = [*diagonals, *((move + "FIRE", move, "FIRE") for move in moves)]
    return Equivalences(meanings, [decompose(*p) for p in parts if known.issuperset(p)])


def boxing() -> Equivalences:
    """Return the paper's twelve decompositions of Boxing's 18 actions."""
    moves = ["UP", "RIGHT", "LEFT", "DOWN", "UPRIGHT", "UPLEFT", "DOWNRIGHT", "DOWNLEFT"]
    return atari(["NOOP", "FIRE", *moves, *(move + "FIRE" for move in moves)])


def carnival() -> Equivalences:
    """Return the paper's prior for Carnival, whose actions do not include NOOP."""
    actions = ["FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE"]
    return Equivalences(actions, [commute("RIGHT", "LEFT")])


# fmt: off
_PRIORS: dict[str, tuple[str, Callable[[], Equivalences]]] = {
    "cardinal-right-left": ("right and left commute",
        lambda: cardinal_grid(commuting="horizontal", inverses=0)),
    "cardinal-all-commute-printed": (
        "right and left commute, up and down commute (the two pairs as printed)",
        lambda: cardinal_grid(commuting="printed", inverses=0)),
    "cardinal-all-commute": ("all four moves commute (six pairs)",
        lambda: cardinal_grid(inverses=0)),
    "cardinal-one-inverse-printed": ("the two printed pairs commute, right undoes left",
        lambda: cardinal_grid(commuting="printed", inverses=1)),
    "cardinal-one-inverse": ("all four moves commute, right undoes left",
        lambda: cardinal_grid(inverses=1)),
    "cardinal-both-inverses-printed": (
        "the two printed pairs commute, right undoes left, up undoes down",
        lambda: cardinal_grid(commuting="printed")),
    "cardinal-grid": ("all four moves commute, right undoes left, up undoes down (complete)",
        cardinal_grid),
    "rotation-one-inverse": ("right then left is nothing", lambda: rotation_grid(relations=1)),
    "rotation-both-inverses": ("right then left is nothing, left then right is nothing",
        lambda: rotation_grid(relations=2)),
    "rotation-grid": ("turns undo each other, two left turns are two right turns", rotation_grid),
    "rotation-grid-complete": (
        "turns undo each other, corners and turning back (complete on an open grid)",
        lambda: rotation_grid(relations=5)),
    "doorkey": (
        "turns undo each other, two left turns are two right turns, open and pickup idempotent",
        doorkey),
    "doorkey-usual": (
        "turns as above; corners and about-turns usually hold; pickup and open usually do nothing",
        doorkey_usual),
    "minigrid": (
        "turns undo each other, two left turns are two right turns, pickup and drop idempotent, "
        "done is nothing", minigrid),
    "minigrid-usual": (
        "turns as above; corners and about-turns usually hold; pickup, drop and toggle usually do "
        "nothing", minigrid_usual),
    "catcher": ("left and right commute", catcher),
    "freeway": ("going back twice is going back once; waiting and going back commute", freeway),
    "boxing": ("diagonals and FIRE moves are two moves in a row (12 relations)", boxing),
    "carnival": ("right and left commute", carnival),
}
# fmt: on
