"""DQN, PPO and PQN for many seeds and explorers at once, in JAX: one program on one device.

`population` trains DQN in the environments of `easee.envs.jax`, `ppo_population` and
`pqn_population` train PPO and PQN there, and `atari` trains DQN in ale-py's games. `dqn`, `ppo` and
`pqn` have the updates, `networks` the networks.
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
from easee.agents.population.ppo import PpoSettings
from easee.agents.population.ppo_population import PpoPopulation
from easee.agents.population.pqn import PqnSettings
from easee.agents.population.pqn_population import PqnPopulation

__all__ = [
    "Curves",
    "Population",
    "PpoPopulation",
    "PpoSettings",
    "PqnPopulation",
    "PqnSettings",
    "Settings",
]
