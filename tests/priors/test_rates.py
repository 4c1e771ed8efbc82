import numpy as np
import pytest

import easee
from easee import Equivalences, PriorError, priors
from easee.priors.rates import action_floors


def floors(actions, *pairs):
    omega = Equivalences(actions.split(), pairs)
    return dict(zip(omega.actions, action_floors(omega).tolist(), strict=True))


def test_only_actions_that_usually_do_nothing_have_floors():
    result = floors("go wait pickup", "wait ~", "pickup ~ @ 0.05", "go go go ~ @ 0.2")
    assert result == {"go": 0, "wait": 0, "pickup": 0.15}


def test_floors_do_not_depend_on_the_rate():
    for rate in (0.0001, 0.5):
        assert floors("go pickup", f"pickup ~ @ {rate}") == {"go": 0, "pickup": 0.15}


def test_relations_that_follow_from_usual_ones_count():
    result = floors("go pickup grab", "grab ~ pickup", "pickup ~ @ 0.05")
    assert result == {"go": 0, "pickup": 0.15, "grab": 0.15}


def test_exact_relations_take_precedence():
    assert floors("go a b", "a ~", "a b ~ @ 0.1", "b ~ a") == {"go": 0, "a": 0, "b": 0}


@pytest.mark.parametrize("name", [n for n in priors.names() if "usual" not in n])
def test_exact_priors_have_no_floors(name):
    omega = priors.get(name)
    np.testing.assert_array_equal(action_floors(omega), np.zeros(len(omega.actions)))


def test_an_action_that_undoes_another_gets_a_third():
    usual = ("pickup ~ @ 0.05", "drop ~ @ 0.02")
    undoes = floors("go pickup drop", *usual, "pickup drop ~ @ 0.01")
    assert undoes == {"go": 0, "pickup": 0.15, "drop": pytest.approx(0.05)}
    # Of the two orders, that with the smaller rate counts.
    for drop_first, actions in ((0.02, ["drop"]), (0.001, ["pickup"]), (0.01, [])):
        both = ("pickup drop ~ @ 0.01", f"drop pickup ~ @ {drop_first}")
        result = floors("go pickup drop", *usual, *both)
        assert [name for name in ("pickup", "drop") if result[name] < 0.1] == actions


def test_undoing_nothing_is_no_reason_for_a_smaller_floor():
    nothing = ("wait ~", "wait drop ~ @ 0.02")
    assert floors("go wait drop", *nothing)["drop"] == 0.15
    pickup = ("pickup ~ @ 0.05", "pickup drop ~ @ 0.01")
    for pairs in ((*nothing, *pickup), (*pickup, *nothing)):
        assert floors("go wait pickup drop", *pairs)["drop"] == pytest.approx(0.05)


def test_the_sum_of_the_floors_is_at_most_a_half():
    names = [f"a{i}" for i in range(5)]
    result = floors(" ".join(["go", *names]), *(f"{name} ~ @ 0.1" for name in names))
    assert result == {"go": 0, **dict.fromkeys(names, pytest.approx(0.1))}
    three = floors("go a b c", *(f"{name} ~ @ 0.1" for name in "abc"))
    assert three == {"go": 0, "a": 0.15, "b": 0.15, "c": 0.15}


def test_a_prior_that_merges_every_action_away_cannot_be_compiled():
    with pytest.raises(PriorError, match="every action equivalent to nothing"):
        easee.compile(Equivalences(["a", "b"], ["a ~ @ 0.1", "b ~"]), 3)
