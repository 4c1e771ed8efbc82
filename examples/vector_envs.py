"""Vector environments: one explorer for all of them, in both autoreset modes of Gymnasium.

python examples/vector_envs.py

With SAME_STEP, the step that ends an episode also starts the next one. With NEXT_STEP, Gymnasium's
default, the step after the end only resets the environment and ignores its action. That step must
not move the node, so the environment is reported as done once more.
"""

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

import easee
import easee.envs  # registers easee/Catcher-v0

N_ENVS, STEPS = 4, 200
policy = easee.compile(easee.priors.catcher(), depth=30)

for mode in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP):
    envs = gym.make_vec("easee/Catcher-v0", N_ENVS, "sync", vector_kwargs={"autoreset_mode": mode})
    explorer = easee.Explorer(policy, n_envs=N_ENVS, seed=0)
    envs.reset(seed=0)
    only_reset = np.zeros(N_ENVS, bool)  # environments that only reset in the next step
    caught = episodes = 0
    for _ in range(STEPS):
        actions = explorer.sample()
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        dones = terminated | truncated
        explorer.step(actions, dones | only_reset)
        if mode is AutoresetMode.NEXT_STEP:
            only_reset = dones
        caught += (rewards > 0).sum()
        episodes += dones.sum()
    print(f"{mode.value}: {caught} of {episodes} balls caught")
