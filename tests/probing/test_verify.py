import random

import ale_py
import gymnasium as gym
import minigrid
import numpy as np
import pytest
from gymnasium.wrappers import TimeAwareObservation, TimeLimit
from scipy.stats import binom

import easee
from easee import Equivalences, compile, priors, verify
from easee.envs import CardinalGrid, RotationGrid
from easee.envs.doorkey import DoorKey
from easee.envs.grids import MOVES
from easee.envs.minigrid import minigrid_state
from easee.probing.evidence import RelationCheck
from easee.probing.verify import Verification
from tests.worlds import JumpRing, Line

for package in (ale_py, minigrid):
    gym.register_envs(package)

UNDO = Equivalences(CardinalGrid.action_names, ["right left ~", "up down ~"])
SWAP = Equivalences(CardinalGrid.action_names, ["right up ~ up right", "left down ~ down left"])
TOGGLE = easee.idempotent("toggle")


class Slippery(gym.Wrapper):
    """A wrapper that replaces some actions by random ones."""

    def step(self, action):
        random = self.unwrapped.np_random
        return self.env.step(random.integers(4) if random.random() < 0.3 else action)


class Noisy(Slippery):
    """A random environment whose observations never repeat."""

    def step(self, action):
        observation, *others = super().step(action)
        return observation + self.unwrapped.np_random.normal(0, 0.01, 2), *others


class Counting(gym.Wrapper):
    """A wrapper that counts the steps of all copies together."""

    taken = 0

    def step(self, action):
        Counting.taken += 1
        return self.env.step(action)


class Hidden(gym.ObservationWrapper):
    """A wrapper that shows y but not x."""

    def observation(self, observation):
        return observation[1:]


def position(env):
    return tuple(env.unwrapped.state.tolist())


class Timed(gym.ObservationWrapper):
    """A wrapper that appends the number of steps to the observation."""

    def observation(self, observation):
        return np.append(observation, self.env.get_wrapper_attr("_elapsed_steps"))


def counts(result):
    return [(c.trials, c.violations, c.inconclusive) for c in result.relations]


# --- priors that hold ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "env"),
    [
        ("cardinal-", "easee/CardinalGrid-v0"),
        ("rotation-", "easee/RotationGrid-v0"),
        ("doorkey", "easee/DoorKey-v0"),
    ],
)
def test_ready_made_priors_hold_in_their_environments(start, env):
    names = [name for name in priors.names() if name.startswith(start) and "usual" not in name]
    known = [priors.get(name) for name in names]
    omega = Equivalences(known[0].actions, known)
    result = verify(gym.make(env), omega, states=50)
    assert result.holds and not result.random
    assert [(c.left, c.right) for c in result.relations] == list(omega)
    assert all(c.trials + c.inconclusive == 50 and c.trials > 40 for c in result.relations)
    assert all(c.rate == 0 and c.interval[1] < 0.1 for c in result.relations)


@pytest.mark.slow
def test_false_relations_fail_in_every_state():
    omega = Equivalences(RotationGrid.action_names, ["left ~ right", "left left ~", "forward ~"])
    result = verify(RotationGrid(), omega, states=20)
    assert not result.holds and [c.rate for c in result.relations] == [1, 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_the_prior_with_measured_rates(seed):
    names = JumpRing.action_names
    omega = Equivalences(names, ["jump ~", "wait ~", "left ~", "left right ~ @ 0.3"])
    result = verify(JumpRing(20), omega, states=400, seed=seed)
    measured = result.equivalences
    assert result.prior is omega and measured.actions == names
    # `left ~` fails everywhere, and is left out.
    assert measured.pairs == (omega.pairs[0], omega.pairs[1], omega.pairs[3])
    assert measured.rates[1:].tolist() == [0, 0]
    # Every use of an action in a rollout is a trial of the relation that it does nothing.
    trials, violations = result.relations[0].met or (0, 0)
    assert trials > 10_000 and violations / trials == pytest.approx(2 / 20, abs=0.03)
    assert measured.rates[0] == pytest.approx(violations / trials, rel=1e-3)
    uses, effects = result.relations[2].met or (0, 1)
    assert uses == effects and result.relations[2].violations == 400
    # Of other relations, only states as rollouts meet them count, not those near rare effects.
    met = result.relations[3].met
    assert met is not None and 0 < met[0] < result.relations[3].trials == 400


@pytest.mark.parametrize(
    ("counts", "rate"),
    [
        ((200, 40, (100, 8)), 0.08),
        ((200, 0, (100, 0)), 0.0),
        ((200, 40, (100, 0)), 0.036),  # the upper end of the interval of 0 in 100
        ((20, 5, (20, 5)), 0.49),  # few trials: the upper end of the interval of 5 in 20
        ((20, 0, (20, 0)), 0.17),
        ((10**6, 1, (10**6, 1)), 1e-6),  # is not rounded to an exact relation
        ((100, 25, None), 0.25),
    ],
)
def test_rates_of_few_trials_are_careful(counts, rate):
    trials, violations, met = counts
    check = RelationCheck(("a",), (), trials, violations, met=met)
    assert check.prior_rate == pytest.approx(rate)


def test_relations_that_failed_in_most_states_are_kept_with_a_rate_below_1():
    checks = [
        RelationCheck(("a",), (), 20, 19, met=(20, 19)),
        RelationCheck(("b",), (), 20, 1, met=(0, 0)),  # never used in rollouts from resets
        RelationCheck(("c",), (), 20, 20, met=(20, 20)),
    ]
    omega = Equivalences("a b c".split(), ["a ~", "b ~", "c ~"])
    result = Verification(omega, tuple(checks), 0, "", "", False, ())
    assert result.equivalences.pairs == omega.pairs[:2]
    assert result.equivalences.rates.tolist() == [0.99, 0.99]


def test_effects_in_rollouts_are_violations_even_if_no_state_shows_one():
    check = RelationCheck(("pickup",), (), 200, 0, met=(9977, 31))
    assert check.failed and check.verdict == "usually holds" and check.prior_rate > 0
    omega = Equivalences(["pickup"], ["pickup ~"])
    assert not Verification(omega, (check,), 0, "", "", False, ()).holds


@pytest.mark.parametrize("seed", range(5))
def test_rare_effects_that_were_seen_are_among_the_states(seed):
    """Two of 200 squares are special, and four states are tried near their effects."""
    omega = Equivalences(JumpRing.action_names, ["jump ~", "jump jump ~ jump"])
    result = verify(JumpRing(200), omega, states=8, seed=seed, rollout=10_000)
    assert [check.verdict for check in result.relations].count("holds") == 0
    assert not result.holds and all(check.violations for check in result.relations)
    assert result.equivalences.rates.min() > 0


@pytest.mark.slow
def test_actions_with_rare_effects_are_not_found_to_do_nothing():
    seed = 0  # with which rollouts from resets never open the door
    omega = Equivalences(DoorKey.action_names, ["pickup ~", "open ~"])
    result = verify(DoorKey(), omega, seed=seed)
    assert [check.verdict for check in result.relations] == ["usually holds"] * 2
    assert compile(result.equivalences, 2).never_taken == ()


# --- priors that are broken ----------------------------------------------------------------------


def visits(size, steps):
    """Return the squares, their successors, and the share of a random walk's time on each."""
    squares = np.array([(x, y) for x in range(size) for y in range(size)])
    successors = np.clip(squares[:, None] + MOVES, 0, size - 1) @ [size, 1]
    current = (squares == size // 2).all(axis=1).astype(float)
    total = np.zeros(size * size)
    for _ in range(steps):
        total += current
        weights = np.repeat(current / 4, 4)
        current = np.bincount(successors.ravel(), weights, minlength=size * size)
    return squares, successors, total / total.sum()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_rates_of_violations_near_walls_equal_the_exact_ones(seed):
    squares, successors, share = visits(3, 500)
    names = CardinalGrid.action_names
    omega = priors.get("cardinal-grid")
    result = verify(CardinalGrid(3), omega, states=300, eventful=0.0, seed=seed)
    for check in result.relations:
        ends = []
        for word in (check.left, check.right):
            end = np.arange(len(squares))
            for action in word:
                end = successors[end, names.index(action)]
            ends.append(end)
        exact = share[ends[0] != ends[1]].sum()
        assert check.trials == 300
        least, most = binom.ppf([0.0005, 0.9995], 300, exact)
        assert least <= check.violations <= most
    assert not result.holds
    (undo,) = [c for c in result.relations if str(c) == "right left ~ Λ"]
    assert undo.interval[0] < 1 / 3 < undo.interval[1]


def test_counterexamples_are_violations():
    result = verify(CardinalGrid(3), UNDO, states=50)
    for check, axis in zip(result.relations, (0, 1), strict=True):
        assert 0 < len(check.counterexamples) <= 3 and check.violations > 3
        for example in check.counterexamples:
            assert example.start[axis] == 2 and example.pictures is None
            np.testing.assert_array_equal(example.right, example.start)
            assert example.left[axis] == 1


@pytest.mark.slow
def test_counterexamples_of_minigrid_have_pictures(tmp_path):
    env = gym.make("MiniGrid-DoorKey-6x6-v0", render_mode="rgb_array")
    result = verify(env, TOGGLE, states=40, state=minigrid_state)
    (check,) = result.relations
    assert check.violations > 0 and not result.random
    example = check.counterexamples[0]
    assert example.pictures is not None
    before, twice, once = (picture.astype(int) for picture in example.pictures)
    assert (once != twice).any() and before.shape == (192, 192, 3)
    path = example.save(tmp_path / "toggle.png", title=str(check))
    assert path.read_bytes().startswith(b"\x89PNG")


def test_saving_without_pictures_raises(tmp_path):
    for mode in (None, "ansi"):
        result = verify(CardinalGrid(3, render_mode=mode), UNDO, states=20)
        with pytest.raises(easee.ArgumentError, match="rgb_array"):
            result.relations[0].counterexamples[0].save(tmp_path / "none.png")


# --- random environments -------------------------------------------------------------------------


@pytest.mark.slow
def test_distributions_are_compared_in_random_environments():
    result = verify(Slippery(CardinalGrid()), SWAP | UNDO, states=20)
    assert result.random and any("random" in note for note in result.notes)
    assert [c.violations for c in result.relations[:2]] == [0, 0]
    assert [c.rate > 0.9 for c in result.relations[2:]] == [True, True]
    assert all(c.trials == 20 for c in result.relations)


@pytest.mark.slow
def test_false_relations_fail_in_many_random_states():
    omega = Equivalences(CardinalGrid.action_names, ["right ~"])
    (check,) = verify(Slippery(CardinalGrid()), omega, states=260, repeats=10).relations
    assert check.rate > 0.9


def test_too_few_repeats_are_rejected():
    with pytest.raises(easee.ArgumentError, match="repeats .*at least 6"):
        verify(Slippery(CardinalGrid()), UNDO, states=20, repeats=3)


def test_random_outcomes_that_never_repeat_cannot_be_compared():
    with pytest.raises(easee.ArgumentError, match="state="):
        verify(Noisy(CardinalGrid()), SWAP, states=5)
    assert verify(Noisy(CardinalGrid()), SWAP, states=5, state=position).holds


@pytest.mark.slow
def test_random_environments_that_cannot_be_copied_are_recognised():
    class Uncopyable(CardinalGrid):
        def __deepcopy__(self, memo):
            raise TypeError("this environment cannot be copied")

    result = verify(TimeLimit(Slippery(Uncopyable()), 20), SWAP | UNDO, states=10)
    assert result.random and "replaying" in result.copies
    assert [c.violations > 0 for c in result.relations] == [False, False, True, True]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState, random.Random])
@pytest.mark.parametrize("nested", [False, True])
def test_generators_inside_the_environment_are_recognised(kind, nested):
    class Own(Slippery):
        def reset(self, *, seed=None, options=None):
            self.mine = kind(seed)
            if nested:
                self.mine = {"dice": [self.mine]}
            return super().reset(seed=seed, options=options)

        def step(self, action):
            dice = self.mine["dice"][0] if nested else self.mine
            return self.env.step((action + int(dice.random() < 0.2)) % 4)

    result = verify(TimeLimit(Own(CardinalGrid()), 20), UNDO, states=10)
    assert result.random and all(c.violations for c in result.relations)


@pytest.mark.slow
def test_an_atari_game_with_sticky_actions_is_random():
    env = gym.make("ALE/Freeway-v5", obs_type="ram", frameskip=1)
    result = verify(env, Equivalences(["up", "down"], ["up ~ down"]), states=3, repeats=8)
    assert result.random and "clones" in result.copies


# --- what is compared ----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_state_function_sees_more_than_observations():
    env = Hidden(CardinalGrid())
    omega = Equivalences(CardinalGrid.action_names, ["right ~", "up ~"])
    observed = verify(env, omega, states=20)
    assert [c.rate for c in observed.relations] == [0, 1]
    assert observed.compares == "observations" and "compared observations" in observed.notes
    read = verify(env, omega, states=20, state=position)
    assert [c.rate for c in read.relations] == [1, 1]
    assert read.compares != "observations" and f"compared {read.compares}" in read.notes


@pytest.mark.parametrize("state", [None, "observation", minigrid_state])
def test_the_whole_state_of_a_minigrid_is_compared_by_default(state):
    env = gym.make("MiniGrid-DoorKey-6x6-v0")
    omega = Equivalences(["left", "right"], ["left right ~"])
    compares = verify(env, omega, states=3, rollout=100, state=state).compares
    assert compares == ("observations" if state == "observation" else "MiniGrid's whole states")
    assert verify(CardinalGrid(), UNDO, states=3, rollout=100).compares == "observations"


@pytest.mark.slow
def test_notes_describe_the_states():
    result = verify(gym.make("easee/DoorKey-v0"), priors.doorkey(), states=20, eventful=0.25)
    notes = "; ".join(result.notes)
    for text in ("sampled 15 states", "sampled 5 of", "near effects of pickup"):
        assert text in notes
    assert "deep copies" in result.copies and f"restored states by {result.copies}" in result.notes


# --- names ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_actions_are_matched_by_name_in_any_case_and_order():
    omega = Equivalences(["Left", "RIGHT", "forward"], ["Left RIGHT ~", "forward ~"])
    result = verify(RotationGrid(), omega, states=20)
    assert [c.rate for c in result.relations] == [0, 1]
    assert result.relations[0].left == ("Left", "RIGHT")


@pytest.mark.slow
def test_actions_can_be_renamed():
    omega = Equivalences(["ahead", "left", "right"], ["ahead ~", "left right ~"])
    result = verify(RotationGrid(), omega, states=20, rename={"ahead": "Forward"})
    assert [c.rate for c in result.relations] == [1, 0]


def test_the_error_for_an_unknown_name_lists_all_names():
    with pytest.raises(easee.ArgumentError) as caught:
        verify(RotationGrid(), Equivalences(["foward", "left"], ["foward ~ left"]))
    for text in ("'foward'", "foward, left", "forward, left, right", "rename=", "did you mean"):
        assert text in str(caught.value)


def test_only_actions_of_the_prior_can_be_renamed():
    with pytest.raises(easee.ArgumentError, match="'rigth'.*did you mean 'right'"):
        verify(RotationGrid(), priors.get("rotation-grid"), rename={"rigth": "left"})


def test_two_actions_cannot_be_renamed_to_one():
    with pytest.raises(easee.ArgumentError, match="'left' and 'right' would both be .* 'right'"):
        verify(RotationGrid(), priors.get("rotation-grid"), rename={"left": "right"})
    swap = {"left": "right", "right": "left"}
    swapped = verify(RotationGrid(), priors.get("rotation-grid"), states=10, rename=swap)
    assert swapped.holds


def test_names_may_differ_only_in_case():
    omega = Equivalences(["A", "a"], ["a A ~ A a", "a ~"])
    result = verify(Line(), omega, states=20, names=["a", "A"])
    assert [c.violations for c in result.relations] == [0, 20]
    left = result.relations[1].counterexamples[0]
    assert left.left == left.start - 1  # "a", not "A"


def test_actions_may_be_numbers():
    env = gym.make("FrozenLake-v1", is_slippery=False)
    numbered = Equivalences(["0", "1"], ["0 0 ~ 0", "0 ~ 1"])
    named = Equivalences(["left", "down"], ["left left ~ left", "left ~ down"])
    assert counts(verify(env, numbered, states=20)) == counts(verify(env, named, states=20))
    verify(env, Equivalences(["3", "1", "2", "0"], ["3 ~ 1"]), states=5)


def test_errors_of_a_state_function_are_not_caught():
    def broken(env):
        raise ValueError("no such field")

    with pytest.raises(ValueError, match="^no such field$"):
        verify(CardinalGrid(), UNDO, states=3, state=broken)


def test_actions_without_names_are_matched_by_number(caplog):
    env = Line()
    result = verify(env, priors.get("catcher"), states=20)
    assert result.relations[0].trials == 20 and not result.random
    order = "the prior's are taken in order: left=0, right=1"
    assert order in result.notes[0] and order in caplog.text
    by_name = verify(env, priors.get("catcher"), states=20, rename={"left": "0", "right": "1"})
    assert counts(by_name) == counts(result)
    assert "in order" not in "".join(by_name.notes)
    with pytest.raises(easee.ArgumentError, match="environment 0, 1"):
        verify(env, priors.get("rotation-grid"))


def test_names_replace_the_environment_s():
    omega = Equivalences(["back", "ahead"], ["back ahead ~ ahead back"])
    with pytest.raises(easee.ArgumentError, match=r"prior has back, ahead, the environment left"):
        verify(gym.make("CartPole-v1"), omega)
    result = verify(Line(), omega, states=20, names=["ahead", "back"])
    assert result.relations[0].trials == 20 and "in order" not in "".join(result.notes)
    with pytest.raises(easee.ArgumentError, match="environment's 2 actions"):
        verify(Line(), omega, names=["back", "ahead", "wait"])


# --- relations that cannot be verified -----------------------------------------------------------


def test_a_relation_longer_than_any_episode_is_rejected():
    omega = Equivalences(CardinalGrid.action_names, [(("right",) * 11, ("left",) * 11)])
    with pytest.raises(easee.ArgumentError, match="truncated"):
        verify(TimeLimit(CardinalGrid(), 10), omega, states=20)


def test_states_too_near_the_end_of_an_episode_are_inconclusive():
    omega = Equivalences(CardinalGrid.action_names, ["right up left down ~"])
    (check,) = verify(TimeLimit(CardinalGrid(), 10), omega, states=50).relations
    assert check.trials + check.inconclusive == 50 and check.violations == 0
    assert 10 < check.inconclusive < 40  # about four of ten


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrapper", "field"),
    [
        (lambda env: TimeAwareObservation(env, flatten=False), r"\['time'\]"),
        (Timed, r"\[2\]"),
    ],
)
def test_observations_that_count_steps_are_rejected(wrapper, field):
    env = wrapper(TimeLimit(CardinalGrid(), 50))
    with pytest.raises(easee.ArgumentError, match=f"count steps: {field}.*state="):
        verify(env, UNDO, states=10)
    assert verify(env, SWAP, states=10).holds  # both sides have the same length
    assert verify(env, UNDO, states=10, state=position).holds


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"omega": "right left ~"}, "expected Equivalences, found str"),
        ({"env": "CartPole-v1"}, "Gymnasium environment, found str"),
        ({"env": gym.make("Pendulum-v1")}, "Discrete"),
        ({"states": 0}, "states of at least 1"),
        ({"states": 2.5}, "states as a whole number"),
        ({"repeats": 1}, "repeats of at least 2"),
        ({"eventful": -1}, "eventful between 0 and 1"),
        ({"rollout": 0}, "rollout of at least 1"),
        ({"seed": -1}, "seed of at least 0, found -1"),
        ({"seed": None}, "seed as a whole number"),
        ({"state": "minigrid"}, "requires a MiniGrid"),
        ({"state": 3}, "state as a string .* or as a function .* found 3"),
    ],
)
def test_invalid_arguments_are_rejected(options, says):
    chosen = {"env": CardinalGrid(), "omega": UNDO, **options}
    with pytest.raises(easee.ArgumentError, match=says):
        verify(chosen.pop("env"), chosen.pop("omega"), **chosen)


# --- reproducibility and cost --------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("env", [CardinalGrid(3), Slippery(CardinalGrid(3))])
def test_equal_seeds_give_equal_results(env):
    omega = UNDO | SWAP
    one, again, other = (verify(env, omega, states=20, repeats=8, seed=s) for s in (5, 5, 6))
    assert counts(one) == counts(again) and one.env_steps == again.env_steps
    assert counts(one) != counts(other)


def test_all_steps_are_counted():
    env = Counting(CardinalGrid(3))
    Counting.taken = 0
    assert verify(env, UNDO, states=20).env_steps == Counting.taken > 10_000


def test_progress_is_reported():
    reports = []
    verify(CardinalGrid(), SWAP | UNDO, states=5, progress=lambda *counts: reports.append(counts))
    steps, expected = zip(*reports, strict=True)
    assert list(steps) == sorted(steps) and steps[-1] == expected[-1]
    assert steps[0] < 100 and expected[0] > 10_000  # a forecast from the start


# --- tables --------------------------------------------------------------------------------------


def test_results_are_tables():
    omega = Equivalences(JumpRing.action_names, ["jump ~", "left right ~", "left ~ right"])
    result = verify(JumpRing(40), omega, states=50, seed=1)
    lines = str(result).splitlines()
    assert lines[0].split() == ["relation", "states", "fails", "in", "share", "[95%]"]
    assert lines[2].startswith("jump ~ Λ") and lines[3].endswith("holds")
    assert lines[4].endswith("50        50  100.0% [92.9, 100.0]  never holds")
    assert result._repr_html_().count("<tr>") == 4
    assert repr(result).startswith("Verification(3 relations: 1 holds, ")
