"""A small grid for RLlib, and a check of the nodes in RLlib's episodes."""

from typing import Any

import gymnasium as gym
import numpy as np

import easee
from easee.envs import GoalGrid

POLICY = "rotation-grid-complete:5"


def one_hot_grid(config):
    one_hot = gym.wrappers.FlattenObservation(GoalGrid(**config))
    return gym.wrappers.DtypeObservation(one_hot, np.float32)


def join(chunks):
    """Return episodes whose chunks are put together."""
    episodes: dict[str, Any] = {}
    for chunk in chunks:
        if chunk.id_ in episodes:
            episodes[chunk.id_].concat_episode(chunk)
        else:
            episodes[chunk.id_] = chunk
    return list(episodes.values())


def assert_nodes_follow(episode, executed=None):
    """Compare an episode's nodes with those of an explorer that takes the same actions."""
    explorer = easee.Explorer(POLICY)
    actions = episode.get_actions().tolist() if executed is None else executed
    nodes = episode.get_extra_model_outputs("explorer_node")
    explored = episode.get_extra_model_outputs("explored")
    assert len(nodes) == len(explored) == len(actions) > 0
    for node, action, taken, flag in zip(
        nodes, actions, episode.get_actions(), explored, strict=True
    ):
        assert node == explorer.nodes[0]
        if flag:
            assert explorer.probabilities()[0, taken] > 0
        explorer.step([action])
