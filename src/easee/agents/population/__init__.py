"""DQN for many seeds and arms at once, in JAX: one program on one device.

`explorers` has EASEE as pure functions, `worlds` the environments, `networks` and `learner` what is
learned and how, `training` the population in a world, and `atari` the one beside ale-py's games.
"""

from easee.agents.population.learner import Settings
from easee.agents.population.training import Curves, Population

__all__ = ["Curves", "Population", "Settings"]
