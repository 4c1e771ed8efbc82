"""Tasks in which a reward must be found, and the priors that are known about them.

The hyperparameters of DQN were chosen for epsilon-greedy exploration: on the smallest goal grid for
all tasks with vectors as observations, and on Unlock for the stock tasks of MiniGrid, which have
images. Within a task, all explorers share them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

import gymnasium as gym

from easee import priors
from easee._utils.extras import requires_extra

# For `easee.agents.population.Settings`. Hessel et al., "Rainbow" (2018), combine double DQN with
# n-step returns; Gallici et al., "Simplifying deep temporal difference learning" (2024), stabilise
# Q-learning with layer norm. `train_freq` is a compromise: 4 is better, at twice the cost.
LEARNER: Mapping[str, Any] = {
    "learning_rate": 1e-3,
    "buffer_size": 100_000,
    "learning_starts": 1_000,
    "batch_size": 32,
    "train_freq": 8,
    "target_update_interval": 2_000,
    "exploration_fraction": 0.5,
    "exploration_final_eps": 0.1,
    "n_steps": 5,
    "double": True,
}
# For the images of MiniGrid; chosen in the same way (`easee run hard-search-minigrid`).
MINIGRID_LEARNER: Mapping[str, Any] = {
    **LEARNER,
    "train_freq": 4,
    "learning_rate": 3e-4,
    "layer_norm": False,
}
# Parameters of the rivals by explorer, from the same two searches.
Rivals = Mapping[str, Mapping[str, float]]
RIVALS: Rivals = {"zeta": {"mu": 2.0}, "count": {"weight": 0.01}, "rnd": {"weight": 0.01}}
MINIGRID_RIVALS: Rivals = {"zeta": {"mu": 3.0}, "count": {"weight": 0.01}, "rnd": {"weight": 0.003}}
BINS = 50  # points of a learning curve


@dataclass(frozen=True)
class HardTask:
    """A task, and what its explorers know.

    Attributes:
        name: name in the arms.
        steps: number of training steps.
        env: class of the Gymnasium environment as "module:name", or the id of a MiniGrid.
        world: class of the world as "module:name".
        options: arguments of both.
        exact, usual: ready-made prior and depth for relations that always or usually hold.
        discovery: arguments of `easee.discover`.
        discoveries: number of random seeds of discovery; the runs of an arm share them.
        convolutions: whether the observations are images.
        learner: hyperparameters of DQN, see `LEARNER`.
        rivals: parameters of the other explorers with DQN, see `RIVALS`.
    """

    name: str
    steps: int
    env: str
    world: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    exact: tuple[str, int] = ("rotation-grid", 6)
    usual: tuple[str, int] = ("rotation-grid-complete", 30)
    discovery: Mapping[str, Any] = field(default_factory=lambda: {"usually": 0.1}, hash=False)
    discoveries: int = 3
    convolutions: bool = False
    learner: Mapping[str, Any] = field(default_factory=lambda: LEARNER, hash=False)
    rivals: Rivals = field(default_factory=lambda: RIVALS, hash=False)

    @property
    def title(self) -> str:
        """What the task is called in tables and pictures.

        >>> TASKS["goal-31"].title, TASKS["doorkey"].title, TASKS["MiniGrid-Unlock-v0"].title
        ('goal grid 31 x 31', 'DoorKey', 'Unlock')
        """
        if "size" in self.options:
            return "goal grid {size} x {size}".format(**self.options)
        if self.name == "doorkey":
            return "DoorKey"
        return self.name.removeprefix("MiniGrid-").removesuffix("-v0")

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return len(priors.get(self.exact[0]).actions)

    @property
    def interactions(self) -> bool:
        """Whether the usual prior says that some actions usually do nothing."""
        return bool(priors.get(self.usual[0]).rates.any())

    @property
    def knowledge(self) -> dict[str, Any]:
        """What its explorers know, as plain data."""
        return {
            "exact": list(self.exact),
            "usual": list(self.usual),
            "discovery": dict(self.discovery),
            "discoveries": self.discoveries,
        }

    def make_env(self) -> gym.Env[Any, Any]:
        """Return the Gymnasium environment."""
        if ":" in self.env:
            env: gym.Env[Any, Any] = resolve_name(self.env)(**self.options)
            return env
        with requires_extra("minigrid"):
            import minigrid

        gym.register_envs(minigrid)
        return gym.make(self.env, disable_env_checker=True)

    def make_world(self) -> Any:
        """Return the world."""
        return resolve_name(self.world)(**self.options)

    def make_network(self, hidden: tuple[int, ...] = (64, 64), *, layer_norm: bool = True) -> Any:
        """Return the Q-network: 64 units in each hidden layer, after convolutions for images."""
        from easee.agents.population.networks import MINIGRID, Network

        convolutions = MINIGRID.convolutions if self.convolutions else ()
        return Network(convolutions, hidden[1:] if self.convolutions else hidden, layer_norm)


def _goal_grid(size: int, steps: int) -> HardTask:
    return HardTask(
        f"goal-{size}",
        steps,
        "easee.envs:GoalGrid",
        "easee.envs.jax:GoalGrid",
        {"size": size},
        # Walls are rarely met, so a tolerance finds what holds in the open, in few steps.
        discovery={"tolerance": 0.2, "states": 50, "rollout": 2_000},
        discoveries=30,
    )


def _minigrid(name: str, steps: int) -> HardTask:
    return HardTask(
        name,
        steps,
        name,
        "easee.envs.jax.minigrid:MiniGrid",
        {"id": name},
        exact=("minigrid", 5),
        usual=("minigrid-usual", 20),
        # A fifth of the default, which also finds what works in one state of thousands.
        discovery={"usually": 0.1, "rollout": 20_000},
        convolutions=True,
        learner=MINIGRID_LEARNER,
        rivals=MINIGRID_RIVALS,
    )


TASKS: dict[str, HardTask] = {
    task.name: task
    for task in (
        _goal_grid(31, 60_000),
        _goal_grid(51, 100_000),
        _goal_grid(101, 250_000),
        HardTask(
            "doorkey",
            400_000,
            "easee.envs:DoorKey",
            "easee.envs.jax:DoorKey",
            exact=("doorkey", 6),
            usual=("doorkey-usual", 20),
            discoveries=10,
        ),
        _minigrid("MiniGrid-Empty-16x16-v0", 40_000),
        _minigrid("MiniGrid-DoorKey-8x8-v0", 300_000),
        _minigrid("MiniGrid-DoorKey-16x16-v0", 1_000_000),
        _minigrid("MiniGrid-FourRooms-v0", 300_000),
        _minigrid("MiniGrid-Unlock-v0", 120_000),
        _minigrid("MiniGrid-KeyCorridorS3R1-v0", 100_000),
    )
}
