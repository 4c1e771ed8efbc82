import pytest

import easee
from easee.errors import ArgumentError
from easee.studio.limits import MAX_RELATIONS, PriorTooLongError
from easee.studio.prior_text import line_errors, read_prior

GOOD = "actions: forward left right\nright left ~\nleft right ~"


def lines(text):
    return [error.line for error in line_errors(text)]


def test_a_good_text_is_the_prior_without_errors():
    assert line_errors(GOOD) == []
    assert read_prior(GOOD) == easee.Equivalences.parse(GOOD)


def test_every_wrong_line_has_its_error():
    text = f"{GOOD}\nlfet ~\n# a comment\nleft\nright right ~ left left @ 7"
    assert lines(text) == [4, 6, 7]
    assert "did you mean 'left'?" in line_errors(text)[0].message
    assert not any("line" in error.message for error in line_errors(text))


def test_relations_that_contradict_each_other_are_found_at_the_second():
    text = f"{GOOD}\nleft left ~ @ 0.1\n\nleft left ~ @ 0.2\nleft left left ~"
    assert lines(text) == [6]
    assert "two rates" in line_errors(text)[0].message


@pytest.mark.parametrize("text", ["", "# nothing", "left right ~", "actions:"])
def test_without_actions_there_is_one_error(text):
    assert lines(text) == [1]


def test_a_missing_line_of_actions_is_found_after_comments():
    assert lines("# turns\n\nleft right ~\nright left ~") == [3]


def test_ten_thousand_relations_are_one_error():
    text = GOOD + "\nleft right ~ Λ" * 10_000
    (error,) = line_errors(text)
    assert error.line == MAX_RELATIONS + 2
    assert "10,002 relations" in error.message


def test_long_lines_and_many_actions_are_refused():
    with pytest.raises(PriorTooLongError, match="line 2 has"):
        read_prior("actions: a\n" + "a " * 3000 + "~")
    with pytest.raises(PriorTooLongError, match="150 actions"):
        read_prior("actions: " + " ".join(f"a{i}" for i in range(150)))


def test_only_texts_are_read():
    with pytest.raises(ArgumentError, match="found int"):
        read_prior(3)
