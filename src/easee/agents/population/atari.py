"""Many runs of DQN on an Atari game: ale-py's games on the CPU beside learners on the device.

The device keeps frames, acts and learns for a whole group of runs at a time. Exploration and what
else is small stay on the host, with the core's explorers: every kernel less is time, because a step
on the device is too short to hide what starting it costs. Groups are independent and have a thread
each, so while one waits for its games, the device works for another.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import easee.agents.population.checkpoints as checkpoints
import easee.agents.population.frames as frames
import easee.agents.population.learner as learner
from easee._utils.checks import checked_count
from easee.agents.compat import fit_explorer as fitted
from easee.agents.population.devices import announce, check_room
from easee.agents.population.frames import STACK, Kept
from easee.agents.population.learner import Learner, Settings
from easee.agents.population.networks import NATURE, Network, Params
from easee.agents.population.training import Curves, check_runs
from easee.envs.atari import Atari
from easee.errors import ArgumentError, ArgumentTypeError, MissingExtraError
from easee.explorers.base import BaseExplorer
from easee.policy import ExplorationPolicy

try:
    import jax
    import jax.numpy as jnp
    from jax import Array
except ImportError:
    raise MissingExtraError("jax", "jax") from None

SIDE = 84  # of a frame
TOGETHER = 4  # runs of a group


class AtariPopulation:
    """Runs of DQN on an Atari game, side by side; the paper's network and preprocessing.

    Rewards are clipped for learning and unclipped in the curves.

    Args:
        game: its name; see `easee.envs.atari.Atari`.
        explorers: of each run, for one environment, or policies.
        seeds: of each run, whole numbers.
        settings: the hyperparameters, the same for all.
        network: what is learned.
        bins: into how many parts of training the rewards are gathered.
        groups: into how many groups the runs are cut; by default groups of 4 at most.

    Raises:
        ArgumentError: explorers do not fit the game's actions.
        PopulationTooLargeError: the runs do not fit in the device's memory.
    """

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
        seeds = check_runs(explorers, seeds)
        bins = checked_count(bins, "bins")
        groups = checked_count(-(-len(seeds) // TOGETHER) if groups is None else groups, "groups")
        names = Atari(game).action_names
        ours = [
            fitted(one, n_envs=1, n_actions=len(names), names=names, seed=seed)
            for one, seed in zip(explorers, seeds, strict=True)
        ]
        if not all(isinstance(one, BaseExplorer) for one in ours):
            raise ArgumentTypeError("expected policies or explorers of easee")
        if len({id(one) for one in ours}) < len(ours):
            raise ArgumentError("expected an explorer of its own for every run, found one twice")
        announce()
        self.settings = settings
        self.about = {
            "game": game,
            "settings": asdict(settings),
            "network": repr(network),
            "seeds": seeds,
            "explorers": [_kind(one) for one in ours],
            "bins": bins,
            "groups": groups,
        }
        self.steps = 0
        program = _program(network, settings, len(names))
        program.check_room(len(seeds))
        parts = np.array_split(np.arange(len(seeds)), min(groups, len(seeds)))
        self.groups = [
            _Group(program, game, [ours[i] for i in part], [seeds[i] for i in part], bins)
            for part in parts
        ]

    def __len__(self) -> int:
        return sum(len(group.seeds) for group in self.groups)

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
        more = self.total if steps is None else checked_count(steps, "steps")
        end = min(self.steps + more, self.total)
        with ThreadPoolExecutor(len(self.groups)) as pool:
            list(pool.map(lambda group: group.advance(end), self.groups))
        self.steps = end
        return self.curves()

    def curves(self) -> Curves:
        """Return the scores so far."""
        sums = np.concatenate([group.sums for group in self.groups])
        counts = np.concatenate([group.counts for group in self.groups])
        return Curves(sums, counts, self.settings.steps)

    def _tree(self) -> Any:
        return [group.tree() for group in self.groups], np.asarray(self.steps)

    def save(self, path: Path) -> None:
        """Write all that is needed to go on, the replay included."""
        checkpoints.save(path, self._tree(), self.about)

    def load(self, path: Path) -> None:
        """Go on from a file of the same population; episodes that were under way end there."""
        like = jax.tree.map(
            lambda leaf: np.broadcast_to(np.zeros((), leaf.dtype), leaf.shape), self._tree()
        )
        trees, steps = checkpoints.load(path, like, self.about)
        if not 0 <= int(steps) <= self.total:
            raise ArgumentError(f"{path} is damaged: it says step {int(steps)} of {self.total}")
        for group in self.groups:
            group.forget()  # or the device would have to hold all twice
        self.steps = int(steps)
        for group in self.groups:
            group.resume(trees.pop(0), self.steps)


def _kind(explorer: BaseExplorer) -> str:
    """Return what tells an explorer from others, as text."""
    state = explorer.state_dict()
    return " ".join(str(state.get(name, "")) for name in ("kind", "mu", "policy", "tabu"))


class _Program:
    """What the device does, compiled once for groups of a size."""

    def __init__(self, network: Network, settings: Settings, n_actions: int) -> None:
        self.network, self.settings, self.n_actions = network, settings, n_actions
        self.shape = (SIDE, SIDE, STACK)
        self.keep = jax.jit(
            jax.vmap(lambda kept, news: _keep(kept, *_read(news)[:2])), donate_argnums=0
        )
        self.act = jax.jit(jax.vmap(self._act), donate_argnums=1)
        self.learn_and_act = jax.jit(jax.vmap(self._learn_and_act), donate_argnums=(0, 1))
        self.renew = jax.jit(lambda now: now._replace(target=jax.tree.map(jnp.copy, now.params)))
        self.begin = jax.jit(jax.vmap(self._begin))

    def check_room(self, runs: int) -> None:
        """Check that so many runs fit in the device's memory."""
        size = self.settings.buffer_size + STACK
        one = jax.eval_shape(
            lambda: (self._begin(jax.random.key(0)), jnp.zeros((size, SIDE, SIDE), jnp.uint8))
        )
        check_room(one, runs, self.network, self.shape, self.settings.batch_size)

    def _begin(self, key: Array) -> Learner:
        return learner.init(self.network, self.settings, key, self.shape, self.n_actions)

    def _act(self, params: Params, kept: Array, news: Array) -> tuple[Array, Array]:
        """Keep the newest frame, and return the greedy action."""
        frame, where, _ = _read(news)
        kept = _keep(kept, frame, where)
        return kept, self._greedy(params, kept, where)

    def _learn_and_act(
        self, now: Learner, kept: Array, news: Array
    ) -> tuple[Learner, Array, Array]:
        """Keep the newest frame, learn from samples, and return what is then the greedy action."""
        frame, where, sampled = _read(news)
        kept = _keep(kept, frame, where)
        for one in sampled.reshape(self.settings.gradient_steps, self.settings.batch_size, -1):
            batch = frames.batch(kept, one)
            now = learner.update(self.network, self.settings, now, batch)
        return now, kept, self._greedy(now.params, kept, where)

    def _greedy(self, params: Params, kept: Array, where: Array) -> Array:
        seen = frames.stacks(kept, where[:1], where[1:])[0]
        return learner.act(self.network, params, seen)


_program = lru_cache(maxsize=8)(_Program)


def _written(frame: NDArray[np.uint8], where: Sequence[Any], *more: Any) -> NDArray[np.uint8]:
    """Return news of each run for the device in one array of bytes: a transfer costs like a kernel.

    Args:
        frame: the newest, uint8 (runs, height, width).
        where: its place, and its age, int (runs,) or one for all.
        more: whole numbers (runs, ...), as from `Kept.sample`.
    """
    runs = len(frame)
    columns = [np.broadcast_to(column, runs)[:, None] for column in where]
    columns += [part.reshape(runs, -1) for part in more]
    numbers = np.concatenate(columns, axis=1, dtype=np.int32, casting="same_kind")
    return np.concatenate([frame.reshape(runs, -1), numbers.view(np.uint8)], axis=1)


def _read(news: Array) -> tuple[Array, Array, Array]:
    """Return frame, place with age, and more of what `_written` wrote of one run."""
    frame = news[: SIDE * SIDE].reshape(SIDE, SIDE)
    numbers = jax.lax.bitcast_convert_type(news[SIDE * SIDE :].reshape(-1, 4), jnp.int32)
    return frame, numbers[:2], numbers[2:]


def _keep(kept: Array, frame: Array, where: Array) -> Array:
    """Keep the frame at its place; `where` is that place and the frame's age, int (2,)."""
    return kept.at[where[0]].set(frame)


class _Group:
    """Some runs: their games, their explorers, and what the device has of them."""

    def __init__(
        self,
        program: _Program,
        game: str,
        explorers: list[BaseExplorer],
        seeds: list[int],
        bins: int,
    ) -> None:
        self.program, self.settings = program, program.settings
        self.explorers, self.seeds = explorers, seeds
        self.env = Atari(game, len(seeds), threads=len(seeds))
        self.kept = Kept.empty(len(seeds), self.settings.buffer_size)
        self.frames = jnp.zeros((len(seeds), self.kept.size, SIDE, SIDE), jnp.uint8)
        self.learner: Learner = program.begin(jax.vmap(jax.random.key)(jnp.asarray(seeds)))
        self.sums = np.zeros((len(seeds), bins))
        self.counts = np.zeros((len(seeds), bins), np.int64)
        self._open(0)

    def _open(self, step: int) -> None:
        """Begin episodes before a step."""
        self.step = step
        self.draws = [np.random.default_rng([seed, step, 2]) for seed in self.seeds]
        stack, _ = self.env.reset(seed=[(seed + step) % 2**31 for seed in self.seeds])
        self.newest = stack[:, -1]

    def advance(self, end: int) -> None:
        """Do the steps from the next to before `end`."""
        while self.step < end:
            step = self.step
            actions = self._actions(step)
            stack, rewards, terminated, truncated, info = self.env.step(actions)
            self.newest = stack[:, -1]
            dones = terminated | truncated
            self.kept.add(step, actions, rewards, dones)
            for explorer, action, done in zip(self.explorers, actions, dones, strict=True):
                explorer.step_one(int(action), bool(done))
            if dones.any():
                self._count(step + 1, info["episode"]["r"], dones)
            self.step += 1

    def _actions(self, step: int) -> NDArray[np.int64]:
        """Return the actions of a step; learn before if it is time."""
        settings, program = self.settings, self.program
        place = step % self.kept.size
        where = place, self.kept.ages[:, place]
        if step and step % settings.target_update_interval == 0:
            self.learner = program.renew(self.learner)
        if step < settings.learning_starts:
            self.frames = program.keep(self.frames, _written(self.newest, where))
            return np.array([explorer.choose_one(-1, 1.0) for explorer in self.explorers])
        if step % settings.train_freq == 0 and step > settings.learning_starts:
            sampled = self.kept.sample(
                self.draws, step, (settings.gradient_steps, settings.batch_size)
            )
            news = _written(self.newest, where, sampled)
            self.learner, self.frames, greedy = program.learn_and_act(
                self.learner, self.frames, news
            )
        else:
            news = _written(self.newest, where)
            self.frames, greedy = program.act(self.learner.params, self.frames, news)
        greedy.copy_to_host_async()
        epsilon = settings.epsilon_at(step)
        chosen = np.array([explorer.choose_one(-1, epsilon) for explorer in self.explorers])
        return np.where(chosen < 0, np.asarray(greedy), chosen)

    def _count(self, step: int, scores: NDArray[Any], ended: NDArray[np.bool_]) -> None:
        """Count the scores of episodes that ended with a step, counted from 1."""
        bins = self.sums.shape[1]
        part = min((step * bins - 1) // self.settings.steps, bins - 1)
        self.sums[ended, part] += scores[ended]
        self.counts[ended, part] += 1

    def tree(self) -> Any:
        """Return all arrays that are needed to go on."""
        return self.learner, self.frames, self.kept, self.sums, self.counts

    def forget(self) -> None:
        """Free the device's memory."""
        self.learner = self.frames = None  # type: ignore[assignment]

    def resume(self, tree: Any, step: int) -> None:
        """Go on before a step with arrays from a file."""
        now, found, self.kept, self.sums, self.counts = tree
        self.learner = jax.tree.map(jnp.asarray, now)
        self.frames = jnp.asarray(found)
        self._open(step)
        if step:
            self.kept.cut(step)
        for explorer, seed in zip(self.explorers, self.seeds, strict=True):
            explorer.reset()
            explorer.rng = np.random.default_rng([seed, step, 1])
            explorer._block.clear()  # what was drawn ahead
