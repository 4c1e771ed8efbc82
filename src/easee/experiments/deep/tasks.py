"""Tasks for DQN: Catcher and the Atari games, with the paper's hyperparameters.

A task is data. It also knows how to make its environment for Stable-Baselines3 and its population,
so that the backends are the same for all tasks. Runs may be shorter than the paper's; then warm-up
and annealing take the same fraction of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar

from easee import priors
from easee.experiments.harness.explorers import make_explorer, make_tables
from easee.experiments.harness.figure import Run

if TYPE_CHECKING:
    from easee.agents.population import Settings


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """A learning task with the paper's hyperparameters.

    Attributes:
        name: name of the figure.
        prior: name of the ready-made prior.
        depth: depth of EASEE's graph.
        paper_steps: number of training steps in the paper.
        paper_seeds: number of seeds in the paper.
        buffer_size, ..., target_update_interval: arguments of Stable-Baselines3's DQN.
        paper_learning_starts: steps before the first update. The paper leaves it at
            Stable-Baselines3's default, which was 50,000 at that time.
        bins: points of the learning curve.
        population: class of its populations, as "module:name" since importing it needs extras.
    """

    name: str
    prior: str
    depth: int
    paper_steps: int
    paper_seeds: int
    buffer_size: int
    exploration_fraction: float
    exploration_final_eps: float
    learning_rate: float = 1e-4
    batch_size: int = 32
    train_freq: int = 4
    target_update_interval: int = 1000
    paper_learning_starts: int = 50_000
    bins: int = 50
    population: ClassVar[str]

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return len(priors.get(self.prior).actions)

    @property
    def config(self) -> dict[str, Any]:
        """The fields that results depend on, as plain data."""
        return {field.name: getattr(self, field.name) for field in fields(Task)}

    @abstractmethod
    def make_env(self, options: Mapping[str, Any]) -> Any:
        """Return the environment for Stable-Baselines3, made with the given options."""

    @abstractmethod
    def sb3_arguments(self) -> dict[str, Any]:
        """Return the arguments of Stable-Baselines3's DQN that are specific to this task."""

    @abstractmethod
    def make_population(self, runs: list[Run], seeds: list[int], settings: Settings) -> Any:
        """Return the population of runs that differ in arm and seed only."""


@dataclass(frozen=True, kw_only=True)
class JaxTask(Task):
    """A task whose environment is also available as a JAX world.

    Attributes, given as "module:name" except for `pixels` and `policy`:
        env: Gymnasium environment.
        world: JAX world; takes the same options as the environment.
        network: Q-network of a population, see `easee.agents.population.networks`.
        pixels: if positive, at most so many cells of an image are not 0, which is then used to save
            time.
        policy: policy of Stable-Baselines3.
        features_extractor: features extractor of Stable-Baselines3, if not the policy's own.
    """

    env: str
    world: str
    network: str = "easee.agents.population.networks:MLP"
    pixels: int = 0
    policy: str = "MlpPolicy"
    features_extractor: str = ""
    population = "easee.agents.population:Population"

    def make_env(self, options: Mapping[str, Any]) -> Any:
        """Return the Gymnasium environment."""
        return resolve_name(self.env)(**options)

    def sb3_arguments(self) -> dict[str, Any]:
        """Return the policy, with the features extractor if there is one."""
        name = self.features_extractor
        options = {"features_extractor_class": resolve_name(name)} if name else {}
        return {"policy": self.policy, "policy_kwargs": options}

    def make_population(self, runs: list[Run], seeds: list[int], settings: Settings) -> Any:
        """Return a population in the JAX world."""
        world = resolve_name(self.world)(**runs[0].settings.get("env", {}))
        arms = {run.arm: run.settings for run in runs}
        tables = {arm: make_tables(arms[arm], self.n_actions) for arm in arms}
        explorers = [tables[run.arm] for run in runs]
        network = replace(resolve_name(self.network), pixels=self.pixels)
        population = resolve_name(self.population)
        return population(world, explorers, seeds, settings, network, bins=self.bins)


@dataclass(frozen=True, kw_only=True)
class AtariTask(Task):
    """An Atari game of ale-py, with the paper's network and preprocessing."""

    population = "easee.agents.population.atari:AtariPopulation"

    def make_env(self, options: Mapping[str, Any]) -> Any:
        """Return the game as a vector environment of Stable-Baselines3."""
        from easee.agents.sb3.vec_env import VectorAdapter
        from easee.envs.atari import Atari

        return VectorAdapter(Atari(self.name, threads=1, **options))

    def sb3_arguments(self) -> dict[str, Any]:
        """Return the policy, and a buffer that stores each stack of frames only once."""
        return {
            "policy": "CnnPolicy",
            "optimize_memory_usage": True,
            "replay_buffer_kwargs": {"handle_timeout_termination": False},
        }

    def make_population(self, runs: list[Run], seeds: list[int], settings: Settings) -> Any:
        """Return a population that plays the game."""
        explorers = [make_explorer(run, self.n_actions) for run in runs]
        population = resolve_name(self.population)
        return population(self.name, explorers, seeds, settings, bins=self.bins)


CATCHER = JaxTask(
    name="catcher",
    prior="catcher",
    depth=30,
    paper_steps=300_000,
    paper_seeds=20,
    buffer_size=10_000,
    exploration_fraction=0.2,
    exploration_final_eps=0.05,
    env="easee.envs:Catcher",
    world="easee.envs.jax:Catcher",
    network="easee.agents.population.networks:CATCHER",
    pixels=2,  # ball and paddle
    policy="CnnPolicy",
    features_extractor="easee.agents.sb3.networks:CatcherCnn",
)
_EARLY = replace(CATCHER, name="catcher-early", paper_learning_starts=1_000)
_LITERAL = "easee.agents.population.networks:CATCHER_LITERAL"
READINGS = {  # of the paper's description of Catcher
    "stride 2, from step 50,000": CATCHER,
    "stride 2, from step 1,000": _EARLY,
    "stride 1, from step 50,000": replace(CATCHER, name="catcher-literal", network=_LITERAL),
    "stride 1, from step 1,000": replace(_EARLY, name="catcher-literal-early", network=_LITERAL),
}
FREEWAY = AtariTask(
    name="freeway",
    prior="freeway",
    depth=4,
    paper_steps=10_000_000,
    paper_seeds=20,
    buffer_size=100_000,
    exploration_fraction=0.1,
    exploration_final_eps=0.01,
)
BOXING = replace(FREEWAY, name="boxing", prior="boxing", paper_seeds=10)
CARNIVAL = replace(FREEWAY, name="carnival", prior="carnival", paper_seeds=10)
TASKS: dict[str, Task] = {
    task.name: task for task in (*READINGS.values(), FREEWAY, BOXING, CARNIVAL)
}


def hyperparameters(task: Task, steps: int) -> dict[str, Any]:
    """Return the arguments of DQN for a number of training steps, by Stable-Baselines3's names."""
    unscaled = ["learning_rate", "batch_size", "train_freq", "target_update_interval"]
    unscaled += ["exploration_fraction", "exploration_final_eps"]
    return {name: getattr(task, name) for name in unscaled} | {
        "buffer_size": min(task.buffer_size, steps),
        "learning_starts": task.paper_learning_starts * steps // task.paper_steps,
    }
