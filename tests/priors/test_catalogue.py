import pytest

from easee import Equivalences, PriorError, priors

# Numbers of actions and relations.
SIZES = {
    "cardinal-right-left": (4, 1),
    "cardinal-all-commute-printed": (4, 2),
    "cardinal-all-commute": (4, 6),
    "cardinal-one-inverse-printed": (4, 3),
    "cardinal-one-inverse": (4, 7),
    "cardinal-both-inverses-printed": (4, 4),
    "cardinal-grid": (4, 8),
    "rotation-one-inverse": (3, 1),
    "rotation-both-inverses": (3, 2),
    "rotation-grid": (3, 3),
    "rotation-grid-complete": (3, 5),
    "doorkey": (5, 5),
    "minigrid": (7, 6),
    "doorkey-usual": (5, 7),
    "minigrid-usual": (7, 10),
    "catcher": (2, 1),
    "freeway": (3, 2),
    "boxing": (18, 12),
    "carnival": (5, 1),
}


def test_every_prior_has_a_description():
    assert len(priors.names()) == len(SIZES)
    assert all(priors.describe(name) for name in priors.names())


def test_priors_have_the_expected_numbers_of_actions_and_relations():
    known = {name: priors.get(name) for name in priors.names()}
    assert all(isinstance(omega, Equivalences) for omega in known.values())
    assert {name: (len(omega.actions), len(omega)) for name, omega in known.items()} == SIZES


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(PriorError, match="did you mean 'rotation-grid'"):
        priors.get("rotaton-grid")
    with pytest.raises(PriorError, match="'nothing like it': expected one of"):
        priors.describe("nothing like it")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: priors.cardinal_grid(commuting="vertical"), "commuting set 'vertical'"),
        (lambda: priors.cardinal_grid(inverses=3), "0, 1 or 2 inverses"),
        (lambda: priors.rotation_grid(relations=4), "1, 2, 3 or 5 relations"),
        (lambda: priors.get(5), "unknown prior 5"),
        (lambda: priors.atari(None), "a list of action names"),
    ],
)
def test_invalid_arguments_are_rejected(call, message):
    with pytest.raises(PriorError, match=message):
        call()


def test_atari_uses_only_the_actions_of_the_game():
    assert len(priors.atari(["NOOP", "UP", "DOWN"])) == 0
    six = ["NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE"]
    assert len(priors.atari(six)) == 2
