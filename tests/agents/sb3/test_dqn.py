import inspect

import gymnasium as gym
import numpy as np
import pytest
import sb3_contrib
import stable_baselines3
import torch
from gymnasium import spaces
from scipy.stats import binom, chisquare
from stable_baselines3.common.callbacks import BaseCallback, EvalCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    SubprocVecEnv,
    VecFrameStack,
    VecMonitor,
    VecNormalize,
)

import easee
from easee.agents.sb3 import DQN, ExplorerMixin
from easee.agents.sb3.vec_env import VectorAdapter
from easee.envs import CardinalGrid, Catcher, FlatActions, RotationGrid

torch.set_num_threads(1)

SMALL = {
    "learning_starts": 50,
    "batch_size": 16,
    "buffer_size": 4000,
    "target_update_interval": 100,
    "exploration_fraction": 0.5,
    "policy_kwargs": {"net_arch": [16]},
}
TURNING = easee.compile(easee.priors.get("rotation-grid"), 4)
STRAIGHT = easee.compile(easee.inverse("left", "right"), 4)
MOVING = easee.compile(easee.priors.get("cardinal-grid"), 2)
COMMUTING = easee.compile(easee.commute("left", "right"), 5)


class QRDQN(ExplorerMixin, sb3_contrib.QRDQN):
    """As the documentation says."""


class Line(gym.Env):
    """Left and right on a line, for some steps; the observation is where and when."""

    action_space = spaces.Discrete(2)
    observation_space = spaces.Box(-100.0, 100.0, (2,), np.float32)

    def __init__(self, length=8):
        self.length = length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.time = 0
        return self._observation(), {}

    def step(self, action):
        self.place += 1 if action else -1
        self.time += 1
        return self._observation(), float(self.place), False, self.time >= self.length, {}

    def _observation(self):
        return np.array([self.place, self.time], np.float32)


class Sticky(gym.Wrapper):
    """Every third step does the action before it again, and reports what was done."""

    def reset(self, **kwargs):
        self.count, self.last = 0, 0
        return self.env.reset(**kwargs)

    def step(self, action):
        self.count += 1
        self.last = self.last if self.count % 3 == 0 else int(action)
        *result, info = self.env.step(self.last)
        return *result, info | {"executed_action": self.last}


class Reordered(CardinalGrid):
    """The same names in another order."""

    action_names = ("up", "down", "left", "right")


class Steered(Line):
    """Two factors of actions."""

    action_space = spaces.MultiDiscrete([3, 2])

    def step(self, action):
        assert np.shape(action) == (2,)
        return super().step(action[0] > 0)


class Record(BaseCallback):
    """Keeps what was done and where the explorer was before it; stops after some steps."""

    def __init__(self, stop=None):
        super().__init__()
        self.stop = stop
        self.actions, self.dones, self.nodes, self.explored = [], [], [], []

    def _on_step(self):
        pairs = zip(self.locals["infos"], self.locals["actions"], strict=True)
        self.actions.append([info.get("executed_action", action) for info, action in pairs])
        self.dones.append(self.locals["dones"].copy())
        self.nodes.append(self.model.explorer.nodes)
        self.explored.append(self.model.explorer.explored)
        return self.stop is None or len(self.actions) < self.stop


def lines(*lengths):
    return DummyVecEnv([lambda n=n: Line(n) for n in lengths])


def rotation(n_envs=1, length=25):
    return DummyVecEnv([lambda: gym.wrappers.TimeLimit(RotationGrid(7), length)] * n_envs)


def small(env, explorer=None, *, kind=DQN, seed=0, **options):
    if issubclass(kind, sb3_contrib.QRDQN):
        options["policy_kwargs"] = {"net_arch": [16], "n_quantiles": 10}
    if explorer is not None:
        options["explorer"] = explorer
    return kind("MlpPolicy", env, seed=seed, **(SMALL | options))


def always(epsilon):
    """Options of an agent that only acts, with the same epsilon from the second step on."""
    return {
        "learning_starts": 0,
        "exploration_initial_eps": epsilon,
        "exploration_final_eps": epsilon,
        "gradient_steps": 0,
    }


def assert_same_networks(one, other):
    mine, theirs = one.policy.state_dict(), other.policy.state_dict()
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def assert_same_runs(one, other):
    assert_same_networks(one, other)
    for name in ("observations", "next_observations", "actions", "rewards", "dones", "timeouts"):
        mine, theirs = getattr(one.replay_buffer, name), getattr(other.replay_buffer, name)
        np.testing.assert_array_equal(mine, theirs)
    assert one.replay_buffer.size() == other.replay_buffer.size() > 0


def simulated_nodes(graph, actions, dones):
    """Return where every environment is before each step, and after the last one."""
    node, length = [0] * len(actions[0]), [0] * len(actions[0])
    history = [list(node)]
    for row, ended in zip(actions, dones, strict=True):
        for env, (action, done) in enumerate(zip(row, ended, strict=True)):
            node[env] = int(graph.successors[node[env], action])
            length[env] += 1
            if done or length[env] == graph.depth or graph.ends[node[env]]:
                node[env] = length[env] = 0
        history.append(list(node))
    return history


def assert_followed(model, record, graph):
    expected = simulated_nodes(graph, record.actions, record.dones)
    np.testing.assert_array_equal([*record.nodes, model.explorer.nodes], expected)


# --- what stays Stable-Baselines3's ------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda: Catcher(9, 6), lambda: gym.make("CartPole-v1")])
def test_without_an_explorer_it_is_their_dqn_to_the_bit(make):
    ours = small(make(), kind=DQN).learn(400)
    theirs = small(make(), kind=stable_baselines3.DQN).learn(400)
    assert_same_runs(ours, theirs)
    assert ours.explorer is None


def test_the_signature_is_theirs_and_the_explorer():
    for ours, theirs in ((DQN, stable_baselines3.DQN), (QRDQN, sb3_contrib.QRDQN)):
        known = inspect.signature(theirs).parameters
        *others, explorer = inspect.signature(ours).parameters.values()
        assert others == list(known.values())
        assert explorer.name == "explorer" and explorer.default is None


def test_a_subclass_shows_its_own_arguments():
    class Curious(DQN):
        def __init__(self, *args, curiosity=1.0, **kwargs):
            super().__init__(*args, **kwargs)

    assert "curiosity" in inspect.signature(Curious).parameters


def test_their_model_can_be_loaded_and_be_given_an_explorer(tmp_path):
    env = rotation()
    small(env, kind=stable_baselines3.DQN).learn(60).save(tmp_path / "theirs")
    assert DQN.load(tmp_path / "theirs", env).explorer is None
    model = DQN.load(tmp_path / "theirs", env, explorer=TURNING)
    record = Record()
    model.learn(60, callback=record)
    assert_followed(model, record, TURNING.graph)


# --- exploring -----------------------------------------------------------------------------------


def test_the_warm_up_and_epsilon_1_never_take_a_pruned_action():
    options = always(1.0) | {"learning_starts": 200}
    model = small(lines(8), STRAIGHT, **options).learn(400)
    words = model.replay_buffer.actions[:400].reshape(-1, 4)  # of depth 4, two in an episode
    assert (words == words[:, :1]).all()  # nobody turns back within one
    assert set(words[:50, 0]) == set(words[50:, 0]) == {0, 1}


def test_every_environment_throws_its_own_coin():
    model = small(lines(*[8] * 8), STRAIGHT, **always(0.5))
    last = model.q_net.q_net[-1]
    with torch.no_grad():
        last.weight.zero_()
        last.bias.copy_(torch.tensor([0.0, 1.0]))  # the greedy action is right
    record = Record()
    model.learn(8 * 2000, callback=record)
    explored = np.array(record.explored[1:])  # their DQN has no epsilon before its first step
    actions = np.array(record.actions[1:])
    assert (actions[~explored] == 1).all() and (actions[explored] == 0).any()
    counts = np.bincount(explored.sum(axis=1), minlength=9)
    expected = binom.pmf(np.arange(9), 8, 0.5) * len(explored)
    assert chisquare(counts, expected).pvalue > 0.001


@pytest.mark.parametrize("n_envs", [1, 3, 20])
def test_nodes_follow_environments_whose_episodes_differ_in_length(n_envs):
    lengths = [3 + 2 * env for env in range(n_envs)]
    model = small(lines(*lengths), COMMUTING, learning_starts=n_envs * 10)
    record = Record()
    model.learn(n_envs * 60, callback=record)
    assert_followed(model, record, COMMUTING.graph)
    ended = np.array(record.dones[:-1])
    if n_envs > 1:
        assert np.array(record.nodes[1:])[~ended & ended.any(axis=1, keepdims=True)].any()


@pytest.mark.parametrize("n_envs", [1, 3, 20])
def test_same_seed_same_run_and_another_seed_another(n_envs):
    runs = [small(rotation(n_envs), TURNING, seed=s).learn(n_envs * 120) for s in (0, 0, 1)]
    assert_same_runs(runs[0], runs[1])
    np.testing.assert_equal(runs[0].explorer.state_dict(), runs[1].explorer.state_dict())
    assert (runs[0].replay_buffer.actions[:100] != runs[2].replay_buffer.actions[:100]).any()


def test_greedy_actions_move_the_node():
    model = small(rotation(2), TURNING, **always(0.0))
    record = Record()
    model.learn(60, callback=record)
    assert not np.any(record.explored)
    assert_followed(model, record, TURNING.graph)
    assert np.any(record.nodes)


def test_the_node_follows_what_was_really_done():
    env = DummyVecEnv([lambda: Sticky(Line(7)), lambda: Line(11)])  # the second reports nothing
    model = small(env, COMMUTING, learning_starts=100)
    record = Record()
    model.learn(200, callback=record)
    chosen = model.replay_buffer.actions[:100, :, 0]
    done = np.array(record.actions)
    assert (chosen != done).any(axis=0).tolist() == [True, False]
    assert_followed(model, record, COMMUTING.graph)


@pytest.mark.parametrize("sticky", [True, False])
def test_the_node_follows_the_step_after_which_a_callback_stops(sticky):
    env = DummyVecEnv([lambda: Sticky(Line(8)) if sticky else Line(8)] * 8)
    model = small(env, COMMUTING)
    record = Record(stop=3)
    model.learn(100, callback=[record])
    assert len(record.actions) == 3 and model.explorer.nodes.any()
    assert (record.actions[-1] != record.locals["actions"]).any() == sticky
    assert_followed(model, record, COMMUTING.graph)


def test_learning_anew_starts_at_the_empty_word():
    model = small(lines(8, 9), STRAIGHT).learn(2 * 13)
    assert model.explorer.nodes.any()
    record = Record(stop=1)
    model.learn(10, callback=record)
    assert not record.nodes[0].any()


def test_learning_on_goes_on_at_the_node():
    model = small(lines(8, 9), STRAIGHT).learn(2 * 13)
    nodes = model.explorer.nodes
    record = Record(stop=1)
    model.learn(10, callback=record, reset_num_timesteps=False)
    np.testing.assert_array_equal(record.nodes[0], nodes)


def test_other_environments_start_at_the_empty_word():
    model = small(lines(7), STRAIGHT).learn(16)
    assert model.explorer.nodes.any()
    model.set_env(lines(7))
    record = Record(stop=1)
    model.learn(10, callback=record, reset_num_timesteps=False)
    assert not record.nodes[0].any()


class Several(gym.Env):
    """A few steps with random observations from any space."""

    action_space = spaces.Discrete(4)

    def __init__(self, space):
        self.observation_space = space

    def reset(self, *, seed=None, options=None):
        self.time = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        self.time += 1
        return self.observation_space.sample(), 0.0, self.time > 6, False, {}


OBSERVATIONS = {
    "a vector": spaces.Box(-1.0, 1.0, (3,), np.float64, seed=0),
    "a number": spaces.Discrete(9, seed=0),
    "numbers": spaces.MultiDiscrete([5, 6], seed=0),
    "flags": spaces.MultiBinary(6, seed=0),
    "an image": spaces.Box(0, 255, (40, 40, 3), np.uint8, seed=0),
    "a dictionary": spaces.Dict({"a": spaces.Box(0, 1, (2,)), "b": spaces.Discrete(3)}, seed=0),
}


@pytest.mark.parametrize("name", OBSERVATIONS)
@pytest.mark.parametrize("n_envs", [1, 3])
def test_greedy_actions_are_those_of_predict(name, n_envs):
    class Check(BaseCallback):
        def _on_step(self):
            expected, _ = self.model.predict(self.locals["self"]._last_obs, deterministic=True)
            np.testing.assert_array_equal(self.locals["actions"], expected)
            return True

    kind = {"an image": "CnnPolicy", "a dictionary": "MultiInputPolicy"}.get(name, "MlpPolicy")
    env = DummyVecEnv([lambda: Several(OBSERVATIONS[name])] * n_envs)
    explorer = easee.UniformExplorer(4, n_envs, seed=0)
    model = DQN(kind, env, explorer=explorer, seed=0, buffer_size=100, **always(0.0))
    model.learn(20 * n_envs, callback=Check())


def test_normalised_observations_and_frames_do():
    env = VecNormalize(VecFrameStack(lines(7, 8, 9), 2))
    model = small(env, COMMUTING)
    record = Record()
    model.learn(300, callback=record)
    assert_followed(model, record, COMMUTING.graph)


# --- evaluation ----------------------------------------------------------------------------------


def evaluation(deterministic):
    env = DummyVecEnv([lambda: Monitor(Line())])
    return EvalCallback(
        env, eval_freq=40, n_eval_episodes=2, deterministic=deterministic, verbose=0
    )


def test_deterministic_evaluation_changes_nothing_of_a_run():
    plain = small(Line(), COMMUTING).learn(300)
    callback = evaluation(True)
    evaluated = small(Line(), COMMUTING).learn(300, callback=callback)
    assert callback.n_calls == 300 and np.isfinite(callback.last_mean_reward)
    assert_same_runs(evaluated, plain)
    np.testing.assert_equal(evaluated.explorer.state_dict(), plain.explorer.state_dict())


def test_random_evaluation_does_not_touch_the_explorer():
    model = small(Line(), COMMUTING, exploration_final_eps=1.0)
    model.learn(100, callback=evaluation(False))
    before = model.explorer.state_dict()
    evaluate_policy(model, Monitor(Line()), 3, deterministic=False)
    observation = np.zeros((1, 2), np.float32)
    drawn = [model.predict(observation)[0].item() for _ in range(50)]
    assert set(drawn) == {0, 1}  # it did explore
    np.testing.assert_equal(model.explorer.state_dict(), before)


# --- saving and loading --------------------------------------------------------------------------


def interrupted(tmp_path, kind, n_envs):
    model = small(rotation(n_envs), TURNING, kind=kind).learn(n_envs * 300)
    model.save(tmp_path / "model")
    model.save_replay_buffer(tmp_path / "buffer")
    torch.rand(3), np.random.rand(3)  # something else happens in between
    model = kind.load(tmp_path / "model", env=model.get_env(), force_reset=False)
    model.load_replay_buffer(tmp_path / "buffer")
    return model.learn(n_envs * 300, reset_num_timesteps=False)


def uninterrupted(kind, n_envs):
    model = small(rotation(n_envs), TURNING, kind=kind).learn(n_envs * 300)
    return model.learn(n_envs * 300, reset_num_timesteps=False)


@pytest.mark.parametrize(("kind", "n_envs"), [(DQN, 1), (DQN, 3), (DQN, 20), (QRDQN, 1)])
def test_a_loaded_model_goes_on_as_if_it_had_never_stopped(tmp_path, kind, n_envs):
    stopped, whole = interrupted(tmp_path, kind, n_envs), uninterrupted(kind, n_envs)
    assert_same_runs(stopped, whole)
    np.testing.assert_equal(stopped.explorer.state_dict(), whole.explorer.state_dict())


def test_a_model_loaded_into_a_new_episode_starts_at_the_empty_word(tmp_path):
    model = small(lines(8, 9), STRAIGHT).learn(2 * 13)
    assert model.explorer.nodes.any()
    model.save(tmp_path / "model")
    model = DQN.load(tmp_path / "model", env=lines(8, 9))
    record = Record()
    model.learn(40, callback=record, reset_num_timesteps=False)
    assert_followed(model, record, STRAIGHT.graph)


def saved(tmp_path, env, explorer, steps=40):
    small(env, explorer).learn(steps).save(tmp_path / "model")
    return tmp_path / "model"


def test_the_explorer_given_when_loading_goes_on_from_the_saved_one(tmp_path):
    path = saved(tmp_path, lines(8, 9), STRAIGHT)
    kept = DQN.load(path, env=lines(8, 9)).explorer
    given = DQN.load(path, env=lines(8, 9), explorer=STRAIGHT).explorer
    assert given.policy is STRAIGHT
    np.testing.assert_equal(given.state_dict(), kept.state_dict())


def test_a_change_of_the_number_of_environments_needs_a_policy(tmp_path):
    path = saved(tmp_path, lines(8, 9), STRAIGHT)
    with pytest.raises(easee.ArgumentError, match="for 2 environments, found 3: .*explorer=POLICY"):
        DQN.load(path, env=lines(8, 8, 8))
    model = DQN.load(path, env=lines(8, 8, 8), explorer=STRAIGHT)
    record = Record()
    model.learn(60, callback=record)
    assert_followed(model, record, STRAIGHT.graph)
    with pytest.raises(easee.ArgumentError, match="for 3 environments, found 1: "):
        model.set_env(Line())


def test_an_explorer_of_another_prior_is_refused_when_loading(tmp_path):
    path = saved(tmp_path, lines(8), STRAIGHT)
    for explorer in (COMMUTING, easee.compile(easee.inverse("left", "right"), 5)):
        with pytest.raises(easee.ArgumentError, match="another prior or depth .*model.explorer"):
            DQN.load(path, env=lines(8), explorer=explorer)
    model = DQN.load(path, env=lines(8))
    model.explorer = COMMUTING
    assert model.learn(20).explorer.policy is COMMUTING


def test_environments_with_the_names_in_another_order_are_refused_later_too(tmp_path):
    path = saved(tmp_path, DummyVecEnv([CardinalGrid]), MOVING)
    with pytest.raises(easee.ArgumentError, match="order"):
        DQN.load(path, env=DummyVecEnv([Reordered]))
    with pytest.raises(easee.ArgumentError, match="order"):
        DQN.load(path, env=DummyVecEnv([CardinalGrid])).set_env(Reordered())


def test_a_model_without_environments_predicts_what_it_did(tmp_path):
    path = saved(tmp_path, lines(8), STRAIGHT, steps=120)
    model, alone = DQN.load(path, env=lines(8)), DQN.load(path)
    for place in range(-3, 4):
        observation = np.array([place, 2], np.float32)
        here, there = (m.predict(observation, deterministic=True)[0] for m in (model, alone))
        assert here == there


# --- logging -------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path):
    """Write a log file, and read it as an array with a field for each column."""
    logger = configure(str(tmp_path), ["csv"])

    def train(model, steps):
        model.set_logger(logger)
        model.learn(steps, log_interval=1)
        table = np.genfromtxt(tmp_path / "progress.csv", delimiter=",", names=True, deletechars="")
        return np.atleast_1d(table)

    yield train
    logger.close()


def test_the_log_says_how_much_was_explored_and_where(log):
    model = small(lines(8), STRAIGHT, learning_starts=100, exploration_final_eps=0.0)
    table = log(model, 400)
    share, steps = table["explorer/exploratory_share"], table["time/total_timesteps"]
    warm = steps <= 100
    assert (share[warm] == 1.0).all() and (share[steps > 250] == 0.0).all()
    assert ((0 < share) & (share < 1)).any()
    np.testing.assert_allclose(table["explorer/node_depth"][warm], 1.5)  # 0, 1, 2, 3, and again
    # A fair coin at the empty word, and no choice after it.
    np.testing.assert_allclose(table["explorer/policy_entropy"][warm], np.log(2) / 4)


def test_explorers_without_nodes_log_their_share(log):
    model = small(lines(8), easee.ZetaExplorer(2, seed=0), learning_starts=1000)
    table = log(model, 40)
    assert (table["explorer/exploratory_share"] == 1.0).all()
    assert "explorer/node_depth" not in table.dtype.names


def test_long_runs_between_two_logs_are_counted_whole(log):
    options = always(0.0) | {"learning_starts": 1800}
    model = small(lines(2400), STRAIGHT, **options)
    assert log(model, 2400)["explorer/exploratory_share"] == 0.75


def test_the_log_starts_again_with_another_explorer(log):
    model = small(lines(8), COMMUTING, learning_starts=1000).learn(8, log_interval=None)
    model.explorer = STRAIGHT  # it has fewer nodes
    assert log(model, 8)["explorer/node_depth"] == pytest.approx(1.5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_shows_the_explorer(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    model = small(lines(8), STRAIGHT, tensorboard_log=str(tmp_path))
    model.learn(80)
    events = EventAccumulator(str(tmp_path / "DQN_1"))
    events.Reload()
    names = ("exploratory_share", "policy_entropy", "node_depth")
    assert {f"explorer/{name}" for name in names} <= set(events.Tags()["scalars"])
    assert events.Scalars("explorer/exploratory_share")[0].value == 1.0


# --- what may explore ----------------------------------------------------------------------------


class Alternating:
    """An explorer that is none of ours: left, right, left, and so on."""

    n_actions = 2
    n_envs = 2

    def __init__(self):
        self.reset()

    def sample(self):
        return self.next.copy()

    def choose(self, greedy, epsilon):
        return np.where(epsilon > 0.5, self.next, greedy)

    def step(self, actions, dones):
        self.next = np.where(dones, 0, 1 - np.asarray(actions))

    def reset(self):
        self.next = np.zeros(2, int)


def test_anything_with_the_methods_of_an_explorer_explores():
    model = small(lines(7, 8), Alternating(), learning_starts=100).learn(2 * 56)
    for env, length in enumerate((7, 8)):
        episodes = model.replay_buffer.actions[:49, env, 0][: 49 // length * length]
        expected = np.tile(np.arange(length) % 2, 49 // length)
        np.testing.assert_array_equal(episodes, expected)


def test_an_explorer_of_their_number_of_actions_fits():
    explorer = Alternating()
    explorer.n_actions = Line.action_space.n  # a numpy integer
    assert small(lines(7, 8), explorer).learn(20).explorer is explorer


def test_a_model_with_another_explorer_can_be_saved_and_loaded(tmp_path):
    path = saved(tmp_path, lines(7, 8), Alternating())
    assert isinstance(DQN.load(path, env=lines(7, 8)).learn(20).explorer, Alternating)


def test_an_explorer_without_a_state_can_be_replaced_when_loading(tmp_path):
    path = saved(tmp_path, lines(7, 8), Alternating())
    new = Alternating()
    assert DQN.load(path, env=lines(7, 8), explorer=new).explorer is new


@pytest.mark.parametrize("n_envs", [1, 3, 20])
@pytest.mark.parametrize(
    "make",
    [
        lambda n: easee.UniformExplorer(3, n, seed=0),
        lambda n: easee.ZetaExplorer(3, n, seed=0),
        lambda n: easee.TabuExplorer(easee.priors.get("rotation-grid"), n, seed=0),
        lambda n: easee.Explorer(TURNING, n, seed=0, floor=0.1),
    ],
)
def test_all_explorers_do(make, n_envs):
    runs = [small(rotation(n_envs), make(n_envs)).learn(n_envs * 100) for _ in range(2)]
    assert_same_runs(*runs)
    np.testing.assert_equal(runs[0].explorer.state_dict(), runs[1].explorer.state_dict())
    assert len(np.unique(runs[0].replay_buffer.actions[:100])) == 3


def test_a_repetition_that_began_goes_on_in_training():
    explorer = easee.ZetaExplorer(2, seed=0)
    model = small(lines(8), explorer, **always(0.0))
    model.learn(1)
    explorer.repeated[:], explorer.remaining[:] = 1, 5
    model.learn(5, reset_num_timesteps=False)
    assert (model.replay_buffer.actions[1:6] == 1).all() and explorer.remaining[0] == 0


def test_qrdqn_explores_by_the_mixin():
    model = small(rotation(3), TURNING, kind=QRDQN)
    record = Record()
    model.learn(300, callback=record)
    assert_followed(model, record, TURNING.graph)


def test_without_an_explorer_qrdqn_is_theirs_to_the_bit():
    kinds = (QRDQN, sb3_contrib.QRDQN)
    ours, theirs = (small(rotation(), kind=kind).learn(200) for kind in kinds)
    assert_same_runs(ours, theirs)


def test_an_explorer_can_be_taken_away_and_be_given():
    model = small(rotation(), TURNING).learn(20)
    model.explorer = None
    assert model.learn(20).explorer is None
    model.explorer = TURNING
    assert model.learn(20).explorer.policy is TURNING


def cart_pole():
    return gym.make("CartPole-v1")


def test_environments_may_be_in_other_processes():
    policy = easee.compile(easee.priors.catcher(), 6)
    env = SubprocVecEnv([Catcher] * 2)
    try:
        model = small(env, policy, buffer_size=100)
        record = Record()
        model.learn(80, callback=record)
    finally:
        env.close()
    assert_followed(model, record, policy.graph)


def test_environments_in_other_processes_may_be_wrapped_and_have_no_names():
    env = VecMonitor(SubprocVecEnv([cart_pole] * 2))
    try:
        model = small(env, easee.UniformExplorer(2, 2, seed=0)).learn(80)
    finally:
        env.close()
    assert model.num_timesteps == 80


# --- bad input -----------------------------------------------------------------------------------


def test_another_number_of_actions_shows_both_lists():
    with pytest.raises(easee.ArgumentError) as error:
        small(CardinalGrid(), TURNING)
    assert "3 (forward, left, right)" in str(error.value)
    assert "4 (right, left, up, down)" in str(error.value)
    with pytest.raises(easee.ArgumentError, match=r"3 \(0, 1, 2\).*2 \(0, 1\)"):
        small(Line(), easee.UniformExplorer(3))


def test_the_same_names_in_another_order_show_both_lists():
    with pytest.raises(easee.ArgumentError) as error:
        small(Reordered(), MOVING)
    assert "right, left, up, down" in str(error.value)
    assert "Equivalences(['up', 'down', 'left', 'right'], ...)" in str(error.value)


def test_names_may_be_written_in_another_case_and_be_unknown():
    policy = easee.compile(easee.Equivalences(["RIGHT", "LEFT", "north", "south"]), 2)
    assert small(CardinalGrid(), policy).explorer.policy is policy


def test_continuous_actions_are_refused():
    class Continuous(Line):
        action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    with pytest.raises(TypeError, match="Discrete actions, found Box.*choose some values"):
        small(Continuous(), STRAIGHT)


@pytest.mark.parametrize("wrap", [lambda env: env, lambda env: DummyVecEnv([lambda: env])])
def test_several_factors_of_actions_are_refused_with_the_way_out(wrap):
    with pytest.raises(TypeError, match=r"found MultiDiscrete.*easee.envs.FlatActions\(env\)"):
        small(wrap(Steered()), STRAIGHT)


def test_flat_actions_train():
    env = FlatActions(Steered(), [["left", "straight", "right"], ["coast", "gas"]])
    omega = easee.Equivalences(env.action_names, [easee.commute("left+gas", "right+gas")])
    model = small(env, easee.compile(omega, 3))
    record = Record()
    model.learn(200, callback=record)
    assert_followed(model, record, model.explorer.policy.graph)
    assert len(np.unique(record.actions)) == 6


def test_an_explorer_for_another_number_of_environments_is_refused():
    with pytest.raises(easee.ArgumentError, match="for 2 environments, found 3: give the policy"):
        small(rotation(3), easee.Explorer(TURNING, 2))
    model = small(rotation(3))
    with pytest.raises(easee.ArgumentError, match="for 1 environments, found 3"):
        model.explorer = easee.UniformExplorer(3)


def test_what_is_no_explorer_is_refused():
    with pytest.raises(TypeError, match="found str, which has no sample, choose"):
        small(rotation(), "rotation-grid")
    with pytest.raises(TypeError, match="found Equivalences"):
        small(rotation(), easee.priors.get("rotation-grid"))


# --- vector environments of Gymnasium -----------------------------------------------------------


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_names_inside_a_vector_environment_are_compared(kind):
    mode = {"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP}
    envs = VectorAdapter(gym.make_vec("easee/RotationGrid-v0", 2, kind, vector_kwargs=mode))
    assert envs.has_attr("action_names") and not envs.has_attr("no_such_thing")
    assert envs.get_attr("action_names", [0]) == [("forward", "left", "right")]
    omega = easee.Equivalences(["left", "right", "forward"], ["left right ~"])
    with pytest.raises(easee.ArgumentError, match="not in the environment's order"):
        DQN("MlpPolicy", envs, explorer=easee.compile(omega, 3))
    envs.close()


def test_a_vector_environment_of_gymnasium_has_to_be_wrapped():
    with pytest.raises(easee.ArgumentError, match="VectorAdapter"):
        DQN("MlpPolicy", gym.make_vec("CartPole-v1", 2))


class Always(gym.Wrapper):
    """Always goes right, and says so."""

    def step(self, action):
        *others, info = self.env.step(0)
        return *others, info | {"executed_action": 0}


def test_a_vector_environment_tells_what_its_environments_do():
    mode = gym.vector.AutoresetMode.SAME_STEP

    def make():
        limited = gym.wrappers.TimeLimit(Always(CardinalGrid(30)), 6)
        return gym.wrappers.RecordEpisodeStatistics(limited)

    envs = VectorAdapter(gym.vector.SyncVectorEnv([make] * 2, autoreset_mode=mode))
    policy = easee.compile(easee.priors.get("cardinal-grid"), 10)
    model = DQN("MlpPolicy", envs, explorer=policy, learning_starts=10**6, seed=0)
    model.learn(8)
    assert [policy.graph.word(node) for node in model.explorer.nodes] == [("right",) * 4] * 2
    infos = [envs.step(np.zeros(2, int))[-1] for _ in range(2)][-1]
    assert [info["episode"]["l"] for info in infos] == [6, 6]
    envs.set_attr("size", (7, 7), [1])
    assert envs.get_attr("size") == [(30, 30), (7, 7)]


def test_a_vector_environment_passes_options_on():
    class Told(CardinalGrid):
        def reset(self, *, seed=None, options=None):
            self.told = options
            return super().reset(seed=seed, options=options)

    mode = gym.vector.AutoresetMode.SAME_STEP
    envs = VectorAdapter(gym.vector.SyncVectorEnv([Told] * 2, autoreset_mode=mode))
    envs.set_options({"k": 1})
    envs.reset()
    assert envs.get_attr("told") == [{"k": 1}] * 2
    envs.reset()
    assert envs.get_attr("told") == [None, None]
    envs.set_options([{"k": 1}, {"k": 2}])
    with pytest.raises(easee.ArgumentError, match="same options"):
        envs.reset()
