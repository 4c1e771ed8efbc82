import pytest
from hypothesis import assume, given

import easee.words.completion as completion
from easee import Equivalences, inverse, priors
from easee.words.completion import Budget, complete
from easee.words.presentation import rules_of
from tests.oracles import agrees_with_libsemigroups, all_words, brute_force_classes
from tests.strategies import presentations

pytest.importorskip("libsemigroups_pybind11")


# Completion does not terminate for these.
INCOMPLETE = ("rotation-grid-complete", "doorkey-usual", "minigrid-usual")


@pytest.mark.parametrize("name", priors.names())
def test_priors_complete_with_at_most_16_rules(name):
    rules = rules_of(priors.get(name).indexed)
    if name in INCOMPLETE:
        assert not rules.confluent
    else:
        assert rules.confluent and len(rules.pairs) <= 16


@pytest.mark.parametrize("name", priors.names())
def test_rules_are_reduced_and_point_downwards(name):
    rules = rules_of(priors.get(name).indexed)
    rank = {letter: i for i, letter in enumerate(rules.order)}

    def key(word):
        return len(word), [rank[letter] for letter in word]

    assert rules.pairs
    lefts = [left for left, _ in rules.pairs]
    for left, right in rules.pairs:
        assert key(right) < key(left)
        assert rules.reduce(right) == right
        others = [other for other in lefts if other != left]
        assert not any(contains(left, other) for other in others)


def contains(word, part):
    return any(word[i : i + len(part)] == part for i in range(len(word) - len(part) + 1))


def test_other_letter_orders_are_tried():
    hexagonal = Equivalences(
        list("aAbBcC"),
        [inverse("a", "A"), inverse("b", "B"), inverse("c", "C"), "a b ~ b a", "a b ~ c"],
    )
    letters, pairs = hexagonal.indexed
    natural_only = complete(letters, pairs, Budget(rules=64, overlaps=650, orders=1))
    assert not natural_only.confluent
    rules = rules_of(hexagonal.indexed)
    assert rules.confluent and rules.order != tuple(range(6))


def test_budgets_stop_completion():
    pairs = priors.get("rotation-grid-complete").indexed.pairs
    assert len(complete(3, pairs, Budget(rules=10, overlaps=10_000)).pairs) <= 11
    assert not complete(3, pairs, Budget(rules=10_000, overlaps=50)).confluent
    assert not complete(3, pairs, Budget(10_000, 10_000_000, work=100_000)).confluent


@given(presentations())
def test_normal_forms_agree_with_brute_force(omega):
    letters, pairs = omega.indexed
    rules = rules_of(omega.indexed)
    classes = brute_force_classes(letters, pairs, 5)
    for word in all_words(letters, 5):
        normal = rules.reduce(word)
        assert len(normal) <= len(word)
        if rules.confluent:  # equivalent words then have the same normal form
            assert normal == rules.reduce(classes[word])


@pytest.mark.slow
@given(presentations())
def test_random_presentations_agree_with_libsemigroups(omega):
    assume(agrees_with_libsemigroups(omega, 4))


SWAPS = [f"{s} {s} ~" for s in "abcd"]
BRAIDS = ["a b a ~ b a b", "b c b ~ c b c", "c d c ~ d c d", "a c ~ c a", "a d ~ d a", "b d ~ d b"]
GROUPS = {
    "S5": Equivalences(list("abcd"), SWAPS + BRAIDS),
    "D7": Equivalences(list("rs"), ["r r r r r r r ~", "s s ~", "s r s r ~"]),
    "Q8": Equivalences(list("ij"), ["i i i i ~", "i i ~ j j", "j i ~ i i i j"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*GROUPS, *priors.names()])
def test_groups_and_priors_agree_with_libsemigroups(name):
    omega = GROUPS[name] if name in GROUPS else priors.get(name)
    finished = agrees_with_libsemigroups(omega, 3 if len(omega.actions) > 4 else 6)
    assert finished == (name not in INCOMPLETE)


@pytest.mark.parametrize(
    ("letters", "pairs"),
    [
        # Only one of 24 orders completes, with little work or with much.
        (6, [((2, 3), (3, 1)), ((5,), (1, 1)), ((0, 5), ()), ((4, 0), (2, 2)), ((), (5, 2))]),
        (
            5,
            [
                ((1, 2, 3, 3, 2), (1, 2, 0, 4)),
                ((0,), ()),
                ((1, 2, 2, 1), (0, 4, 0, 3, 0)),
                ((0, 3, 1), (4, 4)),
                ((), (1, 1, 0, 4, 0)),
            ],
        ),
    ],
)
def test_the_work_suffices_for_systems_that_complete_late(letters, pairs):
    assert complete(letters, pairs).confluent


def test_the_work_of_all_orders_together_is_limited(monkeypatch):
    systems = []
    put = completion._System.__init__

    def remember(self, order):
        put(self, order)
        systems.append(self)

    monkeypatch.setattr(completion._System, "__init__", remember)
    pairs = [((0, 1), (0, 2)), ((0, 3, 3, 0), ())]
    rules = complete(4, pairs)
    work = sum(system.work for system in systems)
    assert not rules.confluent and len(systems) == 24
    assert 0 < work < 1.1 * Budget.default(2).work  # the last relation may exceed it a little
    assert complete(4, pairs).pairs == rules.pairs


@given(presentations())
def test_both_ways_to_reduce_agree(omega):
    letters, pairs = omega.indexed
    system = rules_of(omega.indexed)._system
    for word in all_words(letters, 5):
        encoded = system.encode(word)
        assert system._reduce_by_search(encoded) == system._reduce_by_suffix(encoded)
