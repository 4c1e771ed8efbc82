"""Figures about pure exploration: how many states of a grid are visited."""
