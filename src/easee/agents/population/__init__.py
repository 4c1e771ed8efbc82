"""DQN and PPO for many seeds and explorers at once, in JAX: one program on one device.

`population` trains DQN in the environments of `easee.envs.jax`, `ppo_population` trains PPO there,
and `atari` trains DQN in ale-py's games. `dqn` and `ppo` have the updates, `networks` the networks.
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

__all__ = ["Curves", "Population", "PpoPopulation", "PpoSettings", "Settings"]
