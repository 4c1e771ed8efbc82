import gymnasium as gym
import pytest
import torch
from torchrl.data import Categorical, Composite
from torchrl.envs import GymEnv, GymWrapper, SerialEnv, TransformedEnv, check_env_specs
from torchrl.envs.transforms import ActionDiscretizer

import easee
from easee import ArgumentError, ArgumentTypeError
from easee.agents.torchrl import EaseeModule, NodeTracker
from easee.envs import RotationGrid
from tests.agents.torchrl.worlds import POLICY, agent, assert_followed, grid, grids, rollout


def vector(mode):
    makers = [lambda n=n: gym.wrappers.TimeLimit(RotationGrid(7), n) for n in (5, 7)]
    envs = gym.vector.SyncVectorEnv(makers, autoreset_mode=mode)
    return GymWrapper(envs, categorical_action_encoding=True)


def tracked(env):
    return TransformedEnv(env, NodeTracker(POLICY))


@pytest.mark.parametrize(
    "make",
    [
        lambda: grid(tracked=True),
        lambda: tracked(SerialEnv(2, grids())),
        lambda: SerialEnv(2, grids(tracked=True)),
        lambda: tracked(vector(gym.vector.AutoresetMode.DISABLED)),
        lambda: vector(gym.vector.AutoresetMode.SAME_STEP).append_transform(NodeTracker(POLICY)),
    ],
    ids=["single", "serial", "each of serial", "vector", "vector that resets itself"],
)
def test_nodes_follow_the_actions_of_each_environment(make):
    data = rollout(make(), agent())
    assert_followed(data)
    explored = data["explored"]
    assert 0.2 < explored.float().mean() < 0.8
    assert not data["action"][~explored].any()  # greedy ones


def test_one_hot_actions_and_any_policy_are_followed():
    env = grid(tracked=True, one_hot=True)
    check_env_specs(env)
    data = rollout(env, None)  # uniformly random actions, without a module
    data["action"] = data["action"].long().argmax(-1)
    assert_followed(data)


def test_actions_are_followed_before_other_transforms_change_them():
    policy = easee.compile(easee.Equivalences(["a", "b", "c"], ["a b ~ b a"]), 3)
    env = GymEnv("Pendulum-v1").append_transform(ActionDiscretizer(3, out_action_key="number"))
    env = env.append_transform(NodeTracker(policy, action_key="number"))
    data = env.rollout(20)
    actions, nodes = data["number"].reshape(-1), data["easee_node"]
    successors = torch.tensor(policy.graph.successors)
    assert ((nodes[1:] == successors[nodes, actions][:-1]) | (nodes[1:] == 0)).all()
    assert nodes[::3].tolist() == [0] * 7  # restarts every 3 actions
    assert nodes.any()


def test_names_of_actions_are_compared():
    other = easee.compile(easee.inverse("up", "down") | easee.noop("wait"), 3)
    with pytest.raises(ArgumentError, match="the environment forward, left, right"):
        tracked_by(NodeTracker(other)).reset()
    tracker = NodeTracker(POLICY, names=["forward", "left", "right"])
    assert tracked_by(tracker).reset()["easee_node"] == 0


def tracked_by(tracker):
    env = TransformedEnv(grid(), tracker)
    assert env.action_spec is not None  # specs are made when they are first needed
    return env


def test_other_actions_are_rejected():
    with pytest.raises(ArgumentError, match="the explorer has 3 .*, the environment 2"):
        EaseeModule(Categorical(2), POLICY)
    with pytest.raises(ArgumentTypeError, match=r"found BoundedContinuous.*discretise"):
        EaseeModule(GymEnv("Pendulum-v1").action_spec, POLICY)
    with pytest.raises(ArgumentError, match=r"key 'action', found \['move'\]"):
        EaseeModule(Composite(move=Categorical(3)), POLICY)
    with pytest.raises(ArgumentTypeError, match="found MultiCategorical.*FlatActions"):
        pairs = gym.spaces.MultiDiscrete([3, 2])
        EaseeModule(GymWrapper(Pairs(pairs), categorical_action_encoding=True).action_spec, POLICY)
    agents = TransformedEnv(SerialEnv(2, grids()), NodeTracker(POLICY))
    several = agents.reset().set("action", torch.zeros(2, 3, dtype=torch.long))
    with pytest.raises(ArgumentError, match="actions of several agents are not supported"):
        agents.transform.inv(several)


class Pairs(RotationGrid):
    """A grid whose actions are pairs of numbers."""

    def __init__(self, space):
        super().__init__(5)
        self.action_space = space
