import copy
import pickle
import time

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
from easee.errors import ProbeError
from easee.probing.probe import (
    CloningProbe,
    CopyingProbe,
    MemberChanged,
    ReplayingProbe,
    SavingProbe,
    make_probe,
)

CHECKS = (OrderEnforcing, PassiveEnvChecker)

for package in (ale_py, minigrid):
    gym.register_envs(package)


class Uncopyable(CardinalGrid):
    error = TypeError

    def __deepcopy__(self, memo):
        raise self.error("this environment cannot be copied")


class Restless(Uncopyable):
    """An environment that starts in a random state, whatever the seed."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.state = np.random.default_rng().integers(100, size=2)
        return self.state.copy(), {}


class Slippery(gym.Wrapper):
    """A wrapper that replaces some actions by random ones."""

    def step(self, action):
        random = self.unwrapped.np_random
        return self.env.step(random.integers(4) if random.random() < 0.5 else action)


class Counting(gym.Wrapper):
    """A wrapper that counts the steps of all copies together."""

    taken = 0

    def step(self, action):
        Counting.taken += 1
        return self.env.step(action)


def freeway(**options):
    return gym.make("ALE/Freeway-v5", **{"repeat_action_probability": 0.0, **options})


def unpicklable():
    class Local(CardinalGrid):
        """A class that pickle does not find by its name."""

    return Local(5)


class TableGrid(CardinalGrid):
    """A grid with a large table, which copies share, and a list of the cells visited."""

    def __init__(self, size=5):
        super().__init__(size)
        self.table = {(x, y): [(1.0, x, y)] for x in range(20) for y in range(20)}
        self.visited = []

    def step(self, action):
        self.visited.append(int(action))
        return super().step(action)


MAKERS = {
    "Freeway": (freeway, CloningProbe),
    "Freeway stacked": (lambda: FrameStackObservation(freeway(), 3), CloningProbe),
    "CardinalGrid": (lambda: gym.make("easee/CardinalGrid-v0", size=5), SavingProbe),
    "CardinalGrid stacked": (lambda: FrameStackObservation(CardinalGrid(5), 3), SavingProbe),
    "CartPole": (lambda: gym.make("CartPole-v1"), SavingProbe),
    "MiniGrid": (lambda: gym.make("MiniGrid-DoorKey-6x6-v0"), SavingProbe),
    "Taxi": (lambda: gym.make("Taxi-v4"), SavingProbe),
    "table": (TableGrid, SavingProbe),
    "unpicklable": (unpicklable, CopyingProbe),
    "uncopyable": (lambda: Uncopyable(5), ReplayingProbe),
    "uncopyable, stacked": (lambda: FrameStackObservation(Uncopyable(5), 3), ReplayingProbe),
}
ONE_PER_METHOD = {
    name: MAKERS[name][0] for name in ("Freeway", "CardinalGrid", "unpicklable", "uncopyable")
}


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param][0]


@pytest.fixture(params=ONE_PER_METHOD)
def make_per_method(request):
    return ONE_PER_METHOD[request.param]


def words(n_actions, lengths, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(n_actions, size=length).tolist() for length in lengths]


def step_directly(env, seed, word):
    """Step a new episode up to its end; return what `outcome` returns for its last state."""
    observation, _ = env.reset(seed=seed)
    terminated = truncated = False
    for action in word:
        if not (terminated or truncated):
            observation, _, terminated, truncated, _ = env.step(action)
    return digest(observation), terminated, truncated


def outcome(snapshot):
    return digest(snapshot.observation), snapshot.terminated, snapshot.truncated


# --- restoring states ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAKERS)
def test_make_probe_chooses_the_first_method_that_works(name):
    make, kind = MAKERS[name]
    assert type(make_probe(make())) is kind


def test_outcomes_equal_those_of_a_new_environment(make):
    probe = make_probe(make())
    first, second, third = words(probe.n_actions, (6, 1, 7))
    start = probe.reset(3)
    middle = probe.after(start, first)
    env = make()
    executions = [(start, second), (middle, second), (middle, third), (start, [])]
    expected = [step_directly(env, 3, w) for w in (second, first + second, first + third, ())]
    for _ in range(2):
        assert [outcome(probe.after(snapshot, word)) for snapshot, word in executions] == expected


def test_executing_words_does_not_change_a_snapshot(make):
    probe = make_probe(make())
    snapshot = probe.after(probe.reset(3), [0, 1])
    before, key = copy.deepcopy(snapshot.observation), snapshot.key
    for word in words(probe.n_actions, (5, 5)):
        probe.after(snapshot, word)
    probe.reset(4)
    assert digest(snapshot.observation) == digest(before)
    assert probe.after(snapshot, []).key == snapshot.key == key


def test_a_walk_contains_the_outcomes_of_all_prefixes(make):
    probe = make_probe(make())
    snapshot = probe.reset(1)
    (word,) = words(probe.n_actions, (6,))
    walk = probe.walk(snapshot, word)
    prefixes = [word[:i] for i in range(7)]
    assert list(map(outcome, walk)) == [outcome(probe.after(snapshot, w)) for w in prefixes]
    assert outcome(probe.after(walk[-1], word)) == outcome(probe.after(snapshot, word + word))


def test_time_limits_are_restored(make_per_method):
    probe = make_probe(TimeLimit(make_per_method(), 5))
    snapshot = probe.after(probe.reset(0), [1, 1, 1])
    for _ in range(3):
        assert not probe.after(snapshot, [1]).truncated
        assert probe.after(snapshot, [1, 1]).truncated


def test_actions_after_a_truncated_episode_are_ignored(make_per_method):
    probe = make_probe(TimeLimit(make_per_method(), 5))
    end = probe.after(probe.reset(0), [1] * 9)
    steps = probe.steps
    repeated = probe.after(end, [2, 1])
    assert end.truncated and outcome(repeated) == outcome(end) and repeated.key == end.key
    assert probe.steps - steps in (0, 5)  # replaying takes five steps


def test_actions_after_a_terminated_episode_are_ignored():
    probe = make_probe(gym.make("CartPole-v1"))
    end = probe.after(probe.reset(0), [1] * 50)
    steps = probe.steps
    repeated = probe.after(end, [0, 0])
    assert end.terminated and outcome(repeated) == outcome(end) and repeated.key == end.key
    assert probe.steps == steps


def test_keys_distinguish_terminated_episodes():
    class Ends(CardinalGrid):
        def step(self, action):
            observation, reward, _, _, info = super().step(action)
            return observation * 0, reward, action == 3, False, info

    probe = make_probe(Ends())
    start = probe.reset(0)
    assert probe.after(start, [0]).key == probe.after(start, [1]).key
    assert probe.after(start, [0]).key != probe.after(start, [3]).key


def test_all_steps_are_counted(make_per_method):
    Counting.taken = 0
    probe = make_probe(Counting(make_per_method()))
    assert probe.steps == Counting.taken
    snapshot = probe.after(probe.reset(0), [1] * 7)
    probe.walk(snapshot, [1, 1, 1])
    probe.after(snapshot, [])
    assert probe.steps == Counting.taken
    assert Counting.taken >= 10


def test_resets_depend_on_the_seed():
    probe = make_probe(gym.make("CartPole-v1"))
    assert len({probe.reset(seed).key for seed in range(5)}) == 5
    assert probe.reset(7).key == probe.reset(7).key


# --- randomness ----------------------------------------------------------------------------------


@pytest.mark.parametrize("world", [CardinalGrid, Uncopyable])
def test_randomness_is_restored_unless_a_seed_is_given(world):
    probe = make_probe(Slippery(world()))
    snapshot = probe.after(probe.reset(0), [0, 0])
    word = [0, 2, 0, 2]
    assert len({probe.after(snapshot, word).key for _ in range(8)}) == 1
    outcomes = [probe.after(snapshot, word, seed=seed).key for seed in range(8)]
    assert len(set(outcomes)) > 1
    assert outcomes == [probe.after(snapshot, word, seed=seed).key for seed in range(8)]
    continued = [probe.after(probe.after(snapshot, word, seed=seed), word).key for seed in range(8)]
    assert continued == [probe.after(snapshot, word * 2, seed=seed).key for seed in range(8)]


def test_sticky_actions_are_restored_unless_a_seed_is_given():
    probe = make_probe(freeway(repeat_action_probability=0.5))
    snapshot = probe.after(probe.reset(0), [0, 0])
    word = [1, 2, 1, 0, 1]
    assert len({probe.after(snapshot, word).key for _ in range(8)}) == 1
    assert len({probe.after(snapshot, word, seed=seed).key for seed in range(8)}) > 1


# --- pictures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: freeway(render_mode="rgb_array"),
        lambda: gym.make("MiniGrid-DoorKey-6x6-v0", render_mode="rgb_array"),
        lambda: gym.make("easee/CardinalGrid-v0", size=5, render_mode="ansi"),
        lambda: Uncopyable(5, render_mode="rgb_array"),
    ],
    ids=["Freeway", "MiniGrid", "CardinalGrid", "uncopyable"],
)
def test_pictures_show_the_snapshot(make):
    probe = make_probe(make())
    start = probe.reset(0)
    middle = probe.after(start, [1, 1, 2] * 3)
    env = make()
    for state, word in ((start, []), (middle, [1, 1, 2] * 3), (start, [])):
        step_directly(env, 0, word)
        np.testing.assert_array_equal(probe.picture(state), env.render())


def test_there_is_no_picture_without_a_render_mode():
    probe = make_probe(CardinalGrid())
    assert probe.picture(probe.reset(0)) is None


# --- what is compared ----------------------------------------------------------------------------


def test_a_state_function_replaces_observations():
    probe = make_probe(CardinalGrid(), state=lambda env: int(env.get_wrapper_attr("state")[0]))
    start = probe.reset(0)
    assert probe.after(start, [2]).key == start.key != probe.after(start, [0]).key
    assert probe.compares != make_probe(CardinalGrid()).compares == "observations"


@pytest.mark.parametrize("read", [lambda env: env.unwrapped.state, lambda env: [1, 2]])
def test_states_must_be_hashable(read):
    with pytest.raises(easee.ArgumentTypeError, match="hashable"):
        make_probe(CardinalGrid(), state=read)


# --- kinds of environments -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [TypeError, RuntimeError, KeyError, OSError, copy.Error, pickle.PicklingError]
)
def test_environments_that_cannot_be_copied_are_replayed(error):
    env = Uncopyable()
    env.error = error
    assert isinstance(make_probe(env), ReplayingProbe)


def test_an_environment_that_cannot_be_restored_is_rejected():
    with pytest.raises(ProbeError, match="cannot be saved and restored") as caught:
        make_probe(Restless())
    assert "this environment cannot be copied" in str(caught.value)
    assert "had different outcomes" in str(caught.value)


class Failing(CardinalGrid):
    """An environment that raises an exception in the square to the right of some column."""

    def __init__(self, column):
        super().__init__()
        self.column = column

    def step(self, action):
        result = super().step(action)
        if action == 0 and result[0][0] > self.column:
            raise KeyError("no such square")
        return result


@pytest.mark.parametrize("column", [-1, CardinalGrid().reset(seed=0)[0][0] + 3])
def test_an_error_in_step_names_the_action(column):
    with pytest.raises(ProbeError, match=r"KeyError in step.*'right'.*no such square") as caught:
        easee.discover(Failing(column), states=20, rollout=1000)
    assert isinstance(caught.value.__cause__, KeyError)


class FailingCopies(CardinalGrid):
    """An environment whose copies raise exceptions in `step`."""

    copied = False

    def __deepcopy__(self, memo):
        twin = copy.copy(self)
        twin.copied = True
        return twin

    def step(self, action):
        if self.copied:
            raise OSError("the connection is closed")
        return super().step(action)


def test_environments_whose_copies_fail_are_replayed():
    assert isinstance(make_probe(FailingCopies()), ReplayingProbe)


class InPlace(gym.Env):
    """A ring of squares that returns the same array at each step, and cannot be copied."""

    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Box(0, 10**6, (2,), np.int64)
    action_names = ("go", "back")

    def __init__(self, counts=False):
        self.counts = counts
        self.observation = np.zeros(2, np.int64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation[:] = 0
        return self.observation, {}

    def __deepcopy__(self, memo):
        raise TypeError("this environment cannot be copied")

    def step(self, action):
        self.observation[0] = (self.observation[0] + (1, -1)[action]) % 12
        self.observation[1] += self.counts
        return self.observation, 0.0, False, False, {}


def test_counters_are_found_in_observations_that_change_in_place():
    with pytest.raises(easee.ArgumentError, match=r"count steps: \[1\]"):
        easee.discover(InPlace(counts=True), states=20, rollout=1000)


def test_counterexamples_of_observations_that_change_in_place_differ():
    omega = easee.Equivalences(InPlace.action_names, ["go ~ back"])
    (check,) = easee.verify(InPlace(), omega, states=20, rollout=1000).relations
    assert check.counterexamples
    for example in check.counterexamples:
        squares = [int(o[0]) for o in (example.start, example.left, example.right)]
        assert squares[1:] == [(squares[0] + 1) % 12, (squares[0] - 1) % 12]


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
def test_only_discrete_actions_numbered_from_0_are_accepted(env, says):
    with pytest.raises(easee.ArgumentTypeError, match=says):
        make_probe(env())


@pytest.mark.parametrize(
    "around", [lambda env: env, lambda env: FrameStackObservation(env, 2)], ids=["made", "stacked"]
)
def test_checking_wrappers_are_removed_from_the_probe_only(around):
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


# --- copies that share state ---------------------------------------------------------------------


class Moves(gym.Env):
    """An environment whose moves are closures over itself, so that copies move the original."""

    action_space = gym.spaces.Discrete(2)
    observation_space = gym.spaces.Discrete(11)
    action_names = ("left", "right")

    def __init__(self):
        self.square = 5
        self.moves = [lambda: self.go(-1), lambda: self.go(1)]

    def go(self, by):
        self.square = min(max(self.square + by, 0), 10)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.square = 5
        return self.square, {}

    def step(self, action):
        self.moves[action]()
        return self.square, 0.0, False, False, {}


def observed_through_a_closure():
    env = CardinalGrid(20)
    return gym.wrappers.TransformObservation(env, lambda _: env.state.copy(), env.observation_space)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "pair"), [(Moves, "left ~ right"), (observed_through_a_closure, "right ~ left")]
)
def test_copies_that_share_state_with_the_original_are_detected(make, pair):
    env = make()
    omega = easee.Equivalences(env.get_wrapper_attr("action_names"), [pair])
    result = easee.verify(env, omega, states=20)
    assert "replaying" in result.copies and result.relations[0].rate > 0.9


# --- members that copies share -------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SavingProbe, CopyingProbe])
def test_copies_share_large_tables_and_nothing_else(kind):
    probe = kind(TableGrid())
    walks = [probe.after(probe.reset(0), [0, 1])] * 2
    one, two = (probe._restore(end, None) for end in walks)
    assert one.table is two.table is probe.env.table
    assert one.visited == two.visited == [0, 1]
    assert one.visited is not two.visited and one.state is not two.state


class ChangingTable(TableGrid):
    """An environment that changes its table in a rare state, and changes it back at once.

    Walls are in the table: a step to the right at column 9 opens a gate, one to the left shuts it.
    """

    action_names = CardinalGrid().action_names

    def __init__(self, alias):
        super().__init__(12)
        self.row = self.table[9, 0]  # the same list as in the table
        self.alias = alias

    def reset(self, *, seed=None, options=None):
        self.row[0] = (1.0, 9, 0)
        return np.append(super().reset(seed=seed, options=options)[0], False), {}

    def step(self, action):
        if self.state[0] >= 9 and action < 2:
            row = self.row if self.alias else self.table[9, 0]
            row[0] = (2.0 - action, 9, 0)
        result = super().step(action)
        is_open = self.table[9, 0][0][0] == 2.0
        return np.append(result[0], is_open), *result[1:]


@pytest.mark.parametrize("alias", [False, True])
def test_a_shared_member_that_changes_is_noticed_and_then_copied(alias):
    probe = make_probe(ChangingTable(alias))
    assert type(probe) is SavingProbe
    with pytest.raises(MemberChanged):
        probe.after(probe.reset(0), [0] * 12)
    assert probe.env.get_wrapper_attr("table")[9, 0] == [(1.0, 9, 0)]  # changed back
    whole = make_probe(ChangingTable(alias), share=False)
    gate = whole.after(whole.reset(0), [0] * 12)
    assert gate.observation[2] == 1 and whole.after(gate, [1, 0, 0, 2]).observation[2] == 1
    assert whole.after(gate, [1]).observation[2] == 0
    assert whole.after(gate, [2]).observation[2] == 1


def test_results_are_those_of_whole_copies_where_a_shared_member_changes(monkeypatch):
    omega = easee.Equivalences(ChangingTable.action_names, ["right left ~", "up down ~"])
    options = dict(states=40, rollout=1000)
    shared = easee.verify(ChangingTable(True), omega, **options)
    found = easee.discover(ChangingTable(True), max_length=2, **options)
    monkeypatch.setattr("easee.envs.static_members.LEAST_SIZE", 10**9)
    alone = easee.verify(ChangingTable(True), omega, **options)
    assert repr(shared.relations) == repr(alone.relations)
    whole = easee.discover(ChangingTable(True), max_length=2, **options)
    assert found.evidence == whole.evidence
    assert found.env_steps > whole.env_steps  # those before the change was noticed count, too


class Slow(CardinalGrid):
    """An environment that takes long to copy."""

    def __setstate__(self, state):
        time.sleep(0.2)
        self.__dict__.update(state)


def test_replaying_replaces_slow_copies():
    assert type(make_probe(Slow())) is ReplayingProbe


# --- counters ------------------------------------------------------------------------------------


class Ring(gym.Env):
    """A ring of squares on which every action moves one square forward."""

    observation_space = gym.spaces.Discrete(12)

    def __init__(self, actions):
        self.action_space = gym.spaces.Discrete(len(actions))
        self.action_names = actions

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.square = 0
        return 0, {}

    def step(self, action):
        self.square = (self.square + 1) % 12
        return self.square, 0.0, False, False, {}


@pytest.mark.parametrize("actions", [("walk",), ("walk", "run")])
def test_periodic_observations_are_not_counters(actions):
    omega = easee.Equivalences(actions, ["walk " * 12 + "~"])
    assert easee.verify(Ring(actions), omega, states=10).holds
    discovered = easee.discover(Ring(actions), states=10, max_length=2).equivalences
    assert len(discovered) == len(actions) - 1
