"""DQN for many seeds and explorers at once, in JAX: one program on one device.

`population` trains in the environments of `easee.envs.jax`, `atari` in ale-py's games. `dqn` has
the update, `networks` the Q-networks.
"""

from easee.agents.population.curves import Curves
from easee.agents.population.dqn import Settings
from easee.agents.population.population import Population

__all__ = ["Curves", "Population", "Settings"]
