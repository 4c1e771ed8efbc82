"""The connector in one of RLlib's env runners, in this process."""

import re
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.algorithms.dqn.torch.default_dqn_torch_rl_module import DefaultDQNTorchRLModule
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.tune.registry import register_env
from scipy.stats import chisquare

import easee
from easee.agents.rllib import EaseeConnector, GreedyExploration, explore_with
from tests.rllib.episodes import POLICY, assert_nodes_follow, join, one_hot_grid

# RLlib registers its environments under one name, and uses deprecated names of other packages.
pytestmark = pytest.mark.filterwarnings("ignore")


class SlipsLeft(gym.Wrapper):
    """Executes "left" in the place of "right", and reports it."""

    def step(self, action):
        executed = 1 if action == 2 else int(action)
        *result, info = self.env.step(executed)
        return *result, info | {"executed_action": executed}


class MasksInInfos(gym.Wrapper):
    """Allows everything but "forward"."""

    MASK = np.array([0, 1, 1], np.int8)

    def reset(self, **options):
        observation, info = self.env.reset(**options)
        return observation, info | {"action_mask": self.MASK}

    def step(self, action):
        *result, info = self.env.step(action)
        return *result, info | {"action_mask": self.MASK}


class MasksInObservations(gym.ObservationWrapper):
    def __init__(self, env):
        super().__init__(env)
        mask = gym.spaces.Box(0, 1, (3,), np.int8)
        observations = {"observations": env.observation_space, "action_mask": mask}
        self.observation_space = gym.spaces.Dict(observations)

    def observation(self, observation):
        return {"observations": observation, "action_mask": MasksInInfos.MASK}


WRAPPERS = {"slips": SlipsLeft, "infos": MasksInInfos, "observations": MasksInObservations}


@pytest.fixture(autouse=True, scope="module")
def registered():
    register_env("grid", one_hot_grid)
    for name, wrapper in WRAPPERS.items():
        register_env(name, lambda config, wrapper=wrapper: wrapper(one_hot_grid(config)))


def grid_config(env="grid", envs=3, epsilon=1.0):
    return (
        DQNConfig()
        .environment(env, env_config={"size": 5, "max_steps": 7})
        .env_runners(num_envs_per_env_runner=envs)
        .training(epsilon=epsilon)
        .debugging(seed=0)
    )


def runner(env="grid", envs=3, epsilon=1.0, policy=POLICY, **options):
    config = explore_with(grid_config(env, envs, epsilon), policy, **options)
    return SingleAgentEnvRunner(config=config)


@pytest.fixture(scope="module")
def module(registered):
    return runner().module


def sampled(env_runner, fragments=6, **options):
    """Return whole episodes, sampled in fragments that cut them."""
    chunks = [env_runner.sample(num_timesteps=10, **options) for _ in range(fragments)]
    return join(chunk for fragment in chunks for chunk in fragment)


@pytest.mark.parametrize("epsilon", [1.0, 0.4])
def test_nodes_follow_all_actions_of_an_episode_and_start_again_with_the_next(epsilon):
    episodes = sampled(runner(epsilon=epsilon))
    assert sum(episode.is_done for episode in episodes) >= 4  # so environments were reset
    assert any(len(episode) == 7 for episode in episodes)  # longer than the policy's depth
    for episode in episodes:
        assert_nodes_follow(episode)


def test_extra_outputs_say_which_action_explored():
    shares = []
    for epsilon in (0.0, 0.5, 1.0):
        episodes = sampled(runner(epsilon=epsilon), fragments=20)
        explored = np.concatenate([e.get_extra_model_outputs("explored") for e in episodes])
        shares.append(explored.mean())
    assert shares[0] == 0.0 and 0.35 < shares[1] < 0.65 and shares[2] == 1.0


def test_first_actions_have_the_policy_s_probabilities():
    policy = easee.compile(easee.priors.get("rotation-grid-complete"), depth=4)
    episodes = sampled(runner(envs=10, policy=policy), fragments=120)
    first = [int(e.get_actions(0)) for e in episodes if e.t_started == 0]
    expected = policy.probabilities[0] * len(first)
    assert len(first) > 100
    assert chisquare(np.bincount(first, minlength=3), expected).pvalue > 0.001


def test_without_exploration_actions_are_the_module_s_and_nodes_still_follow():
    for episode in sampled(runner(), explore=False):
        assert not any(episode.get_extra_model_outputs("explored"))
        assert_nodes_follow(episode)


def test_actions_that_the_connector_did_not_see_start_the_walk_again(module):
    connector, episode = EaseeConnector(policy=POLICY), SingleAgentEpisode()
    episode.add_env_reset(np.zeros(1), {})
    nodes = []
    for unseen in (0, 0, 1, 0):
        nodes.append(act(connector, module, episode, column="explorer_node")[0])
        for _ in range(1 + unseen):
            episode.add_env_step(np.zeros(1), 0, 0.0, {}, extra_model_outputs={})
    assert nodes[2] != 0 and nodes == [0, nodes[1], nodes[2], 0]


def test_nodes_follow_the_executed_action():
    episodes = sampled(runner("slips"))
    assert any(2 in episode.get_actions() for episode in episodes)
    for episode in episodes:
        executed = [info["executed_action"] for info in episode.get_infos()[1:]]
        assert_nodes_follow(episode, executed)


def test_exploratory_actions_obey_masks_in_infos():
    actions = np.concatenate([e.get_actions() for e in sampled(runner("infos"))])
    assert set(actions.tolist()) == {1, 2}


def test_exploratory_actions_obey_masks_in_observations(module):
    # RLlib's default module does not take dictionaries: call the connector itself.
    env, connector = MasksInObservations(one_hot_grid({"size": 5})), EaseeConnector(policy=POLICY)
    episode = SingleAgentEpisode()
    episode.add_env_reset(env.reset()[0], {})
    actions = {int(act(connector, module, episode)[0]) for _ in range(60)}
    assert actions == {1, 2}


def act(connector, module, episode, column=Columns.ACTIONS):
    batch = {Columns.ACTIONS: {(episode.id_,): [np.int64(0)]}}
    result = connector(rl_module=module, batch=batch, episodes=[episode], explore=True)
    return result[column][episode.id_,]


def test_generators_differ_between_runners_and_repeat_with_the_seed(module):
    def actions(seed):
        np.random.seed(seed)  # as RLlib does in each env runner
        connector, episode = EaseeConnector(policy=POLICY), SingleAgentEpisode()
        episode.add_env_reset(np.zeros(1), {})
        return [int(act(connector, module, episode)[0]) for _ in range(40)]

    assert actions(0) == actions(0) != actions(1)


def test_a_state_of_another_policy_is_refused():
    connector = EaseeConnector(policy=POLICY)
    state = connector.get_state()
    for received in (state, {}, connector.merge_states([state, state])):
        EaseeConnector(policy=POLICY).set_state(received)
    for other in (EaseeConnector(policy="rotation-grid:3").get_state(), {"steps": 7}):
        with pytest.raises(easee.EaseeError, match="with this policy"):
            connector.set_state(other)


# --- bad input ----------------------------------------------------------------------------------


def test_a_text_is_read_where_the_user_wrote_it():
    with pytest.raises(easee.EaseeError, match="did you mean 'rotation-grid'"):
        explore_with(DQNConfig(), "rotation-gird:6")


def test_other_actions_are_refused():
    with pytest.raises(easee.EaseeError, match="the explorer has 4 .* the environment 3"):
        runner(policy="cardinal-grid:3")
    with pytest.raises(easee.EaseeError, match="not the environment's"):
        runner(names=["a", "b", "c"])
    with pytest.raises(easee.EaseeError, match="4"):
        EaseeConnector(policy="cardinal-grid:3", input_action_space=gym.spaces.Discrete(3))
    with pytest.raises(easee.EaseeError, match="single agent"):
        spaces = gym.spaces.Dict({"a": gym.spaces.Discrete(3)})
        EaseeConnector(policy=POLICY, input_action_space=spaces)


def test_other_algorithms_and_modules_are_refused():
    with pytest.raises(easee.EaseeError, match="expected a DQNConfig, found PPOConfig"):
        explore_with(PPOConfig(), POLICY)
    with pytest.raises(easee.EaseeError, match="without a module_to_env_connector"):
        explore_with(explore_with(grid_config(), POLICY), POLICY)
    config = grid_config().rl_module(rl_module_spec=RLModuleSpec(module_class=OwnModule))
    with pytest.raises(easee.EaseeError, match="found OwnModule.*GreedyExploration"):
        explore_with(config, POLICY)
    config.env_runners(module_to_env_connector=lambda env, spaces: EaseeConnector(policy=POLICY))
    with pytest.raises(easee.EaseeError, match="leaves exploration to the connector"):
        SingleAgentEnvRunner(config=config).sample(num_timesteps=1)


class OwnModule(DefaultDQNTorchRLModule):  # type: ignore[misc]
    pass


class GreedyModule(GreedyExploration, OwnModule):
    pass


def test_the_block_of_the_documentation_runs():
    page = Path(__file__).parents[2] / "docs" / "agents.md"
    (block,) = re.findall(r"```py\n(.*?)```", page.read_text(), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(block, page.name, "exec"), names)
    episode, *_ = SingleAgentEnvRunner(config=names["config"]).sample(num_timesteps=3)
    assert len(episode.get_extra_model_outputs("explored")) == 3


def test_a_module_of_one_s_own_is_kept():
    config = grid_config().rl_module(rl_module_spec=RLModuleSpec(module_class=GreedyModule))
    env_runner = SingleAgentEnvRunner(config=explore_with(config, POLICY))
    assert isinstance(env_runner.module, GreedyModule)
    assert_nodes_follow(env_runner.sample(num_timesteps=5)[0])
