"""Agents that explore with EASEE: Q-learning, Stable-Baselines3, RLlib and JAX populations."""
