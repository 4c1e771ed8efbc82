"""DQN of Stable-Baselines3: change one import and add one argument.

python examples/sb3_dqn.py [STEPS]
"""

import sys

import easee
from easee.agents.sb3 import DQN
from easee.envs import Catcher

policy = easee.compile(easee.priors.catcher(), depth=10)
model = DQN("MlpPolicy", Catcher(width=20, height=10), explorer=policy, seed=0, verbose=1)
model.learn(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000, log_interval=200)
