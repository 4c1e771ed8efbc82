import copy
import pickle

import ale_py
import gymnasium as gym
import minigrid
import numpy as np
import pytest
from gymnasium.wrappers import (
    FrameStackObservation,
    OrderEnforcing,
    PassiveEnvChecker,
    TimeLimit,
)

import easee
from easee._utils.digests import digest
from easee.envs import CardinalGrid
from easee.probing.probe import (
    CloningProbe,
    CopyingProbe,
    ProbeError,
    ReplayingProbe,
    make_probe,
    names_of,
)

CHECKS = (OrderEnforcing, PassiveEnvChecker)

for package in (ale_py, minigrid):
    gym.register_envs(package)


class Uncopyable(CardinalGrid):
    error = TypeError

    def __deepcopy__(self, memo):
        raise self.error("no copies of this one")


class Restless(Uncopyable):
    """It starts elsewhere at every reset, whatever the seed."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.state = np.random.default_rng().integers(100, size=2)
        return self.state.copy(), {}


class Slippery(gym.Wrapper):
    """Some steps go elsewhere."""

    def step(self, action):
        random = self.unwrapped.np_random
        return self.env.step(random.integers(4) if random.random() < 0.5 else action)


class Counting(gym.Wrapper):
    """Counts the steps of all copies together."""

    taken = 0

    def step(self, action):
        Counting.taken += 1
        return self.env.step(action)


def freeway(**options):
    return gym.make("ALE/Freeway-v5", **{"repeat_action_probability": 0.0, **options})


MAKERS = {
    "Freeway": (freeway, CloningProbe),
    "Freeway in stacks": (lambda: FrameStackObservation(freeway(), 3), CloningProbe),
    "CardinalGrid": (lambda: gym.make("easee/CardinalGrid-v0", size=5), CopyingProbe),
    "CardinalGrid in stacks": (lambda: FrameStackObservation(CardinalGrid(5), 3), CopyingProbe),
    "CartPole": (lambda: gym.make("CartPole-v1"), CopyingProbe),
    "MiniGrid": (lambda: gym.make("MiniGrid-DoorKey-6x6-v0"), CopyingProbe),
    "without copies": (lambda: Uncopyable(5), ReplayingProbe),
    "without copies, in stacks": (lambda: FrameStackObservation(Uncopyable(5), 3), ReplayingProbe),
}
ONE_OF_EACH = {name: MAKERS[name][0] for name in ("Freeway", "CardinalGrid", "without copies")}


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param][0]


@pytest.fixture(params=ONE_OF_EACH)
def make_one(request):
    return ONE_OF_EACH[request.param]


def words(n_actions, lengths, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(n_actions, size=length).tolist() for length in lengths]


def by_hand(env, seed, word):
    """Step an environment from a reset on, up to its end; return what `seen` returns."""
    observation, _ = env.reset(seed=seed)
    terminated = truncated = False
    for action in word:
        if not (terminated or truncated):
            observation, _, terminated, truncated, _ = env.step(action)
    return digest(observation), terminated, truncated


def seen(place):
    return digest(place.observation), place.terminated, place.truncated


# --- going back ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAKERS)
def test_every_environment_gets_the_first_kind_that_works(name):
    make, kind = MAKERS[name]
    assert type(make_probe(make())) is kind


def test_words_come_out_as_in_a_fresh_environment_again_and_again(make):
    probe = make_probe(make())
    first, second, third = words(probe.n_actions, (6, 1, 7))
    start = probe.reset(3)
    place = probe.after(start, first)
    fresh = make()
    tries = [(start, second), (place, second), (place, third), (start, [])]
    expected = [by_hand(fresh, 3, w) for w in (second, first + second, first + third, [])]
    for _ in range(2):
        assert [seen(probe.after(there, word)) for there, word in tries] == expected


def test_a_place_stays_what_it_is(make):
    probe = make_probe(make())
    place = probe.after(probe.reset(3), [0, 1])
    before, key = copy.deepcopy(place.observation), place.key
    for word in words(probe.n_actions, (5, 5)):
        probe.after(place, word)
    probe.reset(4)
    assert digest(place.observation) == digest(before)
    assert probe.after(place, []).key == place.key == key


def test_a_walk_is_the_places_of_its_beginnings(make):
    probe = make_probe(make())
    place = probe.reset(1)
    (word,) = words(probe.n_actions, (6,))
    walk = probe.walk(place, word)
    assert [seen(p) for p in walk] == [seen(probe.after(place, word[:i])) for i in range(7)]
    assert seen(probe.after(walk[-1], word)) == seen(probe.after(place, word + word))


def test_episodes_are_cut_off_in_time_wherever_one_goes_back_to(make_one):
    probe = make_probe(TimeLimit(make_one(), 5))
    place = probe.after(probe.reset(0), [1, 1, 1])
    for _ in range(3):
        assert not probe.after(place, [1]).truncated
        assert probe.after(place, [1, 1]).truncated


def test_a_place_where_the_episode_was_cut_off_stays(make_one):
    probe = make_probe(TimeLimit(make_one(), 5))
    end = probe.after(probe.reset(0), [1] * 9)
    steps = probe.steps
    again = probe.after(end, [2, 1])
    assert end.truncated and seen(again) == seen(end) and again.key == end.key
    assert probe.steps - steps in (0, 5)  # starting over takes five to get there


def test_a_place_where_the_episode_ended_stays():
    probe = make_probe(gym.make("CartPole-v1"))
    end = probe.after(probe.reset(0), [1] * 50)
    steps = probe.steps
    again = probe.after(end, [0, 0])
    assert end.terminated and seen(again) == seen(end) and again.key == end.key
    assert probe.steps == steps


def test_an_end_is_another_key_than_the_same_observation_before():
    class Ends(CardinalGrid):
        def step(self, action):
            observation, reward, _, _, info = super().step(action)
            return observation * 0, reward, action == 3, False, info

    probe = make_probe(Ends())
    start = probe.reset(0)
    assert probe.after(start, [0]).key == probe.after(start, [1]).key
    assert probe.after(start, [0]).key != probe.after(start, [3]).key


def test_every_step_is_counted(make_one):
    Counting.taken = 0
    probe = make_probe(Counting(make_one()))
    assert probe.steps == Counting.taken
    place = probe.after(probe.reset(0), [1] * 7)
    probe.walk(place, [1, 1, 1])
    probe.after(place, [])
    assert probe.steps == Counting.taken
    assert Counting.taken >= 10


def test_without_a_seed_every_reset_is_another():
    probe = make_probe(gym.make("CartPole-v1"))
    assert len({probe.reset(None).key for _ in range(5)}) == 5
    assert probe.reset(7).key == probe.reset(7).key


# --- randomness ----------------------------------------------------------------------------------


@pytest.mark.parametrize("world", [CardinalGrid, Uncopyable])
def test_randomness_repeats_itself_unless_it_is_fresh(world):
    probe = make_probe(Slippery(world()))
    place = probe.after(probe.reset(0), [0, 0])
    word = [0, 2, 0, 2]
    assert len({probe.after(place, word).key for _ in range(8)}) == 1
    fresh = [probe.after(place, word, fresh=seed).key for seed in range(8)]
    assert len(set(fresh)) > 1
    assert fresh == [probe.after(place, word, fresh=seed).key for seed in range(8)]
    there = [probe.after(probe.after(place, word, fresh=seed), word).key for seed in range(8)]
    assert there == [probe.after(place, word * 2, fresh=seed).key for seed in range(8)]


def test_sticky_actions_repeat_themselves_unless_they_are_fresh():
    probe = make_probe(freeway(repeat_action_probability=0.5))
    place = probe.after(probe.reset(0), [0, 0])
    word = [1, 2, 1, 0, 1]
    assert len({probe.after(place, word).key for _ in range(8)}) == 1
    assert len({probe.after(place, word, fresh=seed).key for seed in range(8)}) > 1


# --- pictures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: freeway(render_mode="rgb_array"),
        lambda: gym.make("MiniGrid-DoorKey-6x6-v0", render_mode="rgb_array"),
        lambda: gym.make("easee/CardinalGrid-v0", size=5, render_mode="ansi"),
        lambda: Uncopyable(5, render_mode="rgb_array"),
    ],
    ids=["Freeway", "MiniGrid", "CardinalGrid", "without copies"],
)
def test_a_picture_shows_the_place_wherever_the_environment_is(make):
    probe = make_probe(make())
    start = probe.reset(0)
    place = probe.after(start, [1, 1, 2] * 3)
    fresh = make()
    for there, word in ((start, []), (place, [1, 1, 2] * 3), (start, [])):
        by_hand(fresh, 0, word)
        np.testing.assert_array_equal(probe.picture(there), fresh.render())


def test_there_is_no_picture_without_a_mode():
    probe = make_probe(CardinalGrid())
    assert probe.picture(probe.reset(0)) is None


# --- what is compared ----------------------------------------------------------------------------


def test_a_function_may_say_what_is_compared():
    probe = make_probe(CardinalGrid(), state=lambda env: int(env.unwrapped.state[0]))
    start = probe.reset(0)
    assert probe.after(start, [2]).key == start.key != probe.after(start, [0]).key
    assert probe.compares != make_probe(CardinalGrid()).compares == "observations"


@pytest.mark.parametrize("read", [lambda env: env.unwrapped.state, lambda env: [1, 2]])
def test_a_state_must_be_hashable(read):
    with pytest.raises(easee.ArgumentTypeError, match="hashable"):
        make_probe(CardinalGrid(), state=read)


def test_actions_without_names_are_numbers():
    assert names_of(gym.make("CartPole-v1")) == ("0", "1")
    assert names_of(gym.make("easee/CardinalGrid-v0")) == ("right", "left", "up", "down")
    assert names_of(freeway()) == ("NOOP", "UP", "DOWN")


# --- which environments --------------------------------------------------------------------------


@pytest.mark.parametrize("error", [TypeError, RuntimeError, copy.Error, pickle.PicklingError])
def test_whatever_keeps_an_environment_from_being_copied_it_starts_over(error):
    env = Uncopyable()
    env.error = error
    assert isinstance(make_probe(env), ReplayingProbe)


def test_an_environment_that_cannot_be_put_back_is_refused():
    with pytest.raises(ProbeError, match="cannot be put back") as caught:
        make_probe(Restless())
    assert "no copies of this one" in str(caught.value)
    assert "came out differently" in str(caught.value)


class FromOne(CardinalGrid):
    def __init__(self):
        super().__init__()
        self.action_space = gym.spaces.Discrete(4, start=1)


@pytest.mark.parametrize(
    ("env", "says"),
    [
        (lambda: gym.make("Pendulum-v1"), "Box"),
        (FromOne, "start=1"),
        (lambda: "CartPole-v1", "found str"),
        (lambda: gym.make_vec("CartPole-v1", 2), "environment"),
    ],
)
def test_only_environments_with_a_list_of_actions(env, says):
    with pytest.raises(easee.ArgumentTypeError, match=says):
        make_probe(env())


@pytest.mark.parametrize(
    "around", [lambda env: env, lambda env: FrameStackObservation(env, 2)], ids=["made", "stacked"]
)
def test_wrappers_that_only_check_are_left_out_and_the_caller_keeps_them(around):
    def layers(env):
        while isinstance(env, gym.Wrapper):
            yield type(env)
            env = env.env

    env = around(gym.make("CartPole-v1"))
    before = list(layers(env))
    probe = make_probe(env)
    assert list(layers(probe.env)) == [kind for kind in before if not issubclass(kind, CHECKS)]
    assert list(layers(env)) == before and set(before) >= set(CHECKS)
    env.reset(seed=0)
    env.step(0)


# --- copies that are none ------------------------------------------------------------------------


class Moves(gym.Env):
    """Its moves are functions that know this one; copies would move it instead of themselves."""

    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Discrete(11)
    action_names = ("left", "right")

    def __init__(self):
        self.place = 5
        self.moves = [lambda: self.go(-1), lambda: self.go(1)]

    def go(self, by):
        self.place = min(max(self.place + by, 0), 10)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 5
        return self.place, {}

    def step(self, action):
        self.moves[action]()
        return self.place, 0.0, False, False, {}


def shown_by_a_function():
    env = CardinalGrid(20)
    return gym.wrappers.TransformObservation(env, lambda _: env.state.copy(), env.observation_space)


@pytest.mark.parametrize(
    ("make", "pair"), [(Moves, "left ~ right"), (shown_by_a_function, "right ~ left")]
)
def test_a_copy_that_moves_or_shows_the_original_is_found_out(make, pair):
    env = make()
    omega = easee.Equivalences(env.get_wrapper_attr("action_names"), [pair])
    found = easee.verify(env, omega, states=20)
    assert "starting over" in found.copies and found.relations[0].rate > 0.9


# --- counters ------------------------------------------------------------------------------------


class Ring(gym.Env):
    """Whatever is done goes one place on."""

    observation_space = gym.spaces.Discrete(12)

    def __init__(self, actions):
        self.action_space = gym.spaces.Discrete(len(actions))
        self.action_names = actions

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return 0, {}

    def step(self, action):
        self.place = (self.place + 1) % 12
        return self.place, 0.0, False, False, {}


@pytest.mark.parametrize("actions", [("walk",), ("walk", "run")])
def test_what_goes_round_is_no_counter(actions):
    omega = easee.Equivalences(actions, ["walk " * 12 + "~"])
    assert easee.verify(Ring(actions), omega, states=10).holds
    found = easee.discover(Ring(actions), states=10, max_length=2).equivalences
    assert len(found) == len(actions) - 1
