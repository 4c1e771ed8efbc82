"""Train the runs of hard tasks as populations of PPO, with EASEE as the reference policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from easee.experiments.hard.arms import discovered, make_bonus
from easee.experiments.hard.tasks import BINS, TASKS, HardTask, Rivals
from easee.experiments.hard.training import check_extras, measured
from easee.experiments.harness.explorers import agent_seed, policy_of
from easee.experiments.harness.figure import Measured, Run
from easee.experiments.harness.population_backend import PopulationBackend
from easee.viz.style import names

if TYPE_CHECKING:
    from easee.agents.population import PpoPopulation
    from easee.explorers.jax import Tables
    from easee.policy import ExplorationPolicy

# For `easee.agents.population.PpoSettings`. The coefficients are chosen for plain PPO by
# `easee run hard-ppo-search` and, for the images of MiniGrid, `easee run hard-ppo-search-minigrid`.
LEARNER: Mapping[str, Any] = {
    "n_envs": 16,
    "n_steps": 128,
    "batch_size": 512,
    "n_epochs": 4,
    "learning_rate": 5e-4,
    "ent_coef": 0.1,
}
MINIGRID_LEARNER: Mapping[str, Any] = {**LEARNER, "ent_coef": 0.0}
# Weights of the rivals, from the same two searches.
RIVALS: Rivals = {"count": {"weight": 0.01}, "rnd": {"weight": 0.01}}
MINIGRID_RIVALS: Rivals = {"count": {"weight": 0.001}, "rnd": {"weight": 0.003}}
STEPS = {  # of training
    "goal-31": 200_000,
    "goal-51": 300_000,
    "goal-101": 1_000_000,
    "doorkey": 1_600_000,
    "MiniGrid-Empty-16x16-v0": 100_000,
    "MiniGrid-DoorKey-8x8-v0": 1_000_000,
    "MiniGrid-DoorKey-16x16-v0": 4_000_000,
    "MiniGrid-FourRooms-v0": 500_000,
    "MiniGrid-Unlock-v0": 300_000,
    "MiniGrid-KeyCorridorS3R1-v0": 500_000,
}
REFERENCES = names("plain", "count", "rnd", "exact", "usual", "discovered")
PLAYED = 32_000  # steps of the evaluation after training
PLAYED_ON = {"doorkey": 64_000}  # whose episodes are longer
PLAYS = {  # metrics of the evaluation, and the arguments of `PpoPopulation.play`
    "success with the reference": {"reference": True},
    "success of the network alone": {"reference": False},
    "success of the network's best actions": {"reference": False, "greedy": True},
}


def learner_of(task: HardTask) -> Mapping[str, Any]:
    """Return the hyperparameters of PPO on a task."""
    return MINIGRID_LEARNER if task.convolutions else LEARNER


def rivals_of(task: HardTask) -> Rivals:
    """Return the parameters of the rivals on a task."""
    return MINIGRID_RIVALS if task.convolutions else RIVALS


def make_reference(settings: Mapping[str, Any], seed: int) -> Tables | ExplorationPolicy:
    """Return the reference policy of an arm."""
    from easee.explorers import jax as explorers

    task, name = TASKS[settings["task"]], settings["explorer"]
    if name in ("plain", "count", "rnd"):
        return explorers.uniform(task.n_actions)
    if name == "discovered":
        return discovered(task.name, seed)[0]
    return policy_of(*(task.exact if name == "exact" else task.usual))


def make_population(runs: list[Run]) -> PpoPopulation:
    """Return the population of runs with the same task, steps, learner and bonus."""
    from easee.agents.population import PpoPopulation, PpoSettings
    from easee.agents.population.networks import MINIGRID, ActorCritic, Network

    settings = runs[0].settings
    task = TASKS[settings["task"]]
    body = MINIGRID if task.convolutions else Network(tanh=True)
    return PpoPopulation(
        task.make_world(),
        [make_reference(run.settings, run.seed) for run in runs],
        list(map(agent_seed, runs)),
        PpoSettings(settings["steps"], **{**learner_of(task), **settings.get("learner", {})}),
        ActorCritic(body),
        bins=BINS,
        bonus=make_bonus(settings),
    )


def play(population: PpoPopulation, runs: list[Run]) -> list[Measured]:
    """Return the success of each run after training, with and without the reference."""
    rows: list[list[tuple[int, str, float]]] = [[] for _ in runs]
    for metric, options in PLAYS.items():
        played = PLAYED_ON.get(runs[0].settings["task"], PLAYED)
        curves = population.play(played, **options)
        for i, run in enumerate(runs):
            success = float(curves.successes[i].sum() / max(curves.counts[i].sum(), 1))
            rows[i].append((run.settings["steps"], metric, round(success, 4)))
    return [*rows]


def _together(run: Run) -> str:
    names = ("task", "steps", "learner", "weight")
    return repr([make_bonus(run.settings), *(run.settings.get(name) for name in names)])


BACKEND = PopulationBackend(make_population, measured, _together, check_extras, play)
