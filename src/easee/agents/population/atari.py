"""Many runs of DQN on an Atari game: ale-py's games on the CPU, learners on the device.

The device stores frames, acts and learns for a whole group of runs at a time. Exploration and
everything else that is small stay on the host, with the core's explorers: a step on the device is
too short to hide the cost of starting kernels, so each kernel avoided saves time. Groups are
independent and have a thread each, so that the device works for one group while another waits for
its games.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

import easee.agents.population.dqn as dqn
from easee._utils.checks import checked_count
from easee.agents.compat import fit_scalar_explorer
from easee.agents.population.atari_program import FrameReplay, Program, compile_program, pack_update
from easee.agents.population.base import BasePopulation
from easee.agents.population.curves import Curves
from easee.agents.population.dqn import Settings
from easee.agents.population.networks import NATURE, Network
from easee.envs.atari import Atari
from easee.errors import ArgumentError
from easee.explorers.base import BaseExplorer
from easee.policy import ExplorationPolicy

GROUP_SIZE = 4  # most runs of a group by default


class AtariPopulation(BasePopulation[Settings]):
    """Runs of DQN on an Atari game, side by side, with the paper's network and preprocessing.

    Rewards are clipped for learning and unclipped in the curves.

    Args:
        game: name of the game; see `easee.envs.atari.Atari`.
        explorers: explorer of each run, for one environment, or policy.
        seeds: random seed of each run.
        settings: hyperparameters of all runs.
        network: Q-network of all runs.
        bins: number of points of the learning curves.
        groups: number of groups that the runs are split into; by default groups of at most 4.

    Raises:
        ArgumentError: explorers do not fit the game's actions.
        PopulationTooLargeError: the runs do not fit in the device's memory.
    """

    settings_type = Settings
    memory_advice = "buffer_size"

    def __init__(
        self,
        game: str,
        explorers: Sequence[ExplorationPolicy | BaseExplorer],
        seeds: Sequence[int],
        settings: Settings,
        network: Network = NATURE,
        bins: int = 50,
        groups: int | None = None,
    ) -> None:
        super().__init__(explorers, seeds, settings, network, bins)
        if settings.n_steps > 1:
            raise ArgumentError(
                f"expected n_steps=1 for Atari games, found {settings.n_steps}: their replay "
                "buffer has no n-step returns"
            )
        groups = checked_count(-(-len(self) // GROUP_SIZE) if groups is None else groups, "groups")
        names = Atari(game).action_names
        fitted = [
            fit_scalar_explorer(explorer, len(names), names, seed)
            for explorer, seed in zip(explorers, self.seeds, strict=True)
        ]
        if len({id(explorer) for explorer in fitted}) < len(fitted):
            raise ArgumentError("expected a different explorer for every run, found one twice")
        identities = [_identify(explorer) for explorer in fitted]
        self.description |= {"game": game, "explorers": identities, "groups": groups}
        program = compile_program(network, settings, len(names))
        keys = jax.vmap(jax.random.key)(jnp.asarray(self.seeds))
        self._check_memory(jax.eval_shape(program.init, keys), program.shape)
        runs = list(zip(fitted, self.seeds, strict=True))
        parts = np.array_split(np.arange(len(runs)), min(groups, len(runs)))
        self.groups = [Group(program, game, [runs[i] for i in part], self.bins) for part in parts]

    def _train_until(self, step: int) -> None:
        with ThreadPoolExecutor(len(self.groups)) as pool:
            list(pool.map(lambda group: group.train_until(step), self.groups))
        self.steps = step

    def curves(self) -> Curves:
        """Return the learning curves so far."""
        curves = [group.curves for group in self.groups]
        sums = np.concatenate([part.sums for part in curves])
        counts = np.concatenate([part.counts for part in curves])
        successes = np.concatenate([part.successes for part in curves])
        return Curves(sums, counts, successes, self.settings.steps)

    def _arrays(self) -> Any:
        return [group.arrays() for group in self.groups]

    def _restore(self, arrays: Any) -> None:
        """Resume after a checkpoint; games cannot be restored, so new episodes start."""
        for group in self.groups:
            del group.learner, group.frames  # frees device memory for the loaded arrays
        for group in self.groups:
            group.restore(arrays.pop(0), self.steps)


def _identify(explorer: BaseExplorer) -> str:
    """Return a text that distinguishes explorers that behave differently."""
    state = explorer.state_dict()
    return " ".join(str(state.get(name, "")) for name in ("kind", "mu", "policy", "tabu"))


class Group:
    """Some runs with their games, their explorers, and their arrays on the device."""

    def __init__(
        self, program: Program, game: str, runs: list[tuple[BaseExplorer, int]], bins: int
    ) -> None:
        self.program, self.settings = program, program.settings
        self.explorers, self.seeds = zip(*runs, strict=True)
        count = len(runs)
        self.env = Atari(game, count, threads=count)
        self.replay = FrameReplay.empty(count, self.settings.buffer_size)
        self.learner, self.frames = program.init(jax.vmap(jax.random.key)(jnp.asarray(self.seeds)))
        self.curves = Curves.empty(count, bins, self.settings.steps)
        self._start_episodes(0)

    def _start_episodes(self, step: int) -> None:
        """Reset the games and the generators before a step."""
        self.step = step
        self.generators = [np.random.default_rng([seed, step, 2]) for seed in self.seeds]
        stack, _ = self.env.reset(seed=[(seed + step) % 2**31 for seed in self.seeds])
        self.newest = stack[:, -1]

    def train_until(self, end: int) -> None:
        """Do all steps before step `end`."""
        while self.step < end:
            actions = self._actions(self.step)
            stack, rewards, terminated, truncated, info = self.env.step(actions)
            self.newest = stack[:, -1]
            dones = terminated | truncated
            self.replay.add(self.step, actions, rewards, dones)
            for explorer, action, done in zip(self.explorers, actions, dones, strict=True):
                explorer.step_one(int(action), bool(done))
            self.step += 1
            if dones.any():
                self.curves.add(self.step, info["episode"]["r"], dones)

    def _actions(self, step: int) -> NDArray[np.int64]:
        """Return the actions of a step, after an update if one is due."""
        settings, program = self.settings, self.program
        learns = step > settings.learning_starts and step % settings.train_freq == 0
        shape = (settings.gradient_steps, settings.batch_size)
        sampled = self.replay.sample(self.generators, step, shape) if learns else None
        index = step % self.replay.size
        update = pack_update(self.newest, index, self.replay.ages[:, index], sampled)
        if step and step % settings.target_update_interval == 0:
            self.learner = dqn.sync_target(self.learner)
        if step < settings.learning_starts:
            self.frames = program.store(self.frames, update)
            return np.array([explorer.choose_one(-1, 1.0) for explorer in self.explorers])
        if learns:
            arrays = program.learn_and_act(self.learner, self.frames, update)
            self.learner, self.frames, greedy = arrays
        else:
            self.frames, greedy = program.act(self.learner.params, self.frames, update)
        greedy.copy_to_host_async()
        epsilon = float(settings.epsilon(step, np))
        actions = np.array([explorer.choose_one(-1, epsilon) for explorer in self.explorers])
        return np.where(actions < 0, np.asarray(greedy), actions)

    def arrays(self) -> Any:
        """Return a tree of the arrays to save."""
        return self.learner, self.frames, self.replay, list(self.curves[:-1])

    def restore(self, arrays: Any, step: int) -> None:
        """Continue before a step with arrays from a checkpoint."""
        learner, frames, self.replay, (sums, counts, successes) = arrays
        self.learner = jax.tree.map(jnp.asarray, learner)
        self.frames = jnp.asarray(frames)
        self.curves = Curves(sums, counts, successes, self.settings.steps)
        self._start_episodes(step)
        if step:
            self.replay.end_episodes(step)
        for explorer, seed in zip(self.explorers, self.seeds, strict=True):
            explorer.reset()
            explorer.reseed(np.random.default_rng([seed, step, 1]))
