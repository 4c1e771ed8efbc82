import gymnasium as gym
import numpy as np
import pytest

import easee
from easee.agents.q_learning import learn, linear
from easee.envs import CardinalGrid, RotationGrid
from easee.envs.doorkey import DoorKey
from easee.envs.table import Table, tabulate
from tests.worlds import Line

STRAIGHT = easee.compile(easee.inverse("left", "right"), 4)


def table(successors, rewards, ends, max_steps):
    """Return a table, given as lists, whose states are numbers."""
    states = np.arange(len(successors))[:, None]
    return Table(states, np.array(successors), np.array(rewards), np.array(ends), max_steps)


def corridor(length=6, max_steps=40):
    """Return a table with the actions left and right and a reward at the right end."""
    positions = range(length)
    return table(
        [[max(i - 1, 0), min(i + 1, length - 1)] for i in positions],
        [[0.0, float(i == length - 2)] for i in positions],
        [[False, i == length - 2] for i in positions],
        max_steps,
    )


class Always(gym.Wrapper):
    """Executes the first action instead of any other, and reports that."""

    def step(self, action):
        *rest, info = self.env.step(0)
        return *rest, info | {"executed_action": 0}


def test_the_explorer_follows_executed_actions(monkeypatch):
    explorer = easee.Explorer(easee.compile(easee.priors.cardinal_grid(), 3), seed=0)
    followed = []
    monkeypatch.setattr(
        type(explorer), "step_one", lambda self, action, done: followed.append(action)
    )
    env = Always(gym.wrappers.TimeLimit(CardinalGrid(9), 20))
    learned = learn(env, explorer, episodes=2, epsilon=1.0)
    assert followed == [0] * learned.lengths.sum()


def corridor_env(shown=np.array, start=0):
    """Return a corridor of six positions as an environment whose observations are `shown(i)`."""

    class Corridor(gym.Env):
        observation_space = gym.spaces.Discrete(6)  # unused
        action_space = gym.spaces.Discrete(2, start=start)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.position = 0
            return shown(0), {}

        def step(self, action):
            self.position = min(max(self.position + 2 * action - 1, 0), 5)
            return shown(self.position), float(self.position == 5), self.position == 5, False, {}

    return gym.wrappers.TimeLimit(Corridor(), 40)


class Recorder(easee.UniformExplorer):
    """Records the epsilons of `choose_one` and the actions and dones of `step_one`."""

    def __init__(self, n_actions, seed=0):
        super().__init__(n_actions, 1, seed)
        self.epsilons, self.actions, self.dones, self.flags = [], [], [], []

    def choose_one(self, greedy, epsilon, mask=None):
        self.epsilons.append(epsilon)
        return super().choose_one(greedy, epsilon, mask)

    def step_one(self, action, done):
        self.actions.append(action)
        self.dones.append(done)
        self.flags.append(bool(self.explored[0]))


class ActionLog(gym.Wrapper):
    """Records the actions."""

    def __init__(self, env):
        super().__init__(env)
        self.actions = []

    def step(self, action):
        self.actions.append(action)
        return self.env.step(action)


def short_grid(size=5, steps=10):
    return gym.wrappers.TimeLimit(CardinalGrid(size), steps)


# --- learning ------------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", ["explore", "random", "first"])
def test_runs_are_determined_by_the_seed(ties):
    def run(seed):
        explorer = easee.Explorer(STRAIGHT, seed=seed)
        return learn(corridor(), explorer, episodes=30, epsilon=0.7, ties=ties, seed=seed)

    first, same, other = run(0), run(0), run(1)
    np.testing.assert_array_equal(first.lengths, same.lengths)
    np.testing.assert_array_equal(first.rewards, same.rewards)
    assert first.values == same.values
    assert (first.lengths != other.lengths).any()


def test_a_corridor_is_solved():
    explorer = easee.Explorer(STRAIGHT, seed=0)
    learned = learn(corridor(), explorer, episodes=60, epsilon=linear(1.0, 0.0, 0.5))
    assert (learned.lengths[-20:] == 5).all() and (learned.rewards[-20:] == 1.0).all()
    assert all(np.argmax(learned.values[state]) == 1 for state in range(5))


def test_values_satisfy_the_bellman_equation():
    explorer = easee.UniformExplorer(2, seed=0)
    learned = learn(
        corridor(), explorer, episodes=300, epsilon=1.0, learning_rate=1.0, discount=0.5
    )
    for state in range(5):
        left, right = 0.5 ** (5 - max(state - 1, 0)), 0.5 ** (4 - state)
        assert learned.values[state] == pytest.approx([left, right])


def test_doorkey_and_its_table_give_the_same_results():
    def run(env):
        explorer = easee.Explorer(easee.compile(easee.priors.doorkey(), 6), seed=1)
        return learn(env, explorer, episodes=30, epsilon=0.2, seed=3)

    env = DoorKey(max_steps=200)
    stepped, tabulated = run(env), run(tabulate(DoorKey(max_steps=200), seed=3))
    np.testing.assert_array_equal(stepped.rewards, tabulated.rewards)
    np.testing.assert_array_equal(stepped.lengths, tabulated.lengths)
    states = tabulate(env, seed=3).states
    values = {states[number].tobytes(): row for number, row in tabulated.values.items()}
    assert values == stepped.values and len(values) > 100


def test_a_grid_and_its_table_give_the_same_results():
    class Goal(gym.Wrapper):
        """Adds a reward in a corner, where the episode ends."""

        def step(self, action):
            state, _, _, truncated, info = self.env.step(action)
            reached = bool((state == 0).all())
            return state, float(reached), reached, truncated, info

    env = Goal(short_grid(4, 60))
    grid = tabulate(CardinalGrid(4))
    corner = grid.successors == grid.number([0, 0])
    goal = Table(grid.states, grid.successors, corner.astype(float), corner, 60)
    options = {"episodes": 40, "epsilon": 0.3, "seed": 2}
    stepped, tabulated = (
        learn(task, easee.UniformExplorer(4, seed=0), **options) for task in (env, goal)
    )
    assert 0 < stepped.rewards.sum() and len(set(stepped.lengths)) > 5
    np.testing.assert_array_equal(stepped.rewards, tabulated.rewards)
    np.testing.assert_array_equal(stepped.lengths, tabulated.lengths)


@pytest.mark.parametrize(("end", "expected"), [(False, 2.0), (True, 1.0)])
def test_targets_bootstrap_after_truncation_but_not_after_termination(end, expected):
    stay = table([[0]], [[1.0]], [[end]], max_steps=1)
    learned = learn(stay, easee.UniformExplorer(1), episodes=60, learning_rate=1.0, discount=0.5)
    assert learned.values[0][0] == pytest.approx(expected)
    assert learned.lengths.tolist() == [1] * 60


def test_targets_bootstrap_after_truncation_of_an_environment():
    class Stay(CardinalGrid):
        def step(self, action):
            return self.state.copy(), 1.0, False, True, {}

    learned = learn(
        Stay(3), easee.UniformExplorer(4, seed=0), episodes=500, learning_rate=1.0, discount=0.5
    )
    (row,) = learned.values.values()
    assert max(row) == pytest.approx(2.0)


# --- the explorer --------------------------------------------------------------------------------


def test_every_action_is_reported_to_the_explorer():
    env, explorer = ActionLog(short_grid(steps=7)), Recorder(4)
    learn(env, explorer, episodes=20, epsilon=0.5, ties="random")
    assert explorer.actions == env.actions and len(set(env.actions)) == 4
    assert explorer.dones == ([False] * 6 + [True]) * 20
    assert set(explorer.flags) == {True, False}  # greedy actions too


def test_every_episode_starts_at_the_empty_word():
    class Starts(easee.Explorer):
        starts = []

        def reset(self, which=None):
            super().reset(which)
            self.starts.append(self.nodes[0])

    explorer = Starts(STRAIGHT, seed=0)
    explorer.step([0])
    learn(corridor(max_steps=6), explorer, episodes=5)
    assert explorer.starts == [0] * 5


def test_epsilon_follows_the_schedule():
    explorer = Recorder(4)
    learn(short_grid(), explorer, episodes=4, epsilon=linear(1.0, 0.0), ties="first")
    assert explorer.epsilons == [1.0] * 10 + [0.75] * 10 + [0.5] * 10 + [0.25] * 10


def test_a_linear_schedule_stays_at_its_end():
    schedule = linear(0.9, 0.1, fraction=0.5)
    assert [schedule(x) for x in (0.0, 0.25, 0.5, 0.9)] == pytest.approx([0.9, 0.5, 0.1, 0.1])
    with pytest.raises(easee.ArgumentError, match="fraction above 0"):
        linear(1.0, 0.0, fraction=0.0)


def test_ties_first_takes_the_first_action():
    env = ActionLog(short_grid())
    learn(env, easee.UniformExplorer(4, seed=0), episodes=5, epsilon=0.0, ties="first")
    assert set(env.actions) == {0}


def test_ties_random_ignores_the_explorer():
    explorer = Recorder(4)
    learn(short_grid(), explorer, episodes=100, epsilon=0.0, ties="random")
    assert not any(explorer.flags)
    assert min(np.bincount(explorer.actions, minlength=4)) > 200


def test_ties_explore_leaves_the_choice_to_the_explorer():
    env = ActionLog(gym.wrappers.TimeLimit(CardinalGrid(30), 8))
    policy = easee.compile(easee.priors.get("cardinal-grid"), 4)
    learn(env, easee.Explorer(policy, seed=0), episodes=50, epsilon=0.0)
    words = np.array(env.actions).reshape(-1, 4)
    net = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])[words].sum(axis=1)
    assert (np.abs(net).sum(axis=1) == 4).all()  # no word turns back


def test_ties_between_some_actions_are_random():
    # The first action is bad; the other two are equally good.
    bandit = table([[0, 0, 0]], [[-1.0, 0.0, 0.0]], [[True] * 3], max_steps=1)
    explorer = Recorder(3)
    learned = learn(bandit, explorer, episodes=400, epsilon=0.0, ties="explore")
    assert learned.values[0][0] < 0
    greedy = np.array(explorer.actions)[~np.array(explorer.flags)]
    counts = np.bincount(greedy, minlength=3)
    assert counts[0] == 0 and min(counts[1:]) > 100


# --- tables and bad input ------------------------------------------------------------------------


def test_a_table_keeps_the_time_limit_of_a_wrapper():
    assert tabulate(gym.wrappers.TimeLimit(RotationGrid(5), 10)).max_steps == 10
    assert tabulate(gym.make("easee/RotationGrid-v0", size=5)).max_steps == 100
    assert tabulate(gym.wrappers.TimeLimit(DoorKey(max_steps=20), 10), seed=0).max_steps == 10


def test_states_are_numbered():
    table = tabulate(RotationGrid(5))
    assert len(table) == 100 and table.states[0].tolist() == [2, 2, 0]
    assert table.number([2, 2, 0]) == 0
    with pytest.raises(easee.ArgumentError, match=r"\[9, 9, 0\] cannot be reached"):
        table.number([9, 9, 0])


def test_a_state_of_another_shape_is_rejected():
    with pytest.raises(easee.ArgumentError, match=r"state of shape \(3,\), found \(\)"):
        tabulate(RotationGrid(5)).number(3)


def test_a_policy_gives_the_same_results_as_its_explorer():
    policy = learn(corridor(), STRAIGHT, episodes=5, seed=3)
    explorer = learn(corridor(), easee.Explorer(STRAIGHT, seed=3), episodes=5, seed=3)
    np.testing.assert_array_equal(policy.lengths, explorer.lengths)


def test_actions_must_be_in_the_environment_s_order():
    omega = easee.Equivalences(["left", "right", "forward"], ["left right ~"])
    with pytest.raises(easee.ArgumentError, match="not in the environment's order"):
        learn(RotationGrid(5), easee.compile(omega, 3), episodes=1)


def test_a_policy_with_other_names_is_refused():
    policy = easee.compile(easee.Equivalences(["go", "turn", "back"], ["turn back ~"]), 3)
    message = "has go, turn, back, the environment forward, left, right"
    with pytest.raises(easee.ArgumentError, match=message):
        learn(RotationGrid(5), policy, episodes=1)
    env = gym.wrappers.TimeLimit(RotationGrid(5), 5)
    assert len(learn(env, policy, episodes=2, names=policy.graph.actions).lengths) == 2


def test_names_may_differ_only_in_case():
    env = gym.wrappers.TimeLimit(Line(), 5)
    policy = easee.compile(easee.Equivalences(["a", "A"], ["a A ~ A a"]), 3)
    assert len(learn(env, policy, episodes=2, names=["a", "A"]).lengths) == 2
    with pytest.raises(easee.ArgumentError, match="not in the environment's order"):
        learn(env, policy, episodes=1, names=["A", "a"])


def test_actions_without_names_are_taken_in_order(caplog):
    env = gym.wrappers.TimeLimit(Line(), 5)
    policy = easee.compile(easee.priors.get("catcher"), 3)
    learn(env, policy, episodes=1, names=["left", "right"])
    assert not caplog.records
    learn(env, policy, episodes=1)
    assert "taken in order: left=0, right=1" in caplog.text
    numbered = easee.Equivalences(["1", "0"], ["0 1 ~"])
    with pytest.raises(easee.ArgumentError, match="not in the environment's order"):
        learn(env, easee.compile(numbered, 3), episodes=1)


@pytest.mark.parametrize(
    "shown",
    [
        lambda x: np.array([x]),
        lambda x: {"position": np.array([x]), "name": "here"},
        lambda x: (x, np.zeros(2)),
        lambda x: str(x),
    ],
)
def test_observations_may_be_nested(shown):
    learned = learn(corridor_env(shown), STRAIGHT, episodes=20)
    assert len(learned.values) == 6


def test_equal_numbers_of_different_types_are_one_state():
    kinds = iter([0, np.int32(0), np.int64(0), np.array(0)] * 10)
    env = corridor_env(lambda position: next(kinds))
    learned = learn(gym.wrappers.TimeLimit(env.env, 3), STRAIGHT, episodes=3)
    assert len(learned.values) == 1
    signs = iter([np.array([0.0]), np.array([-0.0])] * 20)
    env = corridor_env(lambda position: next(signs))
    assert len(learn(gym.wrappers.TimeLimit(env.env, 3), STRAIGHT, episodes=3).values) == 1


def test_a_table_whose_episodes_never_end_is_rejected():
    with pytest.raises(easee.ArgumentError, match="TimeLimit"):
        learn(tabulate(RotationGrid(5)), easee.UniformExplorer(3, seed=0), episodes=1)


def test_tabulate_never_steps_after_the_end():
    class Strict(gym.Env):
        action_space = gym.spaces.Discrete(2)
        max_steps = 50

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.state, self.over = np.array([0]), False
            return self.state, {}

        def step(self, action):
            if self.over:
                raise RuntimeError("the episode is over")
            self.state = np.maximum(self.state + 2 * action - 1, 0)
            self.over = bool(self.state[0] == 4)
            return self.state, float(self.over), self.over, False, {}

    table = tabulate(Strict())
    assert len(table) == 5 and table.rewards.sum() == 1
    assert table.ends[4].all() and (table.successors[4] == 4).all()


def test_tabulate_requires_a_state():
    with pytest.raises(TypeError, match="discrete actions and a `state`"):
        tabulate(gym.make("Pendulum-v1"))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"explorer": easee.UniformExplorer(4, 2)}, "for 2 environments, found 1"),
        ({"explorer": easee.UniformExplorer(3)}, r"has 3 \(0, 1, 2\), the environment 4 \(right"),
        ({"explorer": None}, "an ExplorationPolicy, a string .* found NoneType"),
        ({"explorer": easee.inverse("left", "right")}, r"easee.compile\(omega, depth=6\)"),
        ({"explorer": STRAIGHT}, r"has 2 \(left, right\), the environment 4"),
        ({"env": corridor_env(start=1)}, "actions numbered from 0, .*TransformAction"),
        ({"ties": "last"}, "'explore', 'random' or 'first', found 'last'"),
        ({"episodes": 0}, "episodes of at least 1"),
        ({"episodes": 1.5}, "episodes as a whole number"),
        ({"epsilon": 1.5}, "epsilon between 0 and 1, found 1.5"),
        ({"epsilon": lambda progress: 2.0}, "epsilon between 0 and 1, found 2.0"),
        ({"learning_rate": -0.1}, "learning_rate between 0 and 1"),
        ({"discount": float("nan")}, "discount between 0 and 1"),
        ({"seed": -1}, "seed"),
        ({"env": "CartPole-v1"}, "environment or a Table, found str"),
        ({"env": gym.make("Pendulum-v1")}, "Discrete actions, found Box"),
    ],
)
def test_invalid_arguments_are_rejected(options, error):
    valid = {"env": short_grid(), "explorer": easee.UniformExplorer(4, seed=0), "episodes": 1}
    with pytest.raises(easee.ArgumentError, match=error):
        learn(**(valid | options))
