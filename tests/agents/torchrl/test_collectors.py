import subprocess
import sys
from typing import Any

import pytest
import torch
from torchrl.collectors import AsyncBatchedCollector, Collector
from torchrl.envs import SerialEnv

from tests.agents.torchrl.worlds import agent, assert_followed, grid, grids

BATCHES = {"frames_per_batch": 40, "total_frames": 80}
KEYS = "action", "easee_node", "explored", "next"


def collect(collector):
    batches = [batch.select(*KEYS).clone() for batch in collector]
    collector.shutdown()
    return batches


def automatic(env, policy, **options):
    options = BATCHES | {"auto_register_policy_transforms": True} | options
    return Collector(env, policy, **options)


def test_a_collector_adds_the_nodes_to_its_environments():
    data: Any = torch.cat(collect(automatic(SerialEnv(2, grids()), agent())), 1)
    assert_followed(data)
    assert 0.2 < data["explored"].float().mean() < 0.8


def test_random_frames_of_a_collector_are_followed():
    data = torch.cat(collect(automatic(grid(), agent(), init_random_frames=40)))
    assert_followed(data[None])


def test_a_saved_collector_resumes_with_its_epsilon_at_the_empty_word():
    first = automatic(grid(7), agent(epsilon=1.0))
    next(iter(first))
    first.policy[-1].eps.fill_(0.25)
    state = first.state_dict()
    second = automatic(grid(7), agent(epsilon=1.0))
    second.load_state_dict(state)
    assert second.policy[-1].eps == 0.25
    assert next(iter(second))["easee_node"][0] == 0  # its environment starts a new episode
    first.shutdown(), second.shutdown()


@pytest.mark.slow
def test_nodes_follow_environments_in_other_processes():
    command = [sys.executable, "-m", "tests.agents.torchrl.processes"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "all nodes were followed" in process.stdout, process.stderr


def test_nodes_follow_environments_whose_actions_are_chosen_in_batches():
    collector = AsyncBatchedCollector(
        grids(tracked=True), policy=agent(), env_backend="threading", **BATCHES
    )
    batches = [batch.clone() for batch in collector]
    collector.shutdown()
    numbers = torch.cat([batch["env_index"] for batch in batches])
    data = torch.cat([batch.select(*KEYS) for batch in batches])
    for env in range(2):
        assert_followed(data[numbers == env][None])


@pytest.mark.slow
def test_environments_without_nodes_are_rejected():
    collector = AsyncBatchedCollector(grids(), policy=agent(), env_backend="threading", **BATCHES)
    with pytest.raises(RuntimeError) as caught:
        next(iter(collector))
    collector.shutdown()
    assert "AsyncEnvPool each need their own" in str(caught.value.__cause__)
