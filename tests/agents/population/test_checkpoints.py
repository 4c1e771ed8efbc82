from typing import Any

import jax
import numpy as np
import pytest

import easee
from easee import ArgumentError, priors
from easee.agents.population import Population, Settings, checkpoints, networks
from easee.envs.jax import Catcher
from easee.explorers import jax as explorers
from tests.agents.population.populations import SMALL, assert_same, small


@pytest.mark.slow
def test_training_resumes_exactly_from_a_checkpoint(tmp_path):
    whole, first, second = small(), small(), small()
    first.advance(130)
    first.save(tmp_path / "x.npz")
    second.load(tmp_path / "x.npz")
    assert second.steps == first.steps == 132
    assert_same(whole.advance(), second.advance())
    assert_same(whole.runs, second.runs)


@pytest.mark.slow
def test_checkpoints_of_other_runs_are_rejected(tmp_path):
    path = tmp_path / "x.npz"
    small().save(path)
    with pytest.raises(ArgumentError, match="other runs: expected seeds"):
        small(2).load(path)
    with pytest.raises(ArgumentError, match="other runs: expected network"):
        small(network=networks.Network(hidden=(8, 8, 8))).load(path)
    with pytest.raises(ArgumentError, match="other runs: expected settings"):
        small(settings=Settings(404, buffer_size=100)).load(path)
    elsewhere = small()
    elsewhere.description |= {"device": "another"}
    with pytest.raises(ArgumentError, match="other runs: expected device another, found cpu"):
        elsewhere.load(path)


@pytest.mark.slow
def test_checkpoints_of_other_explorers_are_rejected(tmp_path):
    policy = easee.compile(priors.get("catcher"), depth=4)
    Population(Catcher(8, 4), [policy], [1], SMALL, bins=10).save(tmp_path / "x.npz")
    uniform = Population(Catcher(8, 4), [explorers.uniform(2)], [1], SMALL, bins=10)
    with pytest.raises(ArgumentError, match="other runs: expected explorers"):
        uniform.load(tmp_path / "x.npz")


def test_missing_checkpoints_are_reported(tmp_path):
    with pytest.raises(ArgumentError, match="there is no checkpoint"):
        small().load(tmp_path / "none.npz")


def test_checkpoints_with_an_impossible_step_are_rejected(tmp_path):
    path, population = tmp_path / "x.npz", small()
    checkpoints.save(path, (population.runs, np.asarray(-5)), population.description)
    with pytest.raises(ArgumentError, match="damaged: found step -5 of 400"):
        population.load(path)


def test_incomplete_checkpoints_are_rejected(tmp_path):
    path, population = tmp_path / "x.npz", small()
    population.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:500])
    with pytest.raises(ArgumentError, match="incomplete"):
        population.load(path)
    damaged = bytearray(whole)
    damaged[8] ^= 0xFF  # the compression method of the first entry, in both of its headers
    damaged[damaged.find(b"PK\x01\x02") + 10] ^= 0xFF
    path.write_bytes(bytes(damaged))
    with pytest.raises(ArgumentError, match="incomplete"):
        population.load(path)
    checkpoints.save(path, (population.runs, np.asarray(0)), [1])
    with pytest.raises(ArgumentError, match="incomplete"):
        population.load(path)


def test_random_keys_are_restored_as_keys(tmp_path):
    tree = {"key": jax.random.key(3), "x": np.arange(2)}
    template = {"key": jax.random.key(0), "x": np.zeros(2, int)}
    checkpoints.save(tmp_path / "x.npz", tree, {})
    loaded: Any = checkpoints.load(tmp_path / "x.npz", template, {})
    assert jax.random.uniform(loaded["key"]) == jax.random.uniform(tree["key"])
    assert loaded["x"].tolist() == [0, 1]
