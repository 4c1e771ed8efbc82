"""Figures about tabular Q-learning on DoorKey."""
