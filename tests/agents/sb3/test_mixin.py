import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from scipy.stats import binom, chisquare
from stable_baselines3.common.callbacks import BaseCallback, EvalCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

import easee
from easee.agents.sb3 import DQN
from tests.agents.sb3.models import (
    COMMUTING,
    STRAIGHT,
    TURNING,
    Alternating,
    Line,
    Record,
    always,
    assert_followed,
    assert_same_runs,
    lines,
    rotation,
    small,
)


class Sticky(gym.Wrapper):
    """Repeats the previous action in every third step, and reports the executed action."""

    def reset(self, **kwargs):
        self.count, self.last = 0, 0
        return self.env.reset(**kwargs)

    def step(self, action):
        self.count += 1
        self.last = self.last if self.count % 3 == 0 else int(action)
        *result, info = self.env.step(self.last)
        return *result, info | {"executed_action": self.last}


class RandomObservations(gym.Env):
    """A few steps with random observations from a given space."""

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


# --- choosing actions ----------------------------------------------------------------------------


def test_warm_up_and_epsilon_1_never_take_a_pruned_action():
    options = always(1.0) | {"learning_starts": 200}
    model = small(lines(8), STRAIGHT, **options).learn(400)
    words = model.replay_buffer.actions[:400].reshape(-1, 4)  # of depth 4, two in an episode
    assert (words == words[:, :1]).all()  # no word turns back
    assert set(words[:50, 0]) == set(words[50:, 0]) == {0, 1}


@pytest.mark.parametrize("n_envs", [1, 4])
def test_actions_that_usually_do_nothing_are_explored_with_their_floor(n_envs):
    omega = easee.Equivalences(["forward", "left", "right"], ["right ~ @ 0.1"])
    options = always(1.0) | {"learning_starts": 1000}
    model = small(rotation(n_envs), easee.compile(omega, 4), **options)
    assert model.explorer.policy.floors.tolist() == [0, 0, 0.15]
    record = Record()
    model.learn(4000, callback=record)
    actions = np.concatenate(record.actions)
    counts = [(actions != 2).sum(), (actions == 2).sum()]
    assert chisquare(counts, len(actions) * np.array([0.85, 0.15])).pvalue > 0.001


def test_environments_explore_independently():
    model = small(lines(*[8] * 8), STRAIGHT, **always(0.5))
    last = model.q_net.q_net[-1]
    with torch.no_grad():
        last.weight.zero_()
        last.bias.copy_(torch.tensor([0.0, 1.0]))  # the greedy action is right
    record = Record()
    model.learn(8 * 2000, callback=record)
    explored = np.array(record.explored[1:])  # Stable-Baselines3 sets epsilon after the first step
    actions = np.array(record.actions[1:])
    assert (actions[~explored] == 1).all() and (actions[explored] == 0).any()
    counts = np.bincount(explored.sum(axis=1), minlength=9)
    expected = binom.pmf(np.arange(9), 8, 0.5) * len(explored)
    assert chisquare(counts, expected).pvalue > 0.001


@pytest.mark.parametrize("name", OBSERVATIONS)
@pytest.mark.parametrize("n_envs", [1, 3])
def test_greedy_actions_are_those_of_predict(name, n_envs):
    class Check(BaseCallback):
        def _on_step(self):
            expected, _ = self.model.predict(self.locals["self"]._last_obs, deterministic=True)
            np.testing.assert_array_equal(self.locals["actions"], expected)
            return True

    kind = {"an image": "CnnPolicy", "a dictionary": "MultiInputPolicy"}.get(name, "MlpPolicy")
    env = DummyVecEnv([lambda: RandomObservations(OBSERVATIONS[name])] * n_envs)
    explorer = easee.UniformExplorer(4, n_envs, seed=0)
    model = DQN(kind, env, explorer=explorer, seed=0, buffer_size=100, **always(0.0))
    model.learn(20 * n_envs, callback=Check())
    assert model.num_timesteps == 20 * n_envs


@pytest.mark.parametrize("n_envs", [1, 3, 20])
def test_runs_are_determined_by_the_seed(n_envs):
    runs = [small(rotation(n_envs), TURNING, seed=s).learn(n_envs * 120) for s in (0, 0, 1)]
    assert_same_runs(runs[0], runs[1])
    np.testing.assert_equal(runs[0].explorer.state_dict(), runs[1].explorer.state_dict())
    assert (runs[0].replay_buffer.actions[:100] != runs[2].replay_buffer.actions[:100]).any()


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
def test_training_works_with_every_explorer(make, n_envs):
    runs = [small(rotation(n_envs), make(n_envs)).learn(n_envs * 100) for _ in range(2)]
    assert_same_runs(*runs)
    np.testing.assert_equal(runs[0].explorer.state_dict(), runs[1].explorer.state_dict())
    assert len(np.unique(runs[0].replay_buffer.actions[:100])) == 3


def test_training_works_with_another_class_of_explorer():
    model = small(lines(7, 8), Alternating(), learning_starts=100).learn(2 * 56)
    for env, length in enumerate((7, 8)):
        episodes = model.replay_buffer.actions[:49, env, 0][: 49 // length * length]
        expected = np.tile(np.arange(length) % 2, 49 // length)
        np.testing.assert_array_equal(episodes, expected)


def test_a_repetition_continues_with_epsilon_0():
    explorer = easee.ZetaExplorer(2, seed=0)
    model = small(lines(8), explorer, **always(0.0))
    model.learn(1)
    explorer.repeated[:], explorer.remaining[:] = 1, 5
    model.learn(5, reset_num_timesteps=False)
    assert (model.replay_buffer.actions[1:6] == 1).all() and explorer.remaining[0] == 0


def test_the_explorer_can_be_replaced():
    model = small(rotation(), TURNING).learn(20)
    model.explorer = None
    assert model.learn(20).explorer is None
    model.explorer = TURNING
    assert model.learn(20).explorer.policy is TURNING


# --- following actions ---------------------------------------------------------------------------


@pytest.mark.parametrize("n_envs", [1, 3, 20])
def test_nodes_follow_environments_whose_episodes_differ_in_length(n_envs):
    lengths = [3 + 2 * env for env in range(n_envs)]
    model = small(lines(*lengths), COMMUTING, learning_starts=n_envs * 10)
    record = Record()
    model.learn(n_envs * 60, callback=record)
    assert_followed(model, record, COMMUTING.graph)
    ended = np.array(record.dones[:-1])
    others = ~ended & ended.any(axis=1, keepdims=True)
    assert np.array(record.nodes[1:])[others].any() == (n_envs > 1)


def test_greedy_actions_move_the_node():
    model = small(rotation(2), TURNING, **always(0.0))
    record = Record()
    model.learn(60, callback=record)
    assert not np.any(record.explored)
    assert_followed(model, record, TURNING.graph)
    assert np.any(record.nodes)


def test_nodes_follow_executed_actions():
    env = DummyVecEnv([lambda: Sticky(Line(7)), lambda: Line(11)])  # the second reports nothing
    model = small(env, COMMUTING, learning_starts=100)
    record = Record()
    model.learn(200, callback=record)
    chosen = model.replay_buffer.actions[:100, :, 0]
    executed = np.array(record.actions)
    assert (chosen != executed).any(axis=0).tolist() == [True, False]
    assert_followed(model, record, COMMUTING.graph)


@pytest.mark.parametrize("sticky", [True, False])
def test_nodes_follow_the_step_after_which_a_callback_stops(sticky):
    env = DummyVecEnv([lambda: Sticky(Line(8)) if sticky else Line(8)] * 8)
    model = small(env, COMMUTING)
    record = Record(stop=3)
    model.learn(100, callback=[record])
    assert len(record.actions) == 3 and model.explorer.nodes.any()
    assert (record.actions[-1] != record.locals["actions"]).any() == sticky
    assert_followed(model, record, COMMUTING.graph)


def test_nodes_follow_in_normalised_and_stacked_environments():
    env = VecNormalize(VecFrameStack(lines(7, 8, 9), 2))
    model = small(env, COMMUTING)
    record = Record()
    model.learn(300, callback=record)
    assert_followed(model, record, COMMUTING.graph)


def test_learn_resets_the_nodes():
    model = small(lines(8, 9), STRAIGHT).learn(2 * 13)
    assert model.explorer.nodes.any()
    record = Record(stop=1)
    model.learn(10, callback=record)
    assert not record.nodes[0].any()


def test_learn_without_resetting_timesteps_keeps_the_nodes():
    model = small(lines(8, 9), STRAIGHT).learn(2 * 13)
    nodes = model.explorer.nodes
    record = Record(stop=1)
    model.learn(10, callback=record, reset_num_timesteps=False)
    np.testing.assert_array_equal(record.nodes[0], nodes)


def test_new_environments_start_at_the_empty_word():
    model = small(lines(7), STRAIGHT).learn(16)
    assert model.explorer.nodes.any()
    model.set_env(lines(7))
    record = Record(stop=1)
    model.learn(10, callback=record, reset_num_timesteps=False)
    assert not record.nodes[0].any()


# --- evaluation ----------------------------------------------------------------------------------


def evaluation(deterministic):
    env = DummyVecEnv([lambda: Monitor(Line())])
    return EvalCallback(
        env, eval_freq=40, n_eval_episodes=2, deterministic=deterministic, verbose=0
    )


def test_deterministic_evaluation_does_not_change_a_run():
    plain = small(Line(), COMMUTING).learn(300)
    callback = evaluation(True)
    evaluated = small(Line(), COMMUTING).learn(300, callback=callback)
    assert callback.n_calls == 300 and np.isfinite(callback.last_mean_reward)
    assert_same_runs(evaluated, plain)
    np.testing.assert_equal(evaluated.explorer.state_dict(), plain.explorer.state_dict())


def test_stochastic_evaluation_does_not_change_the_explorer():
    model = small(Line(), COMMUTING, exploration_final_eps=1.0)
    model.learn(100, callback=evaluation(False))
    before = model.explorer.state_dict()
    evaluate_policy(model, Monitor(Line()), 3, deterministic=False)
    observation = np.zeros((1, 2), np.float32)
    drawn = [model.predict(observation)[0].item() for _ in range(50)]
    assert set(drawn) == {0, 1}  # some of them were exploratory
    np.testing.assert_equal(model.explorer.state_dict(), before)
