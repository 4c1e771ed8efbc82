"""Figures about DQN: Catcher and the Atari games."""
