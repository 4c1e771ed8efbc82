"""RL Baselines3 Zoo with EASEE: two agents to register, and a line in the configuration.

python examples/zoo.py --algo dqn --env easee/GoalGrid-v0 --conf-file examples/zoo_dqn.yml
python examples/zoo.py --algo ppo --env easee/GoalGrid-v0 --conf-file examples/zoo_ppo.yml

All arguments are the zoo's own. The configuration names the policy: `explorer` for DQN,
`reference` for PPO.
"""

import rl_zoo3
from rl_zoo3.train import train

import easee.envs  # noqa: F401  (registers easee/GoalGrid-v0)
from easee.agents.sb3 import DQN, PPO

rl_zoo3.ALGOS.update(dqn=DQN, ppo=PPO)

if __name__ == "__main__":
    train()
