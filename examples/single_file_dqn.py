"""DQN in a single file, with an explorer instead of random actions.

python examples/single_file_dqn.py [STEPS]

Network, replay buffer and training loop are written out. The three lines for EASEE are marked.
"""

import sys
from collections import deque
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from torch import nn

import easee
import easee.envs  # registers easee/Catcher-v0

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
N_ENVS, SEED = 4, 0
WIDTH, HEIGHT = 20, 10
WARM_UP, BATCH, BUFFER = 1000, 64, 10_000
EPSILON_END, ANNEAL = 0.05, 0.5
LEARNING_RATE, DISCOUNT, TARGET_EVERY = 1e-3, 0.99, 500


def features(observations: NDArray[np.uint8]) -> torch.Tensor:
    """Return flattened images, scaled to [0, 1]."""
    return torch.as_tensor(observations.reshape(len(observations), -1), dtype=torch.float32) / 255


def make_network() -> nn.Sequential:
    """Return a small network from an image to action values."""
    layers = nn.Linear(WIDTH * HEIGHT, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU()
    return nn.Sequential(*layers, nn.Linear(64, 2))


torch.manual_seed(SEED)
torch.set_num_threads(1)
rng = np.random.default_rng(SEED)
envs = gym.make_vec(
    "easee/Catcher-v0",
    N_ENVS,
    "sync",
    vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
    width=WIDTH,
    height=HEIGHT,
)
policy = easee.compile(easee.priors.catcher(), depth=HEIGHT)
explorer = easee.Explorer(policy, n_envs=N_ENVS, seed=SEED)  # EASEE

network, target = make_network(), make_network()
target.load_state_dict(network.state_dict())
optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
buffer: deque[tuple[Any, ...]] = deque(maxlen=BUFFER)
recent: deque[float] = deque(maxlen=200)  # rewards of the last episodes

observations, _ = envs.reset(seed=SEED)
for step in range(0, STEPS, N_ENVS):
    epsilon = max(1 - (1 - EPSILON_END) * step / (ANNEAL * STEPS), EPSILON_END)
    with torch.no_grad():
        greedy = network(features(observations)).argmax(dim=1).numpy()
    actions = explorer.choose(greedy, 1.0 if step < WARM_UP else epsilon)  # EASEE
    next_observations, rewards, terminated, truncated, infos = envs.step(actions)
    dones = terminated | truncated
    explorer.step(actions, dones)  # EASEE
    recent.extend(rewards[dones])

    final = next_observations.copy()  # those of ended episodes are in infos
    for i in np.flatnonzero(dones):
        final[i] = infos["final_obs"][i]
    buffer.extend(zip(observations, actions, rewards, final, terminated, strict=True))
    observations = next_observations

    if step >= WARM_UP:
        batch = [buffer[i] for i in rng.integers(len(buffer), size=BATCH)]
        obs, action, reward, next_obs, ended = map(np.array, zip(*batch, strict=True))
        with torch.no_grad():
            next_value = target(features(next_obs)).max(dim=1).values
            goal = torch.as_tensor(reward) + DISCOUNT * torch.as_tensor(~ended) * next_value
        value = network(features(obs)).gather(1, torch.as_tensor(action)[:, None])[:, 0]
        loss = nn.functional.smooth_l1_loss(value, goal.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if step % TARGET_EVERY == 0:
        target.load_state_dict(network.state_dict())
    if step % (STEPS // 10 // N_ENVS * N_ENVS) == 0 and recent:
        print(f"step {step:,}: mean reward {np.mean(recent):+.2f}, epsilon {epsilon:.2f}")
print(f"after {STEPS:,} steps: mean reward {np.mean(recent):+.2f}")
