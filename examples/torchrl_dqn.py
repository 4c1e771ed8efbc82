"""DQN with TorchRL on a grid: EaseeModule in the place of EGreedyModule.

python examples/torchrl_dqn.py [STEPS] [SEEDS]

A reward waits in a corner of the grid. Prints how often DQN reached it while it learned, with
uniformly random actions and with EASEE's. The lines for EASEE are marked.
"""

import sys

import gymnasium as gym
import torch
from tensordict.nn import TensorDictSequential
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, TensorDictReplayBuffer
from torchrl.envs import EnvBase, GymWrapper
from torchrl.modules import MLP, EGreedyModule, QValueActor
from torchrl.objectives import DQNLoss, HardUpdate

from easee.agents.torchrl import EaseeModule  # EASEE

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 6_000
SEEDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
SIZE, N_ENVS = 15, 4
FRAMES, BATCH, BUFFER = 100, 64, 10_000  # FRAMES: steps between updates
UPDATES, TARGET_EVERY = 20, 100
LEARNING_RATE, DISCOUNT = 1e-3, 0.98
EPSILON = 1.0, 0.1, STEPS  # at first, at last, and steps in between


def make_envs() -> EnvBase:
    """Return grids whose observations, the position and the heading, are one-hot."""
    envs = gym.make_vec(
        "easee/GoalGrid-v0",
        N_ENVS,
        "sync",
        vector_kwargs={"autoreset_mode": gym.vector.AutoresetMode.DISABLED},
        size=SIZE,
    )
    return GymWrapper(envs)


class Floats(torch.nn.Module):
    """Converts observations to floats."""

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """Return the observation as float32."""
        return observation.float()


def train(with_easee: bool, seed: int) -> tuple[int, int]:
    """Train; return the number of episodes that reached the goal, and of all episodes."""
    torch.manual_seed(seed)
    env = make_envs()
    spec, width = env.action_spec_unbatched, env.observation_spec["observation"].shape[-1]
    network = MLP(in_features=width, out_features=3, num_cells=[128, 64])
    values = QValueActor(torch.nn.Sequential(Floats(), network), spec=spec)
    explore: EGreedyModule = EGreedyModule(spec, *EPSILON)
    if with_easee:
        explore = EaseeModule(spec, "rotation-grid-complete:30", *EPSILON)  # EASEE
    collector = Collector(
        env,
        TensorDictSequential(values, explore),
        frames_per_batch=FRAMES,
        total_frames=STEPS,
        auto_register_policy_transforms=True,  # EASEE: adds the nodes to the environments
    )
    loss = DQNLoss(values, action_space=spec, delay_value=True, double_dqn=True)
    loss.make_value_estimator(gamma=DISCOUNT)
    target = HardUpdate(loss, value_network_update_interval=TARGET_EVERY)
    optimizer = torch.optim.Adam(loss.parameters(), lr=LEARNING_RATE)
    buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(BUFFER), batch_size=BATCH)

    reached = episodes = 0
    for data in collector:
        reached += int(data["next", "terminated"].sum())
        episodes += int(data["next", "done"].sum())
        buffer.extend(data.reshape(-1))
        explore.step(data.numel())
        for _ in range(UPDATES):
            optimizer.zero_grad()
            loss(buffer.sample())["loss"].backward()
            optimizer.step()
            target.step()
    collector.shutdown()
    return reached, episodes


torch.set_num_threads(1)
for name, with_easee in (("EGreedyModule", False), ("EaseeModule", True)):
    runs = [train(with_easee, seed) for seed in range(SEEDS)]
    reached, episodes = (sum(counts) for counts in zip(*runs, strict=True))
    print(f"{name}: the goal was reached {reached} times, in {episodes} episodes", flush=True)
