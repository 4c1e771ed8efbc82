"""A recurrent policy with a reference: the node is one more thing that it need not remember.

python examples/recurrent_policy.py [STEPS]

The agent sees its position on a grid but not its heading, which a GRU has to infer. The wrapper
appends the reference's log-probabilities to the observations; the policy adds them to its logits,
and also sees them. Trained with advantage actor-critic through short sequences.
"""

import sys
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray
from torch import nn
from torch.distributions import Categorical

import easee
from easee.agents.reference import VectorReferenceObservation
from easee.envs import GoalGrid

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 30_000
SIZE, N_ENVS, SEQUENCE, HIDDEN = 9, 16, 16, 32
DISCOUNT, BONUS, LEARNING_RATE = 0.97, 0.01, 3e-3


class Position(gym.ObservationWrapper[NDArray[np.float32], int, NDArray[np.int64]]):
    """Observe the position only, scaled to [-1, 1]."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def observation(self, observation: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the position."""
        return (observation[:2] / (SIZE - 1) * 2 - 1).astype(np.float32)


class Agent(nn.Module):
    """A GRU over observations, with logits and a value on top."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = nn.GRUCell(2 + 3, HIDDEN)
        self.actor, self.critic = nn.Linear(HIDDEN, 3), nn.Linear(HIDDEN, 1)
        nn.init.zeros_(self.actor.weight)

    def forward(
        self, observations: torch.Tensor, hidden: torch.Tensor
    ) -> tuple[Categorical, torch.Tensor, torch.Tensor]:
        """Return the policy, the values and the next hidden states."""
        hidden = self.memory(observations, hidden)
        reference = observations[:, 2:]
        policy = Categorical(logits=self.actor(hidden) + reference)  # EASEE
        return policy, self.critic(hidden)[:, 0], hidden


def train(reference: Any) -> list[float]:
    """Train an agent, and return whether each episode reached the goal."""
    torch.manual_seed(0)
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), LEARNING_RATE)
    grids = [lambda: Position(GoalGrid(SIZE))] * N_ENVS
    envs = VectorReferenceObservation(  # EASEE
        SyncVectorEnv(grids, autoreset_mode=AutoresetMode.SAME_STEP), reference, where="flat"
    )
    observations, _ = envs.reset(seed=0)
    hidden, episodes = torch.zeros(N_ENVS, HIDDEN), []
    for _ in range(STEPS // (N_ENVS * SEQUENCE)):
        hidden = hidden.detach()
        log_probs, values, rewards, going, divergences = [], [], [], [], []
        for _ in range(SEQUENCE):
            inputs = torch.as_tensor(observations)
            policy, value, hidden = agent(inputs, hidden)
            action = policy.sample()
            observations, reward, terminated, truncated, _ = envs.step(action.numpy())
            ended = terminated | truncated
            episodes += reward[ended].tolist()
            alive = torch.as_tensor(~ended, dtype=torch.float32)
            hidden = hidden * alive[:, None]  # forget the episode that ended
            log_probs.append(policy.log_prob(action))
            values.append(value)
            rewards.append(torch.as_tensor(reward, dtype=torch.float32))
            going.append(alive)
            divergence = policy.probs * (policy.logits - inputs[:, 2:])  # EASEE
            divergences.append(divergence.sum(dim=1))
        with torch.no_grad():
            outcome = agent(torch.as_tensor(observations), hidden)[1]
            returns: list[torch.Tensor] = []
            for gained, alive in zip(reversed(rewards), reversed(going), strict=True):
                outcome = gained + DISCOUNT * alive * outcome
                returns.insert(0, outcome)
        error = torch.stack(returns) - torch.stack(values)
        gain = -(torch.stack(log_probs) * error.detach()).mean()
        loss = gain + 0.5 * error.pow(2).mean() + BONUS * torch.stack(divergences).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        optimizer.step()
    return episodes


torch.set_num_threads(1)
policy = easee.compile(easee.priors.get("rotation-grid-complete"), depth=12)
for name, reference in {"uniform": easee.UniformExplorer(3, N_ENVS), "EASEE": policy}.items():
    reached = train(reference)
    print(
        f"{name} reference: the goal reached in {np.mean(reached):.0%} of {len(reached)} episodes"
    )
