"""Many runs of DQN on an Atari game: ale-py's games on the CPU beside learners on the device.

Runs are in step, in two groups: while one group's games are played, the device works for the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from easee.agents.population import checkpoints, explorers, learner
from easee.agents.population.devices import announce, check_room
from easee.agents.population.explorers import Tables
from easee.agents.population.learner import Learner, Settings
from easee.agents.population.networks import NATURE, Network
from easee.agents.population.replay import STACK, FrameReplay
from easee.agents.population.training import Curves, check_population
from easee.envs.atari import Atari
from easee.errors import MissingExtraError, checked_count

try:
    import jax
    import jax.numpy as jnp
    from jax import Array
except ImportError:
    raise MissingExtraError("jax", "jax") from None

Frames = NDArray[np.uint8]


class Run(NamedTuple):
    """Everything on the device that changes in a run; `action` is the one being taken."""

    learner: Learner
    explorer: explorers.State
    replay: FrameReplay
    action: Array


class Outcome(NamedTuple):
    """What came of a step: the newest frames, clipped rewards, and where an episode ended."""

    frames: Frames
    rewards: NDArray[np.float32]
    dones: NDArray[np.bool_]


class AtariPopulation:
    """Runs of DQN on an Atari game, side by side; the paper's network and preprocessing.

    Rewards are clipped for learning and unclipped in the curves.

    Args:
        game: its name; see `easee.envs.atari.Atari`.
        tables: the explorer of each run; see `explorers`.
        seeds: of each run, whole numbers.
        settings: the hyperparameters, the same for all.
        network: what is learned.
        bins: into how many parts of training the rewards are gathered.
        groups: into how many groups the runs are cut.
        threads: for the games of a group; by default as ale-py chooses.

    Raises:
        ArgumentError: explorers do not fit the game's actions.
        PopulationTooLargeError: the runs do not fit in the device's memory.
    """

    def __init__(
        self,
        game: str,
        tables: Sequence[Tables],
        seeds: Sequence[int],
        settings: Settings,
        network: Network = NATURE,
        bins: int = 50,
        groups: int = 2,
        threads: int = 0,
    ) -> None:
        names = Atari(game).action_names
        check_population(tables, seeds, len(names), names)
        checked_count(bins, "bins")
        announce()
        self.settings = settings
        self.about = {
            "game": game,
            "settings": asdict(settings),
            "network": repr(network),
            "seeds": [int(seed) for seed in seeds],
            "bins": bins,
            "groups": groups,
        }
        self.steps = 0
        self.sums = np.zeros((len(seeds), bins))
        self.counts = np.zeros((len(seeds), bins), np.int64)
        program = _Program(network, settings, len(names))
        one = jax.eval_shape(program.begin, jax.random.key(0))
        check_room(one, len(seeds), network, program.shape, settings.batch_size)
        parts = np.array_split(np.arange(len(seeds)), min(groups, len(seeds)))
        self.groups = [
            _Group(
                program,
                Atari(game, len(part), threads),
                explorers.stack([tables[i] for i in part]),
                [int(seeds[i]) for i in part],
                part,
            )
            for part in parts
        ]

    def __len__(self) -> int:
        return len(self.sums)

    @property
    def total(self) -> int:
        """How many steps training has."""
        return self.settings.blocks * self.settings.train_freq

    @property
    def finished(self) -> bool:
        """Whether training is over."""
        return self.steps >= self.total

    def advance(self, steps: int | None = None) -> Curves:
        """Train for so many steps, or to the end, and return the curves so far."""
        end = self.total if steps is None else min(self.steps + steps, self.total)
        for step in range(self.steps, end):
            for group in self.groups:
                scores = group.receive()
                self._count(group.members, scores, step)
                group.send(step)
        self.steps = end
        if self.finished:
            for group in self.groups:
                self._count(group.members, group.receive(), end)
        return self.curves()

    def _count(self, members: NDArray[Any], scores: NDArray[Any], step: int) -> None:
        """Count the scores of episodes that ended with a step, counted from 1; NaN is none."""
        ended = ~np.isnan(scores)
        if ended.any():
            bins = self.sums.shape[1]
            part = min(max(step * bins - 1, 0) // self.settings.steps, bins - 1)
            self.sums[members[ended], part] += scores[ended]
            self.counts[members[ended], part] += 1

    def curves(self) -> Curves:
        """Return the scores so far."""
        return Curves(self.sums.copy(), self.counts.copy(), self.settings.steps)

    def _tree(self) -> Any:
        return [g.runs for g in self.groups], self.sums, self.counts, np.asarray(self.steps)

    def save(self, path: Path) -> None:
        """Write all that is needed to go on, the replay included."""
        checkpoints.save(path, self._tree(), self.about)

    def load(self, path: Path) -> None:
        """Go on from a file of the same population; episodes that were under way end there."""
        like = jax.eval_shape(lambda: [g.runs for g in self.groups]), *self._tree()[1:]
        for group in self.groups:
            group.runs = None  # or the device would have to hold them twice
        runs, self.sums, self.counts, steps = checkpoints.load(path, like, self.about)
        self.steps = int(steps)
        for group in self.groups:
            group.resume(runs.pop(0), self.steps)


class _Program:
    """What the device does, compiled once for all groups."""

    def __init__(self, network: Network, settings: Settings, n_actions: int) -> None:
        self.network, self.settings, self.n_actions = network, settings, n_actions
        self.shape = (84, 84, STACK)
        outcome = Outcome(0, 0, 0)  # type: ignore[arg-type]
        over = (0, 0, 0, None, outcome)
        self.keep = jax.jit(jax.vmap(partial(self._step, False), over), donate_argnums=0)
        self.learn = jax.jit(jax.vmap(partial(self._step, True), over), donate_argnums=0)
        self.renew = jax.jit(lambda now: now._replace(target=jax.tree.map(jnp.copy, now.params)))
        self.reopen = jax.jit(jax.vmap(self._reopened, (0, 0, 0, None, 0)), donate_argnums=0)

    def begin(self, key: Array) -> Run:
        """Return a run that has not begun."""
        weights = jax.random.fold_in(key, 2**31 - 1)
        return Run(
            learner.init(self.network, self.settings, weights, self.shape, self.n_actions),
            explorers.init(),
            FrameReplay.empty(self.settings.buffer_size, *self.shape[:2]),
            jnp.zeros((), jnp.int32),
        )

    def _step(
        self, learns: bool, run: Run, tables: Tables, key: Array, step: Array, outcome: Outcome
    ) -> tuple[Run, Array]:
        """Keep the outcome of the step before, learn if it is time, and choose an action.

        Before step 0 there was none, and what is kept of it is never sampled: its place is before
        the first.
        """
        frames, rewards, dones = map(jnp.asarray, outcome)
        replay = run.replay.add(step - 1, run.action, rewards, dones, frames)
        explorer = explorers.step(tables, run.explorer, run.action, dones)
        run = run._replace(replay=replay, explorer=explorer)
        if learns:
            run = run._replace(learner=self._learned(run, key, step))
        return self._acted(run, tables, key, step)

    def _learned(self, run: Run, key: Array, step: Array) -> Learner:
        settings, now = self.settings, run.learner
        draws = jax.random.fold_in(jax.random.fold_in(key, step), 1)
        for i in range(settings.gradient_steps):
            batch = run.replay.sample(jax.random.fold_in(draws, i), step, settings.batch_size)
            now = learner.update(self.network, settings, now, batch)
        return now

    def _acted(self, run: Run, tables: Tables, key: Array, step: Array) -> tuple[Run, Array]:
        seen = run.replay.stacked((step % len(run.replay.actions))[None])[0]
        greedy = learner.act(self.network, run.learner, seen)
        epsilon = self.settings.epsilon(step)
        chance = jax.random.fold_in(key, step)
        explorer, action, _ = explorers.choose(tables, run.explorer, greedy, epsilon, chance)
        return run._replace(explorer=explorer, action=action), action

    def _reopened(
        self, run: Run, tables: Tables, key: Array, step: Array, frame: Array
    ) -> tuple[Run, Array]:
        """Begin another episode at a step, and choose its first action."""
        replay = run.replay.restart(step, frame)
        run = run._replace(replay=replay, explorer=explorers.init())
        return self._acted(run, tables, key, step)


class _Group:
    """Some runs: their games, and what the device has of them."""

    def __init__(
        self,
        program: _Program,
        env: Atari,
        tables: Tables,
        seeds: list[int],
        members: NDArray[Any],
    ) -> None:
        self.program, self.env, self.tables, self.members = program, env, tables, members
        self.seeds = seeds
        self.keys = jax.vmap(jax.random.key)(jnp.asarray(seeds))
        self.runs: Any = jax.jit(jax.vmap(program.begin))(self.keys)
        self.outcome = self._opening()
        self.playing = False

    def _opening(self) -> Outcome:
        stacks, _ = self.env.reset(seed=self.seeds)
        count = len(self.seeds)
        return Outcome(stacks[:, -1], np.zeros(count, np.float32), np.ones(count, bool))

    def receive(self) -> NDArray[Any]:
        """Wait for the step that was begun; return the scores of episodes that ended, else NaN."""
        scores = np.full(len(self.members), np.nan)
        if self.playing:
            stacks, rewards, terminated, truncated, info = self.env.receive()
            dones = terminated | truncated
            self.outcome = Outcome(stacks[:, -1], rewards.astype(np.float32), dones)
            if dones.any():
                scores[dones] = info["episode"]["r"][dones]
            self.playing = False
        return scores

    def send(self, step: int) -> None:
        """Let the device work on what the last step led to, and begin the next."""
        settings = self.program.settings
        if step and step % settings.target_update_interval == 0:
            self.runs = self.runs._replace(learner=self.program.renew(self.runs.learner))
        learns = step % settings.train_freq == 0 and step > settings.learning_starts
        work = self.program.learn if learns else self.program.keep
        self.runs, actions = work(self.runs, self.tables, self.keys, step, self.outcome)
        self._play(actions)

    def resume(self, runs: Run, step: int) -> None:
        """Go on at a step with runs from a file."""
        frames = self._opening().frames
        runs = jax.tree.map(jnp.asarray, runs)
        if step == 0:
            self.runs = runs
            return
        # The action of step - 1 was kept; that of `step` is chosen anew.
        self.runs, actions = self.program.reopen(runs, self.tables, self.keys, step - 1, frames)
        self._play(actions)

    def _play(self, actions: Array) -> None:
        self.env.send(np.asarray(actions, np.int64))
        self.playing = True
