"""A plain Gymnasium loop: explore a grid for ten episodes, uniformly and with EASEE.

python examples/gymnasium_loop.py
"""

import gymnasium as gym

import easee
import easee.envs  # registers easee/RotationGrid-v0

policy = easee.compile(easee.priors.get("rotation-grid-complete"), depth=20)
explorers = {
    "uniform": easee.UniformExplorer(n_actions=3, seed=0),
    "EASEE": easee.Explorer(policy, seed=0),
}

for name, explorer in explorers.items():
    env = gym.make("easee/RotationGrid-v0")
    visited = set()
    for _ in range(10):
        env.reset()
        done = False
        while not done:
            actions = explorer.sample()
            observation, reward, terminated, truncated, info = env.step(actions[0])
            done = terminated or truncated
            explorer.step(actions, done)  # moves the node, and restarts it with the episode
            visited.add(tuple(observation.tolist()))
    print(f"{name}: {len(visited)} states visited in 10 episodes")
