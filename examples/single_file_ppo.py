"""PPO in a single file, with a reference policy instead of the uniform one.

python examples/single_file_ppo.py [STEPS]

Network, rollouts and updates are written out. The lines for EASEE are marked: the wrapper puts the
reference's log-probabilities at the present node into `info`, they are added to the logits, and the
entropy bonus becomes the divergence from the reference. Prints the share of training episodes of
three seeds that reached the goal of a grid, with a uniform reference (plain PPO) and with EASEE's.
"""

import sys
from functools import partial
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray
from torch import nn
from torch.distributions import Categorical

import easee
from easee.agents.reference import VectorReferenceObservation
from easee.envs import GoalGrid

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 12_000
SIZE, N_ENVS, ROLLOUT, EPOCHS, BATCHES = 21, 8, 64, 4, 4
DISCOUNT, TRACE, CLIP, BONUS, LEARNING_RATE = 0.99, 0.95, 0.2, 0.01, 1e-3


def make_network(outputs: int) -> nn.Sequential:
    """Return a small network from features to outputs, which are nearly 0 at the start."""
    last = nn.Linear(64, outputs)
    nn.init.zeros_(last.weight)
    return nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), last)


class Agent(nn.Module):
    """Separate networks for logits and values."""

    def __init__(self) -> None:
        super().__init__()
        self.actor, self.critic = make_network(3), make_network(1)

    def policy(self, features: torch.Tensor, reference: torch.Tensor) -> Categorical:
        """Return the distribution of actions."""
        return Categorical(logits=self.actor(features) + reference)  # EASEE

    def value(self, features: torch.Tensor) -> torch.Tensor:
        """Return the values of observations."""
        values: torch.Tensor = self.critic(features)[..., 0]
        return values


def encode(states: NDArray[Any]) -> torch.Tensor:
    """Return positions scaled to [-1, 1], and the heading as a point on the unit circle."""
    angle = states[:, 2:] * np.pi / 2
    features = [states[:, :2] / (SIZE - 1) * 2 - 1, np.cos(angle), np.sin(angle)]
    return torch.as_tensor(np.concatenate(features, axis=1), dtype=torch.float32)


def advantages_of(
    rewards: torch.Tensor, values: torch.Tensor, ended: torch.Tensor, last: torch.Tensor
) -> torch.Tensor:
    """Return generalised advantage estimates, float (steps, envs)."""
    result, carry = torch.zeros_like(rewards), torch.zeros(N_ENVS)
    following = torch.cat((values[1:], last[None]))
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + DISCOUNT * ~ended[t] * following[t] - values[t]
        carry = delta + DISCOUNT * TRACE * ~ended[t] * carry
        result[t] = carry
    return result


def train(reference: Any, seed: int) -> list[float]:
    """Train an agent, and return whether each episode reached the goal."""
    torch.manual_seed(seed)
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), LEARNING_RATE)
    envs = VectorReferenceObservation(  # EASEE
        SyncVectorEnv([partial(GoalGrid, SIZE)] * N_ENVS, autoreset_mode=AutoresetMode.SAME_STEP),
        reference,
        where="info",
    )
    states, info = envs.reset(seed=seed)
    episodes: list[float] = []
    for _ in range(STEPS // (N_ENVS * ROLLOUT)):
        rollout: list[tuple[torch.Tensor, ...]] = []
        for _ in range(ROLLOUT):
            rows = torch.as_tensor(info["reference"])  # EASEE
            features = encode(states)
            with torch.no_grad():
                policy, value = agent.policy(features, rows), agent.value(features)
                action = policy.sample()
            states, reward, terminated, truncated, info = envs.step(action.numpy())
            ended = terminated | truncated
            episodes += reward[ended].tolist()
            steps = torch.as_tensor(reward, dtype=torch.float32), torch.as_tensor(ended)
            rollout.append((features, rows, action, policy.log_prob(action), value, *steps))
        features, rows, action, old, value, rewards, ends = map(
            torch.stack, zip(*rollout, strict=True)
        )
        with torch.no_grad():
            advantage = advantages_of(rewards, value, ends, agent.value(encode(states)))
        returns = (advantage + value).flatten()
        batch = features.flatten(0, 1), rows.flatten(0, 1), action.flatten(), old.flatten()
        for _ in range(EPOCHS):
            for index in torch.randperm(len(returns)).chunk(BATCHES):
                x, ref, a, old_log = (tensor[index] for tensor in batch)
                gain = advantage.flatten()[index]
                gain = (gain - gain.mean()) / (gain.std() + 1e-8)
                policy = agent.policy(x, ref)
                ratio = (policy.log_prob(a) - old_log).exp()
                surrogate = torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain)
                divergence = (policy.probs * (policy.logits - ref)).sum(dim=1)  # EASEE
                error = (agent.value(x) - returns[index]).pow(2)
                loss = (-surrogate + BONUS * divergence + 0.5 * error).mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
    return episodes


torch.set_num_threads(1)
policy = easee.compile(easee.priors.get("rotation-grid-complete"), depth=20)
for name, reference in {"uniform": easee.UniformExplorer(3, N_ENVS), "EASEE": policy}.items():
    reached = sum((train(reference, seed) for seed in range(3)), [])
    print(
        f"{name} reference: the goal reached in {np.mean(reached):.0%} of {len(reached)} episodes"
    )
