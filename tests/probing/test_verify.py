import random

import ale_py
import gymnasium as gym
import minigrid
import numpy as np
import pytest
from gymnasium.wrappers import TimeAwareObservation, TimeLimit
from scipy.stats import binom

import easee
from easee import Equivalences, priors, verify
from easee.envs import CardinalGrid, RotationGrid
from easee.envs.grids import MOVES
from easee.probing.state_keys import minigrid_state

for package in (ale_py, minigrid):
    gym.register_envs(package)

UNDO = Equivalences(CardinalGrid.action_names, ["right left ~", "up down ~"])
SWAP = Equivalences(CardinalGrid.action_names, ["right up ~ up right", "left down ~ down left"])
TOGGLE = easee.idempotent("toggle")


class Slippery(gym.Wrapper):
    """Some steps go elsewhere."""

    def step(self, action):
        random = self.unwrapped.np_random
        return self.env.step(random.integers(4) if random.random() < 0.3 else action)


class Noisy(Slippery):
    """What is seen is never the same twice."""

    def step(self, action):
        observation, *others = super().step(action)
        return observation + self.unwrapped.np_random.normal(0, 0.01, 2), *others


class Counting(gym.Wrapper):
    """Counts the steps of all copies together."""

    taken = 0

    def step(self, action):
        Counting.taken += 1
        return self.env.step(action)


class Hidden(gym.ObservationWrapper):
    """Shows the row but not the column."""

    def observation(self, observation):
        return observation[1:]


def position(env):
    return tuple(env.unwrapped.state.tolist())


class Timed(gym.ObservationWrapper):
    """Shows the number of steps beside the place."""

    def observation(self, observation):
        return np.append(observation, self.env.get_wrapper_attr("_elapsed_steps"))


def counts(found):
    return [(c.trials, c.violations, c.inconclusive) for c in found.relations]


# --- priors that hold ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "env"),
    [
        ("cardinal-", "easee/CardinalGrid-v0"),
        ("rotation-", "easee/RotationGrid-v0"),
        ("doorkey", "easee/DoorKey-v0"),
    ],
)
def test_every_ready_made_prior_holds_where_it_is_meant_to(start, env):
    known = [priors.get(name) for name in priors.names() if name.startswith(start)]
    omega = Equivalences(known[0].actions, known)
    found = verify(gym.make(env), omega, states=50)
    assert found.holds and not found.random
    assert [(c.left, c.right) for c in found.relations] == list(omega)
    assert all(c.trials + c.inconclusive == 50 and c.trials > 40 for c in found.relations)
    assert all(c.rate == 0 and c.interval[1] < 0.1 for c in found.relations)


def test_what_is_false_is_found_false():
    omega = Equivalences(RotationGrid.action_names, ["left ~ right", "left left ~", "forward ~"])
    found = verify(RotationGrid(), omega, states=20)
    assert not found.holds and [c.rate for c in found.relations] == [1, 1, 1]


# --- priors that are broken ----------------------------------------------------------------------


def visits(size, steps):
    """Return how often a random walk from the middle is on every square, before each step."""
    squares = np.array([(x, y) for x in range(size) for y in range(size)])
    there = np.clip(squares[:, None] + MOVES, 0, size - 1) @ [size, 1]
    now = (squares == size // 2).all(axis=1).astype(float)
    total = np.zeros(size * size)
    for _ in range(steps):
        total += now
        now = np.bincount(there.ravel(), np.repeat(now / 4, 4), minlength=size * size)
    return squares, there, total / total.sum()


@pytest.mark.parametrize("seed", [0, 1])
def test_walls_break_inverses_as_often_as_the_walk_is_at_them(seed):
    squares, there, share = visits(3, 500)
    names = CardinalGrid.action_names
    omega = priors.get("cardinal-grid")
    found = verify(CardinalGrid(3), omega, states=300, eventful=0.0, seed=seed)
    for check in found.relations:
        ends = []
        for word in (check.left, check.right):
            end = np.arange(len(squares))
            for action in word:
                end = there[end, names.index(action)]
            ends.append(end)
        exact = share[ends[0] != ends[1]].sum()
        assert check.trials == 300
        least, most = binom.ppf([0.0005, 0.9995], 300, exact)
        assert least <= check.violations <= most
    assert not found.holds
    (undo,) = [c for c in found.relations if str(c) == "right left ~ Λ"]
    assert undo.interval[0] < 1 / 3 < undo.interval[1]


def test_counterexamples_are_states_where_it_breaks():
    found = verify(CardinalGrid(3), UNDO, states=50)
    for check, axis in zip(found.relations, (0, 1), strict=True):
        assert 0 < len(check.counterexamples) <= 3 and check.violations > 3
        for example in check.counterexamples:
            assert example.start[axis] == 2 and example.pictures is None
            np.testing.assert_array_equal(example.right, example.start)
            assert example.left[axis] == 1


def test_toggling_twice_is_not_toggling_once_and_there_are_pictures_of_it(tmp_path):
    env = gym.make("MiniGrid-DoorKey-6x6-v0", render_mode="rgb_array")
    found = verify(env, TOGGLE, states=40, state=minigrid_state)
    (check,) = found.relations
    assert check.violations > 0 and not found.random
    before, once, twice = (p.astype(int) for p in check.counterexamples[0].pictures)
    assert (once != twice).any() and before.shape == (192, 192, 3)
    path = check.counterexamples[0].save(tmp_path / "toggle.png", title=str(check))
    assert path.read_bytes().startswith(b"\x89PNG")


def test_without_a_picture_there_is_nothing_to_save(tmp_path):
    for mode in (None, "ansi"):
        found = verify(CardinalGrid(3, render_mode=mode), UNDO, states=20)
        with pytest.raises(easee.ArgumentError, match="rgb_array"):
            found.relations[0].counterexamples[0].save(tmp_path / "none.png")


# --- random environments -------------------------------------------------------------------------


def test_in_a_random_environment_distributions_are_compared():
    found = verify(Slippery(CardinalGrid()), SWAP | UNDO, states=20)
    assert found.random and any("random" in note for note in found.notes)
    assert [c.violations for c in found.relations[:2]] == [0, 0]
    assert [c.rate > 0.9 for c in found.relations[2:]] == [True, True]
    assert all(c.trials == 20 for c in found.relations)


def test_what_is_false_is_found_false_in_however_many_random_states():
    omega = Equivalences(CardinalGrid.action_names, ["right ~"])
    (check,) = verify(Slippery(CardinalGrid()), omega, states=260, repeats=10).relations
    assert check.rate > 0.9


def test_too_few_repeats_to_see_anything_are_refused():
    with pytest.raises(easee.ArgumentError, match="repeats .*at least 6"):
        verify(Slippery(CardinalGrid()), UNDO, states=20, repeats=3)


def test_random_outcomes_that_never_repeat_cannot_be_compared():
    with pytest.raises(easee.ArgumentError, match="state="):
        verify(Noisy(CardinalGrid()), SWAP, states=5)
    assert verify(Noisy(CardinalGrid()), SWAP, states=5, state=position).holds


def test_a_random_environment_without_copies_is_recognised():
    class Uncopyable(CardinalGrid):
        def __deepcopy__(self, memo):
            raise TypeError("no copies of this one")

    found = verify(TimeLimit(Slippery(Uncopyable()), 20), SWAP | UNDO, states=10)
    assert found.random and "starting over" in found.copies
    assert [c.violations > 0 for c in found.relations] == [False, False, True, True]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState, random.Random])
@pytest.mark.parametrize("nested", [False, True])
def test_randomness_of_the_environment_s_own_is_recognised(kind, nested):
    class Own(Slippery):
        def reset(self, *, seed=None, options=None):
            self.mine = kind(seed)
            if nested:
                self.mine = {"dice": [self.mine]}
            return super().reset(seed=seed, options=options)

        def step(self, action):
            dice = self.mine["dice"][0] if nested else self.mine
            return self.env.step((action + int(dice.random() < 0.2)) % 4)

    found = verify(TimeLimit(Own(CardinalGrid()), 20), UNDO, states=10)
    assert found.random and all(c.violations for c in found.relations)


def test_an_atari_game_with_sticky_actions_is_random():
    env = gym.make("ALE/Freeway-v5", obs_type="ram", frameskip=1)
    found = verify(env, Equivalences(["up", "down"], ["up ~ down"]), states=3, repeats=8)
    assert found.random and "clones" in found.copies


# --- what is compared ----------------------------------------------------------------------------


def test_observations_cannot_tell_apart_what_they_do_not_show():
    env = Hidden(CardinalGrid())
    omega = Equivalences(CardinalGrid.action_names, ["right ~", "up ~"])
    seen = verify(env, omega, states=20)
    assert [c.rate for c in seen.relations] == [0, 1]
    assert seen.compares == "observations" and "compared observations" in seen.notes
    read = verify(env, omega, states=20, state=position)
    assert [c.rate for c in read.relations] == [1, 1]
    assert read.compares != "observations" and f"compared {read.compares}" in read.notes


def test_notes_say_how_many_states_are_near_rare_effects():
    found = verify(gym.make("easee/DoorKey-v0"), priors.doorkey(), states=20, eventful=0.25)
    notes = "; ".join(found.notes)
    assert (
        "chose 15 states" in notes and "chose 5 of" in notes and "near effects of pickup" in notes
    )
    assert "deep copies" in found.copies and f"went back by {found.copies}" in found.notes


# --- names ---------------------------------------------------------------------------------------


def test_actions_are_found_by_name_in_any_case_and_order():
    omega = Equivalences(["Left", "RIGHT", "forward"], ["Left RIGHT ~", "forward ~"])
    found = verify(RotationGrid(), omega, states=20)
    assert [c.rate for c in found.relations] == [0, 1]
    assert found.relations[0].left == ("Left", "RIGHT")


def test_actions_may_be_renamed():
    omega = Equivalences(["ahead", "left", "right"], ["ahead ~", "left right ~"])
    found = verify(RotationGrid(), omega, states=20, rename={"ahead": "Forward"})
    assert [c.rate for c in found.relations] == [1, 0]


def test_an_unknown_name_is_an_error_that_lists_both():
    with pytest.raises(easee.ArgumentError) as caught:
        verify(RotationGrid(), Equivalences(["foward", "left"], ["foward ~ left"]))
    for text in ("'foward'", "foward, left", "forward, left, right", "rename=", "did you mean"):
        assert text in str(caught.value)


def test_only_actions_of_the_prior_can_be_renamed():
    with pytest.raises(easee.ArgumentError, match="'rigth'.*did you mean 'right'"):
        verify(RotationGrid(), priors.get("rotation-grid"), rename={"rigth": "left"})


def test_two_actions_are_not_one():
    with pytest.raises(easee.ArgumentError, match="'left' and 'right' would both be .* 'right'"):
        verify(RotationGrid(), priors.get("rotation-grid"), rename={"left": "right"})
    swapped = verify(
        *(RotationGrid(), priors.get("rotation-grid")),
        states=10,
        rename={"left": "right", "right": "left"},
    )
    assert swapped.holds


def test_errors_of_a_state_function_are_its_own():
    def broken(env):
        raise ValueError("no such field")

    with pytest.raises(ValueError, match="^no such field$"):
        verify(CardinalGrid(), UNDO, states=3, state=broken)


def test_actions_without_names_are_taken_in_their_order():
    env = gym.make("CartPole-v1")
    found = verify(env, priors.get("catcher"), states=20)
    assert found.relations[0].trials == 20 and not found.random
    by_name = verify(env, priors.get("catcher"), states=20, rename={"left": "0", "right": "1"})
    assert counts(by_name) == counts(found)
    with pytest.raises(easee.ArgumentError, match="environment 0, 1"):
        verify(env, priors.get("rotation-grid"))


# --- what cannot be verified ---------------------------------------------------------------------


def test_a_relation_longer_than_any_episode_is_refused():
    omega = Equivalences(CardinalGrid.action_names, [(("right",) * 11, ("left",) * 11)])
    with pytest.raises(easee.ArgumentError, match="cut off"):
        verify(TimeLimit(CardinalGrid(), 10), omega, states=20)


def test_states_too_near_the_end_of_an_episode_are_inconclusive():
    omega = Equivalences(CardinalGrid.action_names, ["right up left down ~"])
    (check,) = verify(TimeLimit(CardinalGrid(), 10), omega, states=50).relations
    assert check.trials + check.inconclusive == 50 and check.violations == 0
    assert 10 < check.inconclusive < 40  # four of ten


@pytest.mark.parametrize(
    ("wrapper", "field"),
    [
        (lambda env: TimeAwareObservation(env, flatten=False), r"\['time'\]"),
        (Timed, r"\[2\]"),
    ],
)
def test_observations_that_count_steps_are_refused_by_name(wrapper, field):
    env = wrapper(TimeLimit(CardinalGrid(), 50))
    with pytest.raises(easee.ArgumentError, match=f"count steps: {field}.*state="):
        verify(env, UNDO, states=10)
    assert verify(env, SWAP, states=10).holds  # both sides take as long
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
        ({"seed": -1}, "seed of at least 0, found -1"),
        ({"seed": None}, "seed as a whole number"),
        ({"state": "minigrid"}, "state as a function .* found 'minigrid'"),
    ],
)
def test_bad_arguments(options, says):
    chosen = {"env": CardinalGrid(), "omega": UNDO, **options}
    with pytest.raises(easee.ArgumentError, match=says):
        verify(chosen.pop("env"), chosen.pop("omega"), **chosen)


# --- again ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("env", [CardinalGrid(3), Slippery(CardinalGrid(3))])
def test_the_same_seed_sees_the_same(env):
    omega = UNDO | SWAP
    one, again, other = (verify(env, omega, states=20, repeats=8, seed=s) for s in (5, 5, 6))
    assert counts(one) == counts(again) and one.env_steps == again.env_steps
    assert counts(one) != counts(other)


def test_every_step_is_counted():
    env = Counting(CardinalGrid(3))
    Counting.taken = 0
    assert verify(env, UNDO, states=20).env_steps == Counting.taken > 10_000


def test_progress_is_told():
    told = []
    verify(CardinalGrid(), SWAP | UNDO, states=5, progress=lambda *told_: told.append(told_))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
