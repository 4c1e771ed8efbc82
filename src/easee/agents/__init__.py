"""Agents that explore with EASEE: tabular Q-learning here, DQN for Stable-Baselines3 in `sb3`."""
