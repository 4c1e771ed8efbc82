"""Many runs of DQN as one program: seeds and arms side by side, in step.

A run is what Stable-Baselines3's DQN does with one environment: collect `train_freq` steps, then
update. All its randomness comes from its own key and the number of the step, so it can be
interrupted between any two updates and goes on as if nothing had happened.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import easee.agents.population.checkpoints as checkpoints
import easee.agents.population.learner as learner
from easee._utils.checks import checked_count
from easee.agents.compat import check_actions
from easee.agents.population.devices import announce, check_room
from easee.agents.population.learner import Learner, Settings
from easee.agents.population.networks import MLP, Network
from easee.agents.population.replay import StateReplay
from easee.envs.jax import World
from easee.errors import ArgumentError, ArgumentTypeError, MissingExtraError
from easee.explorers import jax as explorers
from easee.explorers.jax import Tables
from easee.policy import ExplorationPolicy

try:
    import jax
    import jax.numpy as jnp
    from jax import Array
except ImportError:
    raise MissingExtraError("jax", "jax") from None


UNROLLED = 8  # up to so many steps between updates are compiled one after the other, not as a loop


class Scores(NamedTuple):
    """The rewards of finished episodes, in equal parts of training.

    Attributes:
        running: the reward of the present episode so far.
        sums: float (bins,), of the episodes that ended in each part.
        counts: int (bins,), how many those are.
    """

    running: Array
    sums: Array
    counts: Array

    def add(self, step: Array, total: int, reward: Array, done: Array) -> Scores:
        """Count a reward that came with a step, counted from 1."""
        score = self.running + reward
        part = jnp.minimum((step * len(self.sums) - 1) // total, len(self.sums) - 1)
        return Scores(
            jnp.where(done, 0.0, score),
            self.sums.at[part].add(jnp.where(done, score, 0.0)),
            self.counts.at[part].add(done),
        )


class Run(NamedTuple):
    """Everything that changes in a run."""

    learner: Learner
    explorer: explorers.State
    state: Any
    replay: StateReplay
    scores: Scores


class Population:
    """Runs of DQN in a world, side by side.

    Args:
        world: where they learn.
        tables: the explorer of each run, as tables (see `explorers`) or a policy.
        seeds: of each run, whole numbers.
        settings: the hyperparameters, the same for all.
        network: what is learned.
        bins: into how many parts of training the rewards are gathered.

    Raises:
        ArgumentError: explorers do not fit the world's actions.
        PopulationTooLargeError: the runs do not fit in the device's memory.

    >>> from easee.envs.jax import Catcher
    >>> population = Population(
    ...     Catcher(8, 4), [explorers.uniform(2), explorers.zeta(2)], [0, 1], Settings(80), bins=2
    ... )
    >>> population.advance().counts  # episodes of each run in each half
    array([[10, 10],
           [10, 10]])
    """

    def __init__(
        self,
        world: World,
        tables: Sequence[Tables | ExplorationPolicy],
        seeds: Sequence[int],
        settings: Settings,
        network: Network = MLP,
        bins: int = 50,
    ) -> None:
        _check_kinds(world, settings, network)
        seeds = check_runs(tables, seeds)
        for one in tables:
            if isinstance(one, ExplorationPolicy):
                check_actions(one.graph.actions, world.n_actions, world.action_names)
        given = [_as_tables(one) for one in tables]
        check_hashable(world, "the world")
        check_hashable(network, "the network")
        for count in sorted({one.n_actions for one in given}):
            check_actions(count, world.n_actions, world.action_names)
        bins = checked_count(bins, "bins")
        if settings.blocks * settings.train_freq * bins >= 2**31:
            raise ArgumentError(f"{bins} bins are too many for {settings.steps:,} steps")
        announce()
        self.world, self.settings, self.network = world, settings, network
        self.about: dict[str, Any] = {
            "world": repr(world),
            "settings": asdict(settings),
            "network": repr(network),
            "seeds": seeds,
            "bins": bins,
        }
        self.blocks = 0  # that are done
        self.keys = jax.vmap(jax.random.key)(jnp.asarray(seeds))
        one = jax.eval_shape(partial(_begin, world, network, settings, bins), jax.random.key(0))
        check_room(one, len(seeds), network, world.observation_shape, settings.batch_size)
        self.tables = explorers.stack(given)
        digest = hashlib.sha256(b"".join(np.asarray(leaf).tobytes() for leaf in self.tables))
        self.about["explorers"] = digest.hexdigest()[:32]
        self.runs: Run = _begin_all(world, network, settings, bins, self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def steps(self) -> int:
        """How many steps every run has done."""
        return self.blocks * self.settings.train_freq

    @property
    def finished(self) -> bool:
        """Whether training is over."""
        return self.blocks >= self.settings.blocks

    def advance(self, steps: int | None = None) -> Curves:
        """Train for about so many steps, or to the end, and return the curves so far."""
        more = left = self.settings.blocks - self.blocks
        if steps is not None:
            more = min(left, -(-checked_count(steps, "steps") // self.settings.train_freq))
        end = self.blocks + more
        for learns, until in ((False, min(end, self.settings.warm_up)), (True, end)):
            if until > self.blocks:
                fixed = Constants(self.world, self.network, self.settings, learns)
                now = self.runs, self.tables, self.keys, self.blocks, until - self.blocks
                self.runs = _advance(fixed, *now)
                self.blocks = until
        return self.curves()

    def curves(self) -> Curves:
        """Return the rewards so far; waits until the device is done."""
        scores = self.runs.scores
        sums, counts = np.asarray(scores.sums, float), np.asarray(scores.counts, np.int64)
        return Curves(sums, counts, self.settings.steps)

    def save(self, path: Path) -> None:
        """Write all that is needed to go on."""
        checkpoints.save(path, (self.runs, np.asarray(self.blocks)), self.about)

    def load(self, path: Path) -> None:
        """Go on from a file of the same population."""
        runs, blocks = checkpoints.load(path, (self.runs, np.asarray(self.blocks)), self.about)
        if not 0 <= int(blocks) <= self.settings.blocks:
            raise ArgumentError(f"{path} is damaged: it says {int(blocks)} of training's blocks")
        del self.runs  # or the device would have to hold all twice
        self.runs, self.blocks = jax.tree.map(jnp.asarray, runs), int(blocks)


class Curves(NamedTuple):
    """The rewards of a population.

    Attributes:
        sums: float (runs, bins), of the episodes that ended in each part of training.
        counts: int (runs, bins), how many those are.
        steps: how long training is.
    """

    sums: NDArray[np.float64]
    counts: NDArray[np.int64]
    steps: int

    def points(self, run: int) -> list[tuple[int, float]]:
        """Return the ends of the parts in which episodes ended, and their mean reward."""
        ends = np.linspace(0, self.steps, self.sums.shape[1] + 1)[1:]
        return [
            (round(end), float(total / count))
            for end, total, count in zip(ends, self.sums[run], self.counts[run], strict=True)
            if count
        ]


def _as_tables(explorer: Tables | ExplorationPolicy) -> Tables:
    if isinstance(explorer, ExplorationPolicy):
        return explorers.from_policy(explorer)
    if not isinstance(explorer, Tables):
        raise ArgumentTypeError(
            f"expected explorers as Tables (see easee.explorers.jax) or policies, "
            f"found {type(explorer).__name__}"
        )
    return explorer


def check_hashable(value: Any, name: str) -> None:
    """Check that something can be a constant of a program."""
    try:
        hash(value)
    except TypeError:
        raise ArgumentTypeError(
            f"expected {name} to be hashable, say a frozen dataclass of tuples, found {value!r}"
        ) from None


def check_runs(explorers: Sequence[Any], seeds: Sequence[int]) -> list[int]:
    """Return the seeds, and check that there is an explorer for each."""
    for what, found in (("explorers", explorers), ("seeds", seeds)):
        if not hasattr(found, "__len__") or isinstance(found, str | Tables):
            raise ArgumentTypeError(f"expected a list of {what}, found {found!r}")
    if not len(seeds) or len(explorers) != len(seeds):
        raise ArgumentError(
            f"expected an explorer and a seed for every run, found {len(explorers)} explorers and "
            f"{len(seeds)} seeds"
        )
    return [_checked_seed(seed) for seed in seeds]


def _checked_seed(seed: Any) -> int:
    try:
        number = -1 if isinstance(seed, bool) else operator.index(seed)
    except TypeError:
        number = -1
    if not 0 <= number < 2**31:
        raise ArgumentError(f"expected seeds as whole numbers below 2**31, found {seed!r}")
    return number


def _check_kinds(world: Any, settings: Any, network: Any) -> None:
    """Check that each argument is what it has to be."""
    if isinstance(world, type) or not hasattr(world, "restart"):
        raise ArgumentTypeError(
            f"expected a world of easee.envs.jax, or one like them, found {world!r}"
        )
    if not isinstance(settings, Settings):
        raise ArgumentTypeError(f"expected Settings, found {settings!r}")
    if isinstance(network, type) or not hasattr(network, "init"):
        raise ArgumentTypeError(f"expected a Network, found {network!r}")


def _begin(world: World, network: Network, settings: Settings, bins: int, key: Array) -> Run:
    first, weights = jax.random.split(jax.random.fold_in(key, 2**31 - 1))
    state = world.reset(first)
    return Run(
        learner.init(network, settings, weights, world.observation_shape, world.n_actions),
        explorers.init(),
        state,
        StateReplay.empty(settings.buffer_size, state),
        Scores(jnp.zeros(()), jnp.zeros(bins), jnp.zeros(bins, jnp.int32)),
    )


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _begin_all(world: World, network: Network, settings: Settings, bins: int, keys: Array) -> Run:
    runs: Run = jax.vmap(partial(_begin, world, network, settings, bins))(keys)
    return runs


class Constants(NamedTuple):
    """What a program is compiled for; `learns` is false during the warm-up."""

    world: World
    network: Network
    settings: Settings
    learns: bool


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def _advance(
    fixed: Constants, runs: Run, tables: Tables, keys: Array, first: int, blocks: int
) -> Run:
    """Do so many blocks of steps, if it learns with an update each, from block `first` on."""
    block = jax.vmap(partial(_block, fixed), in_axes=(0, 0, 0, None))
    every = fixed.settings.train_freq
    done: Run = jax.lax.fori_loop(
        0, blocks, lambda i, now: block(now, tables, keys, (first + i) * every), runs
    )
    return done


def _block(fixed: Constants, run: Run, tables: Tables, key: Array, first: Array) -> Run:
    """Do the steps of one run from `first` on, then update."""
    world, network, settings, learns = fixed
    run = jax.lax.fori_loop(
        0,
        settings.train_freq,
        lambda i, now: _step(fixed, now, tables, key, first + i),
        run,
        unroll=settings.train_freq <= UNROLLED,
    )
    last = first + settings.train_freq
    # Weights have been the same since `first`, so it makes no difference when they are copied.
    now = learner.renewed(settings, run.learner, first, last)
    if learns:
        draws = jax.random.fold_in(jax.random.fold_in(key, last), 2)  # 0 and 1 are that step's own
        for i in range(settings.gradient_steps):
            chosen = jax.random.fold_in(draws, i)
            batch = run.replay.sample(chosen, last, settings.batch_size, world)
            now = learner.update(network, settings, now, batch)
    return run._replace(learner=now)


def _step(fixed: Constants, run: Run, tables: Tables, key: Array, step: Array) -> Run:
    world, network, settings, learns = fixed
    chance, again = jax.random.split(jax.random.fold_in(key, step))
    greedy = jnp.zeros((), jnp.int32)
    if learns:
        greedy = learner.act(network, run.learner.params, world.observe(run.state))
    explorer, action, _ = explorers.choose(
        tables, run.explorer, greedy, settings.epsilon(step), chance
    )
    after, reward, terminated, truncated = world.step(run.state, action)
    done = terminated | truncated
    kept = StateReplay(run.state, after, action, reward, jnp.asarray(terminated, jnp.float32))
    fresh = world.restart(after, again)
    return Run(
        run.learner,
        explorers.step(tables, explorer, action, done),
        jax.tree.map(lambda new, old: jnp.where(done, new, old), fresh, after),
        run.replay.add(step, kept),
        run.scores.add(step + 1, settings.steps, reward, done),
    )
