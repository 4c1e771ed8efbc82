"""Small populations that several tests share."""

import jax
import numpy as np

import easee
from easee import priors
from easee.agents.population import Population, Settings, networks
from easee.envs.jax import Catcher
from easee.explorers import jax as explorers

SMALL = Settings(
    400,
    buffer_size=100,
    learning_starts=50,
    batch_size=8,
    target_update_interval=40,
    exploration_fraction=0.5,
)


def small(count=3, settings=SMALL, world=Catcher(8, 4), network=networks.MLP, seeds=None):  # noqa: B008
    """Return a population whose runs have three explorers in turn."""
    policy = easee.compile(priors.get("catcher"), depth=4)
    kinds = [explorers.uniform(2), explorers.from_policy(policy), explorers.zeta(2)]
    tables = [kinds[i % 3] for i in range(count)]
    return Population(world, tables, seeds or range(count), settings, network, bins=10)


def assert_same(first, second):
    """Assert that two trees have equal arrays."""
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_array_equal(a, b)
