"""Figures about learning where a reward must be found: DQN on goal grids, DoorKey and MiniGrid."""
