"""DQN for many seeds and explorers at once, in JAX: one program on one device.

`population` trains in the environments of `easee.envs.jax`, `atari` in ale-py's games. `dqn` has
the update, `networks` the Q-networks.
"""

from easee.errors import MissingExtraError

try:  # here, because this module is imported before all others of the package
    import jax  # noqa: F401
    import optax  # noqa: F401
except ImportError as error:
    raise MissingExtraError(error.name or "jax", "jax") from None

from easee.agents.population.curves import Curves
from easee.agents.population.dqn import Settings
from easee.agents.population.population import Population

__all__ = ["Curves", "Population", "Settings"]
