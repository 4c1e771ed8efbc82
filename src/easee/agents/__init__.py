"""Agents that explore with EASEE: tabular Q-learning, Stable-Baselines3 and JAX populations."""
