"""DQN of RLlib on a grid with a goal, with two env runners: one more line.

make test-rllib  # creates .venv-rllib, because RLlib pins its own version of Gymnasium
.venv-rllib/bin/python examples/rllib_dqn.py [ITERATIONS]
"""

import sys
from typing import Any

import gymnasium as gym
import numpy as np
import ray
from ray.rllib.algorithms.dqn import DQNConfig
from ray.tune.registry import register_env

from easee.agents.rllib import explore_with
from easee.envs import GoalGrid


def make_env(config: dict[str, Any]) -> gym.Env[Any, Any]:
    """Return a grid whose observations are one-hot vectors of floats."""
    one_hot = gym.wrappers.FlattenObservation(GoalGrid(**config))
    return gym.wrappers.DtypeObservation(one_hot, np.float32)


iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 12
ray.init("local", num_cpus=3, include_dashboard=False, log_to_driver=False)
register_env("goal", make_env)
config = (
    DQNConfig()
    .environment("goal", env_config={"size": 11})
    .env_runners(num_env_runners=2, num_envs_per_env_runner=4)
    .training(epsilon=[(0, 1.0), (10_000, 0.05)], lr=1e-3, train_batch_size_per_learner=64)
    .debugging(seed=0)
)
explore_with(config, "rotation-grid-complete:12")  # this line is EASEE's
algorithm = config.build_algo()
for iteration in range(1, iterations + 1):
    result = algorithm.train()["env_runners"]
    explorer = result["explorer"]
    print(
        f"iteration {iteration}: epsilon {explorer['epsilon']:.2f}, "
        f"{explorer['exploratory_share']:.0%} of the actions exploratory, "
        f"mean reward {result['episode_return_mean']:.2f}, "
        f"mean length {result['episode_len_mean']:.0f}",
        flush=True,
    )
algorithm.stop()
ray.shutdown()
