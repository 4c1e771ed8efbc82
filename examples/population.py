"""DQN with many seeds at once: two explorers, ten seeds each, in one compiled program.

python examples/population.py [STEPS]

Takes about twenty seconds on a CPU. On a GPU the time hardly depends on the number of seeds.
"""

import sys

import numpy as np

import easee
from easee.agents.population import Population, Settings
from easee.envs.jax import Catcher
from easee.explorers import jax as explorers

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 6000
policy = easee.compile(easee.priors.catcher(), depth=8)
arms = {"epsilon-greedy": explorers.uniform(2), "EASEE": explorers.from_policy(policy)}

settings = Settings(
    steps,
    learning_rate=5e-4,
    buffer_size=2000,
    learning_starts=200,
    target_update_interval=200,
    exploration_fraction=0.5,
)
tables = [arms[name] for name in arms for _ in range(10)]
population = Population(Catcher(16, 8), tables, range(20), settings, bins=10)

while not population.finished:
    curves = population.advance(max(1, steps // 5))
    print(f"step {population.steps:,}")

means = curves.sums / curves.counts
for i, name in enumerate(arms):
    last = means[10 * i : 10 * i + 10, -1]
    print(f"{name}: mean reward {np.mean(last):.2f} in the last tenth, 10 seeds")
