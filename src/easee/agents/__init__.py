"""Agents that explore with EASEE: tabular Q-learning, JAX populations, and other libraries'."""
