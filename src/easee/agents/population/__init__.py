"""DQN for many seeds and arms at once, in JAX: one program on one device."""
