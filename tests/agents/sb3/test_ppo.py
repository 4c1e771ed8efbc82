import inspect
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from scipy.stats import chisquare
from stable_baselines3.common.callbacks import BaseCallback, EvalCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

import easee
from easee.agents.reference_policy import log_reference
from easee.agents.sb3 import A2C, PPO
from easee.envs import CardinalGrid
from tests.agents.sb3.models import (
    COMMUTING,
    MOVING,
    STRAIGHT,
    TURNING,
    Line,
    Record,
    Reordered,
    assert_followed,
    lines,
    rotation,
)
from tests.agents.sb3.on_policy import (
    KINDS,
    THEIRS,
    Shaped,
    gradient,
    masked,
    parameters,
    same_parameters,
    silence,
)
from tests.agents.sb3.test_mixin import Sticky

USUAL = easee.compile(easee.Equivalences(["forward", "left", "right"], ["right ~ @ 0.1"]), 4)


class KeepRollouts(BaseCallback):
    """Keeps the arrays of every rollout before they are flattened."""

    def __init__(self):
        super().__init__()
        self.rollouts = []

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        buffer = self.locals["self"].rollout_buffer
        names = ("reference_rows", "log_probs", "actions", "observations")
        self.rollouts.append({name: np.copy(getattr(buffer, name)) for name in names})


def two():
    return masked(12, 9)


# --- equality with the plain agents ---------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_reference_the_agent_is_identical(kind):
    ours = gradient(two(), kind=kind).learn(128)
    theirs = gradient(two(), kind=THEIRS[kind]).learn(128)
    assert same_parameters(ours, theirs)
    assert ours.reference is None and ours.explorer is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {"reference": easee.UniformExplorer(3, 2)},
        {"reference": TURNING, "reference_floor": 1.0},
        {"reference": TURNING, "reference_strength": 0.0},
    ],
    ids=["uniform", "floor 1", "strength 0"],
)
def test_with_a_uniform_reference_the_agent_is_identical(kind, options):
    ours = gradient(two(), kind=kind, **options).learn(128)
    assert same_parameters(ours, gradient(two(), kind=THEIRS[kind]).learn(128))


@pytest.mark.parametrize("kind", KINDS)
def test_a_reference_changes_training_and_the_seed_determines_it(kind):
    runs = [gradient(two(), TURNING, kind=kind, seed=s).learn(128) for s in (0, 0, 1)]
    assert same_parameters(runs[0], runs[1]) and not same_parameters(runs[0], runs[2])
    np.testing.assert_equal(runs[0].explorer.state_dict(), runs[1].explorer.state_dict())
    assert not same_parameters(runs[0], gradient(two(), kind=kind).learn(128))


@pytest.mark.parametrize("kind", KINDS)
def test_signature_is_the_algorithm_s_and_the_reference_s(kind):
    known = inspect.signature(THEIRS[kind]).parameters
    found = list(inspect.signature(kind).parameters.values())
    assert found[: len(known)] == list(known.values())
    names = [parameter.name for parameter in found[len(known) :]]
    assert names == ["reference", "reference_floor", "reference_strength", "names"]


# --- the two formulas -----------------------------------------------------------------------------


def test_logits_are_the_network_s_plus_the_log_of_the_reference():
    model = gradient(rotation(2), TURNING, n_steps=24)
    network = parameters(model)
    keep = KeepRollouts()
    model.learn(48, callback=keep)
    (rollout,) = keep.rollouts
    model.policy.load_state_dict(network)
    observations, _ = model.policy.obs_to_tensor(rollout["observations"].reshape(48, 3))
    logits = model.policy.get_distribution(observations).distribution.logits
    rows = torch.as_tensor(rollout["reference_rows"].reshape(48, 3))
    expected = torch.log_softmax(logits + rows, dim=1)
    actions = torch.as_tensor(rollout["actions"].reshape(48, 1)).long()
    chosen = expected.gather(1, actions)[:, 0].detach().numpy()
    np.testing.assert_allclose(rollout["log_probs"].reshape(-1), chosen, atol=1e-5)


def test_the_bonus_is_minus_the_divergence_from_the_reference():
    model = gradient(rotation(2), TURNING)
    rng = np.random.default_rng(0)
    logits = torch.as_tensor(rng.normal(size=(5, 3)), dtype=torch.float32).requires_grad_()
    reference = rng.dirichlet([1, 1, 1], 5)
    distribution = model._distribution
    distribution.rows = torch.as_tensor(log_reference(reference))
    bonus = distribution.proba_distribution(logits).entropy()
    pi = torch.softmax(logits + torch.as_tensor(reference).log(), dim=1)
    expected = -(pi * (pi / torch.as_tensor(reference)).log()).sum(dim=1)
    np.testing.assert_allclose(bonus.detach().numpy(), expected.detach().numpy(), atol=1e-6)
    ours, theirs = (torch.autograd.grad(x.sum(), logits)[0] for x in (bonus, expected))
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=1e-6)


def test_old_and_new_log_probabilities_have_the_same_reference():
    class Check(PPO):
        def train(self):
            buffer: Any = self.rollout_buffer
            buffer.distribution = self._distribution
            ratios = []
            for batch in buffer.get(8):
                actions = batch.actions.long().flatten()
                _, new, _ = self.policy.evaluate_actions(batch.observations, actions)
                ratios.append((new - batch.old_log_prob).detach().numpy())
            np.testing.assert_allclose(np.concatenate(ratios), 0.0, atol=1e-5)
            super().train()

    gradient(masked(12, 9, 7), TURNING, kind=Check).learn(160)


def test_an_untrained_agent_is_the_explorer():
    model = silence(gradient(rotation(40), TURNING, n_steps=100, n_epochs=1, learning_rate=0.0))
    keep, record = KeepRollouts(), Record()
    model.learn(4000, callback=[keep, record])
    actions, nodes = np.array(record.actions), np.array(record.nodes)
    explorer = easee.Explorer(TURNING, floor=0.1)
    for node in (0, *TURNING.graph.successors[0]):
        counts = np.bincount(actions[nodes == node], minlength=3)
        expected = counts.sum() * explorer.table.probabilities[node]
        assert chisquare(counts, expected).pvalue > 0.001
    rows = keep.rollouts[0]["reference_rows"]
    np.testing.assert_allclose(np.exp(rows), explorer.table.probabilities[nodes], atol=1e-6)


def test_floors_of_the_policy_are_honoured():
    model = gradient(rotation(2), USUAL, reference_floor=0.3)
    expected = 0.7 * easee.Explorer(USUAL, 2).probabilities() + 0.1
    np.testing.assert_allclose(model.explorer.probabilities(), expected)
    assert USUAL.floors[2] == 0.15


def test_floor_0_excludes_what_the_reference_never_does():
    model = gradient(lines(8, 8), STRAIGHT, reference_floor=0.0, learning_rate=0.1)
    record = Record()
    model.learn(320, callback=record)
    words = np.array(record.actions).T.reshape(-1, 4)  # of depth 4, two in an episode
    assert (words == words[:, :1]).all()
    assert all(torch.isfinite(value).all() for value in model.policy.state_dict().values())


def test_the_strength_may_fade():
    keep = KeepRollouts()
    model = gradient(rotation(2), TURNING, reference_strength=lambda progress: progress)
    model.learn(64, callback=keep)
    full, faded = (rollout["reference_rows"] for rollout in keep.rollouts)
    assert np.ptp(full, axis=2).max() == pytest.approx(2 * np.ptp(faded, axis=2).max(), rel=1e-5)
    np.testing.assert_allclose(np.exp(faded).sum(axis=2), 1.0, atol=1e-6)


# --- following actions ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [PPO, A2C])
@pytest.mark.parametrize("n_envs", [1, 3])
def test_nodes_follow_environments_whose_episodes_differ_in_length(kind, n_envs):
    model = gradient(lines(*range(3, 3 + 2 * n_envs, 2)), COMMUTING, kind=kind)
    record = Record()
    model.learn(n_envs * 64, callback=record)
    assert_followed(model, record, COMMUTING.graph)
    assert np.any(record.nodes)


def test_nodes_follow_executed_actions():
    env = DummyVecEnv([lambda: Sticky(Line(7)), lambda: Line(11)])
    model = gradient(env, COMMUTING)
    record = Record()
    model.learn(128, callback=record)
    assert_followed(model, record, COMMUTING.graph)


def test_nodes_follow_the_step_after_which_a_callback_stops():
    model = gradient(lines(8, 8, 8), COMMUTING)
    record = Record(stop=3)
    model.learn(100, callback=[record])
    assert len(record.actions) == 3 and model.explorer.nodes.any()
    assert_followed(model, record, COMMUTING.graph)
    model.learn(96, reset_num_timesteps=False)


def test_nodes_follow_in_normalised_and_stacked_environments():
    model = gradient(VecNormalize(VecFrameStack(lines(7, 8), 2)), COMMUTING)
    record = Record()
    model.learn(96, callback=record)
    assert_followed(model, record, COMMUTING.graph)


def test_learn_resets_the_nodes_unless_it_continues():
    model = gradient(lines(30, 31), COMMUTING).learn(32)
    nodes = model.explorer.nodes
    assert nodes.any()
    for resets in (False, True):
        record = Record(stop=1)
        model.learn(32, callback=record, reset_num_timesteps=resets)
        np.testing.assert_array_equal(record.nodes[0], 0 * nodes if resets else nodes)


@pytest.mark.parametrize(
    ("policy", "space"),
    [
        ("CnnPolicy", spaces.Box(0, 255, (36, 36, 3), np.uint8, seed=0)),
        ("MultiInputPolicy", spaces.Dict({"a": spaces.Box(0, 1, (2,)), "b": spaces.Discrete(3)})),
        ("MlpPolicy", spaces.Discrete(9, seed=0)),
    ],
)
@pytest.mark.parametrize("kind", [PPO, A2C])
def test_observations_may_be_images_dictionaries_and_numbers(kind, policy, space):
    env = DummyVecEnv([lambda: Shaped(space)] * 2)
    network = {} if policy == "CnnPolicy" else {"net_arch": [16]}
    model = gradient(env, TURNING, kind=kind, policy=policy, n_steps=8, policy_kwargs=network)
    record = Record()
    model.learn(16, callback=record)
    assert_followed(model, record, TURNING.graph)


def test_the_reference_can_be_replaced():
    model = gradient(rotation(2), TURNING).learn(32)
    model.reference = None
    assert model.learn(32).explorer is None
    model.reference = USUAL
    assert model.learn(32).reference is USUAL


def test_a_reference_may_be_the_path_of_a_policy(tmp_path):
    TURNING.save(tmp_path / "policy.npz")
    model = gradient(rotation(2), str(tmp_path / "policy.npz"))
    np.testing.assert_array_equal(model.reference.probabilities, TURNING.probabilities)
    assert gradient(rotation(2), tmp_path / "policy.npz").explorer.n_envs == 2


# --- evaluation -----------------------------------------------------------------------------------


def test_predict_and_evaluation_do_not_move_the_training_nodes():
    class Check(BaseCallback):
        def _on_step(self):
            model = self.locals["self"]
            before = model.explorer.state_dict()
            model.predict(np.zeros((5, 3)))
            np.testing.assert_equal(model.explorer.state_dict(), before)
            return True

    model = gradient(rotation(2), TURNING)
    model.predict_with_reference = True
    evaluation = EvalCallback(Monitor(rotation(1).envs[0]), n_eval_episodes=1, eval_freq=10)
    record = Record()
    model.learn(64, callback=[Check(), evaluation, record])
    assert_followed(model, record, TURNING.graph)


def test_predict_is_the_network_s_unless_the_reference_is_asked_for():
    model = silence(gradient(rotation(2), TURNING, reference_floor=0.0))
    observation = np.zeros((600, 3))
    left = easee.Explorer(TURNING, 600, seed=0)
    actions, _ = model.predict(observation)
    assert len(np.unique(actions)) == 3
    model.predict_with_reference = True
    state = None
    for _ in range(4):
        actions, state = model.predict(observation, state)
        assert (left.probabilities()[np.arange(600), actions] > 0).all()
        left.step(actions)
        np.testing.assert_array_equal(state["nodes"], left.nodes)


def test_predict_resets_the_nodes_at_the_start_of_episodes():
    model = gradient(rotation(2), TURNING)
    model.predict_with_reference = True
    observation = np.zeros((3, 3))
    actions, state = model.predict(observation, None, np.ones(3, bool))
    moved = TURNING.graph.successors[0, actions]
    np.testing.assert_array_equal(state["nodes"], moved)
    actions, state = model.predict(observation, state, np.array([False, True, False]))
    assert state["nodes"][1] == TURNING.graph.successors[0, actions[1]]
    action, state = model.predict(np.zeros(3))  # a single observation
    assert action.shape == () and state["nodes"] == [TURNING.graph.successors[0, action]]


def test_evaluate_policy_carries_the_nodes():
    model = silence(gradient(lines(8, 8), STRAIGHT, reference_floor=0.0))
    model.predict_with_reference = True
    rewards, lengths = evaluate_policy(
        model, Monitor(Line(4)), 20, deterministic=False, return_episode_rewards=True
    )
    assert set(rewards) == {10.0, -10.0} and set(lengths) == {4}  # it never turns back


def test_the_logger_records_divergence_and_agreement(tmp_path):
    model = silence(gradient(lines(8, 8), STRAIGHT, reference_floor=0.5, learning_rate=0.0))
    model.set_logger(configure(str(tmp_path), ["csv"]))
    record = Record()
    model.learn(320, callback=record)
    model.logger.close()
    header, first, *_ = (tmp_path / "progress.csv").read_text().splitlines()
    row = dict(zip(header.split(","), first.split(","), strict=True))
    assert float(row["reference/kl"]) == pytest.approx(0.0, abs=1e-6)
    actions, nodes = np.array(record.actions[:16]), np.array(record.nodes[:16])
    table = easee.Explorer(STRAIGHT, floor=0.5).table.probabilities
    likely = np.take_along_axis(table[nodes], actions[..., None], axis=2) >= 0.5
    assert float(row["reference/agreement"]) == pytest.approx(likely.mean())
    assert 0.5 < likely.mean() < 1


# --- wrong arguments ------------------------------------------------------------------------------


class Continuous(Line):
    action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)


class Steered(Line):
    action_space = spaces.MultiDiscrete([3, 2])


@pytest.mark.parametrize("wrap", [lambda env: env, lambda env: DummyVecEnv([lambda: env])])
def test_other_action_spaces_are_rejected(wrap):
    with pytest.raises(easee.ArgumentTypeError, match="found Box.*discretise"):
        gradient(wrap(Continuous()), STRAIGHT)
    with pytest.raises(easee.ArgumentTypeError, match="found MultiDiscrete.*FlatActions"):
        gradient(wrap(Steered()), STRAIGHT)


def test_other_actions_are_rejected():
    with pytest.raises(easee.ArgumentError, match=r"3 \(forward, left, right\).*4 \(right, left"):
        gradient(CardinalGrid(), TURNING)
    with pytest.raises(easee.ArgumentError, match="order"):
        gradient(Reordered(), MOVING)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (easee.priors.get("rotation-grid"), r"found Equivalences: compile them first, e.g. easee"),
        (3, "expected an ExplorationPolicy, a string .* found int"),
        (easee.ZetaExplorer(3, 2), "found ZetaExplorer"),
        (easee.TabuExplorer(easee.priors.get("rotation-grid"), 2), "found TabuExplorer"),
        (3, "found int"),
    ],
)
def test_other_references_are_rejected(reference, message):
    with pytest.raises(easee.ArgumentTypeError, match=message):
        gradient(rotation(2), reference)


def test_other_numbers_of_environments_are_rejected():
    with pytest.raises(easee.ArgumentError, match="for 2 environments, found 3: pass the policy"):
        gradient(rotation(3), easee.Explorer(TURNING, 2))
    with pytest.raises(easee.ArgumentError, match="for 2 environments, found 3: .*reference=POL"):
        gradient(rotation(2), TURNING).set_env(rotation(3))


def test_wrong_floors_and_strengths_are_rejected():
    for floor in (-0.1, 1.1, "a"):
        with pytest.raises(easee.ArgumentError, match="reference_floor between 0 and 1"):
            gradient(rotation(2), TURNING, reference_floor=floor)
    for strength in (-1.0, lambda progress: -progress, float("nan")):
        with pytest.raises(easee.ArgumentError, match="reference_strength of at least 0"):
            gradient(rotation(2), TURNING, reference_strength=strength).learn(32)
    for constant in (-1.0, float("nan")):  # without training
        with pytest.raises(easee.ArgumentError, match="reference_strength of at least 0"):
            gradient(rotation(2), TURNING, reference_strength=constant)
    for value in ("1", None, [1, 2]):
        with pytest.raises(easee.ArgumentTypeError, match="reference_strength as a number, or as"):
            gradient(rotation(2), TURNING, reference_strength=value)
    with pytest.raises(easee.ArgumentTypeError, match="that returns one, found 'x'"):
        gradient(rotation(2), TURNING, reference_strength=lambda progress: "x").learn(32)


def test_vector_environments_of_gymnasium_are_rejected():
    with pytest.raises(easee.ArgumentTypeError, match="VectorAdapter"):
        gradient(gym.make_vec("CartPole-v1", 2), TURNING)
