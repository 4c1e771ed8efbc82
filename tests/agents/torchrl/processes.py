"""Follows environments in other processes. Run as a program, because it forks.

python -m tests.agents.torchrl.processes
"""

from functools import partial

import torch
from torchrl.collectors import MultiAsyncCollector
from torchrl.envs import ParallelEnv, SerialEnv, TransformedEnv

from easee.agents.torchrl import NodeTracker
from tests.agents.torchrl.worlds import (
    LENGTHS,
    POLICY,
    agent,
    assert_followed,
    grid,
    grids,
    rollout,
)


def follow_parallel_environments():
    """Follow the environments of ParallelEnv, with nodes inside and outside the processes."""
    outside = TransformedEnv(ParallelEnv(2, grids()), NodeTracker(POLICY))
    for env in (outside, ParallelEnv(2, grids(tracked=True))):
        assert_followed(rollout(env, agent()))


def follow_asynchronous_collectors():
    """Follow the environments of collectors that run in other processes."""
    makers = [partial(SerialEnv, 1, [partial(grid, length)]) for length in LENGTHS]
    collector = MultiAsyncCollector(
        makers,
        agent(),
        frames_per_batch=35,  # whole episodes, because each batch must start at the empty word
        total_frames=140,
        auto_register_policy_transforms=True,
    )
    for data in collector:
        assert_followed(data)
    collector.shutdown()


if __name__ == "__main__":
    torch.multiprocessing.set_start_method("fork", force=True)
    follow_parallel_environments()
    follow_asynchronous_collectors()
    print("all nodes were followed")
