import gymnasium as gym
import minigrid
import numpy as np
import pytest
from gymnasium.wrappers import TimeAwareObservation, TimeLimit
from scipy.stats import binom

import easee
from easee import Equivalences, discover, priors, unroll
from easee.envs import CardinalGrid, RotationGrid
from easee.envs.doorkey import DoorKey
from easee.envs.table import tabulate
from easee.errors import ProbeError
from easee.probing.search_record import SearchRecord
from tests.worlds import ButtonRing


class Ring(gym.Env):
    """A ring of squares; each action moves by a number of them."""

    observation_space = gym.spaces.Discrete(1000)

    def __init__(self, size=5, **strides):
        self.size = size
        self.strides = tuple(strides.values())
        self.action_names = tuple(strides)
        self.action_space = gym.spaces.Discrete(len(strides))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return self.at, {}

    def step(self, action):
        self.at = (self.at + self.strides[action]) % self.size
        return self.at, 0.0, False, False, {}


class Uncopyable(Ring):
    def __deepcopy__(self, memo):
        raise TypeError("this environment cannot be copied")


class Slippery(gym.Wrapper):
    """A wrapper that replaces some actions by random ones."""

    def step(self, action):
        random = self.unwrapped.np_random
        return self.env.step(random.integers(4) if random.random() < 0.3 else action)


class Counting(gym.Wrapper):
    """A wrapper that counts the steps of all copies together."""

    taken = 0

    def step(self, action):
        Counting.taken += 1
        return self.env.step(action)


def discover_few(env, **options):
    return discover(env, **{"states": 40, "rollout": 2000, **options})


def texts(result):
    return [str(check) for check in result.evidence]


def same_graph(one, two, depth):
    """Return whether two priors have the same graph, with the same node numbers."""
    graphs = [unroll(omega, depth) for omega in (one, two)]
    return graphs[0].layer_sizes == graphs[1].layer_sizes and np.array_equal(
        graphs[0].successors, graphs[1].successors
    )


def assert_independent(omega):
    for i, (left, right) in enumerate(omega):
        assert Equivalences(omega.actions, omega.pairs[:i]).equivalent(left, right) is not True


# --- environments with known equivalences --------------------------------------------------------


def test_the_complete_prior_of_the_rotation_grid_is_found():
    result = discover(RotationGrid(), states=100, rollout=5000)
    assert same_graph(result.equivalences, priors.get("rotation-grid-complete"), 12)
    assert result.length == 4 and all(check.violations == 0 for check in result.evidence)
    assert_independent(result.equivalences)


def test_the_prior_of_the_cardinal_grid_is_found():
    result = discover_few(CardinalGrid(), max_length=3)
    graph = unroll(result.equivalences, 8)
    assert graph.layer_sizes == (1, *(4 * n for n in range(1, 9)))
    assert same_graph(result.equivalences, priors.get("cardinal-grid"), 8)
    assert_independent(result.equivalences)


@pytest.mark.slow
def test_a_tolerance_ignores_the_walls():
    complete = priors.get("rotation-grid-complete")
    env = RotationGrid(8)
    strict = discover_few(env, states=100, eventful=0.0)
    assert not same_graph(strict.equivalences, complete, 6)
    tolerant = discover_few(env, states=100, eventful=0.0, tolerance=0.3)
    assert same_graph(tolerant.equivalences, complete, 6)
    assert any(check.violations for check in tolerant.evidence)
    assert all(check.violations <= 0.3 * check.trials for check in tolerant.evidence)
    assert any("30%" in note for note in tolerant.notes)


def test_a_finite_environment_has_a_finite_graph():
    result = discover_few(Ring(5, one=1, two=2), max_length=5)
    assert len(unroll(result.equivalences, 6)) == 5
    assert_independent(result.equivalences)
    assert "two ~ one one" in texts(result) or "one one ~ two" in texts(result)


def test_an_action_without_effect_is_found():
    assert texts(discover_few(Ring(50, wait=0, go=1), max_length=1)) == ["wait ~ Λ"]


def test_equal_actions_are_found():
    result = discover_few(Ring(50, go=1, run=1, leap=9), max_length=1)
    assert texts(result) == ["run ~ go"]


def test_nothing_is_found_in_an_environment_without_equivalences():
    result = discover_few(Ring(1000, go=1, leap=30), max_length=1)
    assert result.evidence == () and len(result.equivalences) == 0
    assert result.equivalences.actions == ("go", "leap")


def test_actions_without_names_are_numbers():
    env = Ring(50, go=1, back=-1)
    del env.action_names
    assert texts(discover_few(env, max_length=2)) == ["0 1 ~ Λ", "1 0 ~ Λ"]


@pytest.mark.slow
def test_rare_effects_of_doorkey_are_respected():
    result = discover(DoorKey(), max_length=3, states=100, seed=1)
    for left, right in priors.doorkey():
        assert result.equivalences.equivalent(left, right) is True
    assert_independent(result.equivalences)
    assert "near effects of" in " ".join(result.notes)
    for layout in range(3):
        table = tabulate(DoorKey(), seed=layout)
        ended = np.zeros(len(table), bool)
        ended[table.successors[table.ends]] = True  # the episode ends at the goal
        for pair in result.equivalences.indexed.pairs:
            ends = []
            for word in pair:
                end = np.flatnonzero(~ended)
                for action in word:
                    end = np.where(ended[end], end, table.successors[end, action])
                ends.append(end)
            assert (ends[0] != ends[1]).mean() <= 0.001


# --- relations that usually hold -----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_actions_that_rarely_work_are_found_with_their_rates(seed):
    result = discover(ButtonRing(12), usually=0.1, max_length=2, states=400, seed=seed)
    omega = result.equivalences
    rates = dict(zip(map(str, result.evidence), omega.rates, strict=True))
    press, undone = rates["press ~ Λ"], rates["press release ~ Λ"]
    # Either fails on the square of the button: one before it is pressed, the other after it.
    met, _ = result.evidence[-1].met or (0, 0)
    least, most = binom.ppf([0.0005, 0.9995], met, 1 / 12) / met
    assert press > 0 and undone > 0 and least <= press + undone <= most
    exact = [text for text, rate in rates.items() if not rate]
    assert {"wait ~ Λ", "left right ~ Λ", "right left ~ Λ", "press press ~ press"} <= set(exact)
    assert all(check.violations == 0 for check in result.evidence[: len(exact)])
    assert any("2 relations usually hold" in note for note in result.notes)
    np.testing.assert_allclose(easee.compile(omega, 3).floors, [0, 0, 0.15, 0.05, 0])


@pytest.mark.slow
def test_the_same_exact_relations_are_found_without_usual_ones():
    options = {"max_length": 2, "states": 200}
    exact = discover(ButtonRing(12), **options).equivalences
    usual = discover(ButtonRing(12), usually=0.15, **options).equivalences
    assert usual.exact == exact and len(usual) > len(exact) and not exact.rates.any()


@pytest.mark.slow
def test_relations_that_fail_more_often_are_not_found():
    # The button is on every third square.
    result = discover(ButtonRing(3), usually=0.05, max_length=2, states=200)
    assert result.evidence and not result.equivalences.rates.any()


@pytest.mark.parametrize(("states", "found"), [(19, False), (20, True)])
def test_too_few_states_for_usual_relations_are_noted(states, found):
    result = discover(ButtonRing(12), usually=0.2, max_length=1, states=states, eventful=0.0)
    assert result.equivalences.rates.any() == found
    assert any("raise the number of states" in note for note in result.notes) != found


def test_a_tolerance_gives_rates():
    result = discover_few(CardinalGrid(5), max_length=2, states=100, eventful=0.0, tolerance=0.4)
    rates = result.equivalences.rates
    assert rates.tolist() == [check.rate for check in result.evidence]
    assert 0 < rates.max() <= 0.4


def test_relations_that_always_fail_are_not_found():
    result = discover_few(Ring(50, go=1, leap=9), max_length=1, tolerance=1.0)
    assert result.evidence == ()


def test_the_whole_state_of_a_minigrid_is_compared_by_default():
    options = {"max_length": 1, "states": 3, "rollout": 100}
    notes = discover(DoorKey(), **options).notes
    assert "compared MiniGrid's whole states" in notes
    assert "compared observations" in discover(DoorKey(), state="observation", **options).notes


# With the second sample of states, `toggle` has an effect in few states near rare effects only.
@pytest.mark.slow
@pytest.mark.parametrize("sample", [{}, {"seed": 2, "states": 40, "rollout": 20_000}])
def test_interactions_usually_do_nothing_in_minigrid(sample):
    gym.register_envs(minigrid)
    env = gym.make("MiniGrid-Unlock-v0")
    omega = discover(env, usually=0.1, max_length=2, **sample).equivalences
    rates = {pair: float(rate) for pair, rate in zip(omega, omega.rates, strict=True)}
    assert 0 < rates[("pickup",), ()] < 0.1
    assert 0 < rates[("toggle",), ()] < 0.1
    assert omega.usually_equivalent("left right forward", "forward") is True
    assert omega.usually_equivalent("forward", "") is not True
    floors = dict(zip(omega.actions, easee.compile(omega, 3).floors, strict=True))
    assert floors["pickup"] > 2 * floors["drop"] > 0
    assert floors["forward"] == floors["left"] == floors["right"] == floors["done"] == 0


# --- cost ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [1, 50, 200, 700, 1200, 1500])
@pytest.mark.parametrize("world", [Ring, Uncopyable])
def test_a_budget_is_never_exceeded(world, budget):
    Counting.taken = 0
    env = TimeLimit(Counting(world(997, go=1, leap=31)), 20)
    result = discover(env, states=20, rollout=100, max_length=15, budget=budget)
    assert result.env_steps == Counting.taken <= budget
    assert result.length < 15 and any(f"budget of {budget:,} steps" in n for n in result.notes)


@pytest.mark.slow
def test_a_larger_budget_completes_longer_words():
    lengths = [
        discover(RotationGrid(), states=30, budget=budget).length
        for budget in (100, 3000, 4500, 10_000)
    ]
    assert lengths == sorted(lengths) and lengths[0] == 0 and lengths[-1] == 4


def test_words_that_follow_from_known_relations_cost_no_steps():
    two, three = (discover_few(CardinalGrid(), max_length=n).env_steps for n in (2, 3))
    # Words one longer than the maximum are tried as well: squares at distance four, with one step
    # for each in the first 16 states.
    assert three - two == 16 * (4 * 4)


def test_relations_found_within_a_small_budget_are_true():
    result = discover(RotationGrid(), states=30, budget=3500)
    assert result.length < 4
    complete = priors.get("rotation-grid-complete")
    assert result.evidence
    assert all(complete.equivalent(check.left, check.right) for check in result.evidence)


def test_notes_do_not_mention_a_sufficient_budget():
    result = discover_few(Ring(5, one=1), max_length=2)
    assert result.length == 2 and not any("budget" in note for note in result.notes)


@pytest.mark.slow
def test_equal_seeds_give_equal_results():
    one, again, other = (discover_few(DoorKey(), max_length=2, seed=seed) for seed in (3, 3, 4))
    assert one == again
    assert one.env_steps != other.env_steps


# --- unfinished searches -------------------------------------------------------------------------


class Interrupting(gym.Wrapper):
    """A wrapper that raises KeyboardInterrupt at some step, as Ctrl-C does."""

    taken = 0
    last = 10**9

    def step(self, action):
        Interrupting.taken += 1
        if Interrupting.taken == Interrupting.last:
            raise KeyboardInterrupt
        return self.env.step(action)


@pytest.mark.parametrize(("share", "usually"), [(0.3, 0.0), (0.8, 0.0), (0.8, 0.1)])
def test_an_interrupted_search_goes_on_to_the_same_result(share, usually, monkeypatch, tmp_path):
    options = dict(max_length=2, states=20, rollout=300, usually=usually)
    whole = discover(Interrupting(CardinalGrid(10)), **options)
    monkeypatch.setattr(Interrupting, "taken", 0)
    monkeypatch.setattr(Interrupting, "last", int(share * whole.env_steps))
    part = discover(Interrupting(CardinalGrid(10)), **options)
    assert whole.finished and not part.finished and "interrupted" in part.notes[-1]
    assert abs(part.env_steps - Interrupting.last) < 30
    path = tmp_path / "record"
    part.record.save(path)
    record = SearchRecord.load(path)
    assert record == part.record
    resumed = discover(Interrupting(CardinalGrid(10)), resume=record, **options)
    assert resumed.finished and resumed.evidence == whole.evidence
    assert resumed.equivalences == whole.equivalences
    assert resumed.env_steps > whole.env_steps  # the states are sampled again


def test_a_search_is_limited_in_time_and_goes_on():
    options = dict(max_length=3, states=20, rollout=500)
    part = discover(RotationGrid(), minutes=1e-9, **options)
    assert not part.finished and "the time was over" in part.notes[-1]
    assert discover(RotationGrid(), resume=part, minutes=10, **options).finished


def test_a_finished_search_goes_on_with_longer_words():
    short = discover_few(CardinalGrid(), max_length=1)
    long = discover_few(CardinalGrid(), max_length=2, resume=short)
    assert long.evidence == discover_few(CardinalGrid(), max_length=2).evidence
    assert short.evidence == long.evidence[: len(short.evidence)]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"seed": 1}, "seed 0, found 1"),
        ({"states": 30}, "states 20, found 30"),
        ({"state": "round:1"}, "state 'observations', found"),
        ({"resume": "record"}, "result of an earlier discover, found str"),
        ({"minutes": 0}, "minutes above 0"),
    ],
)
def test_a_search_goes_on_only_with_the_same_settings(changed, says):
    options = dict(max_length=1, states=20, rollout=500)
    options |= {"resume": discover(RotationGrid(), **options)} | changed
    with pytest.raises(easee.ArgumentError, match=says):
        discover(RotationGrid(), **options)


def test_damaged_records_are_rejected(tmp_path):
    path = tmp_path / "record"
    for text in ("", "{}", '{"version": 9}', '{"version": 1, "settings": {}, "steps": 1}'):
        path.write_text(text)
        with pytest.raises(easee.ArgumentError, match="delete it"):
            SearchRecord.load(path)


def test_progress_is_reported():
    reports = []
    result = discover_few(
        RotationGrid(), max_length=2, progress=lambda *counts: reports.append(counts)
    )
    steps, expected = zip(*reports, strict=True)
    assert list(steps) == sorted(steps) and steps[-1] == result.env_steps
    assert all(s <= e for s, e in reports)
    assert steps[0] < 100 and expected[0] > 500  # a forecast from the start
    assert 0.5 * steps[-1] < expected[len(expected) // 2] < 2 * steps[-1]


# --- what is compared ----------------------------------------------------------------------------


def test_a_state_function_replaces_observations():
    column = discover_few(
        CardinalGrid(), max_length=1, state=lambda env: int(env.unwrapped.state[0])
    )
    assert texts(column) == ["up ~ Λ", "down ~ Λ"]
    assert "compared observations" not in column.notes
    assert "compared observations" in discover_few(CardinalGrid(), max_length=1).notes


class Reversible(Ring):
    """A ring with an action that reverses the direction, which the observations do not show."""

    def __init__(self):
        super().__init__(50, move=1, turn=0)

    def reset(self, *, seed=None, options=None):
        self.direction = 1
        return super().reset(seed=seed, options=options)

    def step(self, action):
        self.direction *= -1 if action else 1
        self.at = (self.at + (0 if action else self.direction)) % self.size
        return self.at, 0.0, False, False, {}


def whole_state(env):
    return env.unwrapped.at, env.unwrapped.direction


@pytest.mark.parametrize("usually", [0.0, 0.1])
def test_a_relation_that_fails_after_one_more_action_is_rejected(usually):
    result = discover_few(Reversible(), usually=usually)
    assert texts(result) == ["turn turn ~ Λ", "move turn move ~ turn"]
    (note,) = [note for note in result.notes if "one more action" in note]
    assert note.startswith("after 'turn' and after nothing the observations are equal")
    assert "do not show the whole state; compare more of it with `state`" in note
    assert easee.verify(Reversible(), result.equivalences, state=whole_state, states=40).holds


def test_the_whole_state_hides_nothing():
    result = discover_few(Reversible(), state=whole_state)
    assert texts(result) == ["turn turn ~ Λ", "move turn move ~ turn"]
    assert not any("whole state" in note for note in result.notes)


# --- relations that may be missing ---------------------------------------------------------------


def longer_notes(result):
    return [note for note in result.notes if "longer relations" in note]


def test_longer_relations_are_mentioned():
    (note,) = longer_notes(discover_few(Ring(50, go=1, back=-1), max_length=1))
    says = "longer relations seem to exist, such as go back ~ Λ: raise max_length above 1"
    assert note == f"{says} (--max-length on the command line)"
    (note,) = longer_notes(discover_few(RotationGrid(), max_length=3))
    assert "raise max_length above 3" in note


@pytest.mark.parametrize(
    ("env", "max_length"), [(CardinalGrid(), 2), (CardinalGrid(), 3), (RotationGrid(), 4)]
)
def test_longer_relations_are_not_mentioned_without_need(env, max_length):
    assert longer_notes(discover_few(env, max_length=max_length)) == []


# --- environments that cannot be explored --------------------------------------------------------


def test_observations_that_count_steps_are_rejected():
    env = TimeAwareObservation(TimeLimit(CardinalGrid(), 50), flatten=False)
    with pytest.raises(easee.ArgumentError, match=r"count steps: \['time'\].*state="):
        discover_few(env)
    result = discover_few(env, max_length=2, state=lambda env: tuple(env.unwrapped.state.tolist()))
    assert "right left ~ Λ" in texts(result)


def test_episodes_of_one_step_are_rejected():
    env = TimeLimit(CardinalGrid(), 1)
    with pytest.raises(easee.ArgumentError, match=r"too short.*longer time limit"):
        discover_few(env)
    with pytest.raises(easee.ArgumentError, match=r"too short.*longer time limit"):
        easee.verify(env, priors.get("cardinal-grid"), states=20)


def test_words_longer_than_episodes_are_mentioned():
    result = discover_few(TimeLimit(CardinalGrid(), 3), max_length=3)
    assert "right left ~ Λ" in texts(result)
    (note,) = [note for note in result.notes if "time limit" in note]
    assert "words of length 3 could not be compared" in note


def test_a_random_environment_is_rejected():
    with pytest.raises(ProbeError, match=r"random.*repeat_action_probability=0.*verify"):
        discover_few(Slippery(CardinalGrid()))


def test_observations_that_never_repeat_are_rejected():
    with pytest.raises(easee.ArgumentError, match="state="):
        discover_few(gym.make("CartPole-v1"))


def test_invalid_action_names_are_rejected_before_any_step():
    env = Counting(Ring(5, **{"go on": 1, "back": -1}))
    Counting.taken = 0
    with pytest.raises(easee.PriorError, match=r"'go on'.*names=\[...\] \(--names on the comm"):
        discover_few(env)
    assert Counting.taken == 0
    assert discover_few(env, names=["go_on", "back"]).equivalences.actions == ("go_on", "back")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_length": 0}, "max_length of at least 1"),
        ({"states": 0}, "states of at least 1"),
        ({"budget": 0}, "budget of at least 1"),
        ({"tolerance": 1.5}, "tolerance between 0 and 1"),
        ({"usually": -0.1}, "usually between 0 and 1"),
        ({"usually": 0.5}, "usually below 0.5"),
        ({"eventful": -0.5}, "eventful between 0 and 1"),
        ({"rollout": 0}, "rollout of at least 1"),
        ({"env": "CartPole-v1"}, "Gymnasium environment, found str"),
        ({"env": gym.make("Pendulum-v1")}, "Discrete"),
    ],
)
def test_invalid_arguments_are_rejected(options, says):
    env = options.pop("env", CardinalGrid())
    with pytest.raises(easee.ArgumentError, match=says):
        discover_few(env, **options)
