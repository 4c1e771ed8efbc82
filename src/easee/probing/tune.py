"""Tuning: does a prior help in an environment, and at which depth?

Each depth, uniform actions and temporally extended ones explore the environment in *trials* of
equally many steps, and the distinct states that each trial sees are counted. The depths race
(successive elimination, after Even-Dar, Mannor and Mansour, 2006): all have a few trials first.
After that, what is confidently worse than the best is dropped, and the others share more trials.
The depth that is chosen so is compared with uniform and temporally extended actions in new trials,
because in the old ones the best of several looks better than it is. Trials with the same number
have the same environment seed, so that ways of exploring are compared in pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from easee._utils.checks import checked_count
from easee.envs.action_names import logger, match_actions
from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers.base import BaseExplorer
from easee.explorers.baselines import UniformExplorer, ZetaExplorer
from easee.explorers.easee import Explorer
from easee.graph import deepest_that_fits
from easee.policy import ExplorationPolicy, compile
from easee.priors.equivalences import Equivalences
from easee.probing.coverage import Coverage, VectorWorld, World, make_world
from easee.probing.probe import Progress
from easee.probing.state_keys import AnyState, label_of
from easee.probing.tuning import EXTENDED, LEVEL, UNIFORM, Interval, Measurement, Tuning

FIRST_TRIALS = 5  # of everything that is measured
FIRST_SHARE = 0.5  # of the budget, for the first trials
LAST_SHARE = 0.25  # of the budget, to compare the chosen depth with the other ways of exploring
LAST_TRIALS = 12  # for that, at least, unless the length of a trial is given
NEW = 1_000_000  # number of the first of these trials
LOOKS = 8  # times that losers are dropped, at most: the level of each test is divided by it
GROWTH = 1.4  # between two depths, and between the numbers of trials at two looks
MOST_DEPTH = 100  # by default, where episodes are longer
SIMILAR = 0.97  # a smaller depth that sees this share of the best one's states is as good
SATURATED = 0.9  # share of the states that the first half of the pilot's steps saw
NOVEL = 0.97  # share of the steps that led to a new state, above which counting says nothing
LEAST_TRIAL = 50  # steps
MAX_NODES = 100_000  # of a graph


def tune(
    env: Any,
    prior: Equivalences,
    *,
    depths: Iterable[int] | None = None,
    steps: int = 300_000,
    trial_steps: int | None = None,
    state: AnyState = None,
    names: Sequence[str] | None = None,
    seed: int = 0,
    max_nodes: int = MAX_NODES,
    progress: Progress | None = None,
) -> Tuning:
    """Measure how many states each depth of a prior sees in an environment.

    Compares the depths with each other, with uniform actions and with temporally extended ones
    (Dabney, Ostrovski and Barreto, 2021, mu = 2), and recommends the smallest depth that sees as
    many states as the best, or none if the other two see as many.

    Args:
        env: environment or vector environments with discrete actions. It is stepped and reset.
        prior: the prior. Its actions are matched to the environment's by name, or by position if
            the environment has no names, which a note and a warning of the logger "easee.names"
            say.
        depths: the depths to compare; by default about ten from 2 to the length of an episode, at
            most 100. Depths whose graphs have more than `max_nodes` nodes are replaced by the
            largest that fits.
        steps: number of steps in the environment, all trials together.
        trial_steps: number of steps in which states are counted. By default as many as the budget
            allows, or fewer if uniform actions soon see nothing new.
        state: function from the environment to something hashable that is counted, or
            "observation"; by default the whole state of a MiniGrid, and the observation elsewhere.
        names: names of the environment's actions, instead of its own.
        seed: random seed.
        max_nodes: largest number of nodes of a graph.
        progress: function called with the number of steps done and their total number.

    Raises:
        ArgumentError: the actions differ, the budget is too small, or nearly every step leads to a
            new state, so that counting states cannot tell explorers apart.

    >>> import gymnasium
    >>> from easee import priors
    >>> env = gymnasium.make("easee/CardinalGrid-v0")
    >>> result = tune(env, priors.get("cardinal-grid"), depths=[2, 30], steps=8000)
    >>> result.depth, result.policy.graph.depth
    (30, 30)
    """
    if not isinstance(prior, Equivalences):
        raise ArgumentTypeError(f"expected Equivalences, found {type(prior).__name__}")
    steps, seed = checked_count(steps, "steps"), checked_count(seed, "seed", least=0)
    if trial_steps is not None:
        trial_steps = checked_count(trial_steps, "trial_steps", least=LEAST_TRIAL)
    world = make_world(env, state, names)
    prior, notes = _in_order(prior, world)
    race = _Race(world, seed, steps, progress)
    pilot = race.run_pilot()
    wanted = _checked_depths(depths) if depths is not None else _default_depths(pilot.longest)
    policies, fit_notes = _policies(prior, wanted, checked_count(max_nodes, "max_nodes"))
    race.trial_steps = _trial_steps(pilot, steps, len(policies) + 2, trial_steps)
    race.add_arms(policies)
    race.run()
    _check_countable([arm.measurement() for arm in race.arms], race.trial_steps)
    chosen, best = _chosen_and_best([arm.measurement() for arm in race.arms])
    race.confirm(chosen)
    measurements = [arm.measurement() for arm in race.arms]
    depth, reason = _recommendation(measurements, chosen, best)
    notes += [_counting_note(world, race), *fit_notes]
    how = race.trial_steps, race.done, tuple(notes)
    return Tuning(prior, tuple(measurements), depth, reason, *how, policies)


def geometric_depths(low: int, high: int) -> list[int]:
    """Return depths from `low` to `high`, both included, each about 1.4 times the one before.

    >>> geometric_depths(2, 50)
    [2, 3, 4, 5, 7, 10, 14, 19, 26, 36, 50]
    """
    count = 1 + max(round(np.log(high / low) / np.log(GROWTH)), 1)
    return sorted({round(depth) for depth in np.geomspace(low, high, count)})


# --- preparing -----------------------------------------------------------------------------------


def _in_order(prior: Equivalences, world: World | VectorWorld) -> tuple[Equivalences, list[str]]:
    """Return the prior with its actions in the environment's order, and a note on the order."""
    if len(prior.actions) != world.n_actions:
        known = world.names or range(world.n_actions)
        raise ArgumentError(
            f"the prior's actions are not the environment's: the prior has {len(prior.actions)} "
            f"({', '.join(prior.actions)}), the environment {world.n_actions} "
            f"({', '.join(map(str, known))})"
        )
    numbers, note = match_actions(prior.actions, world.names, "the prior")
    if note is not None:
        logger.warning(note)
    order = [prior.actions[i] for i in np.argsort(numbers)]
    return Equivalences(order, [prior]), [] if note is None else [note]


def _checked_depths(depths: Iterable[int]) -> list[int]:
    if isinstance(depths, str) or not isinstance(depths, Iterable):
        raise ArgumentTypeError(f"expected depths as a list of whole numbers, found {depths!r}")
    checked = sorted({checked_count(depth, "depth") for depth in depths})
    if not checked:
        raise ArgumentError("expected at least one depth, found none")
    return checked


def _default_depths(longest_episode: int) -> list[int]:
    return geometric_depths(2, max(min(longest_episode or MOST_DEPTH, MOST_DEPTH), 3))


def _policies(
    prior: Equivalences, depths: list[int], max_nodes: int
) -> tuple[dict[int, ExplorationPolicy], list[str]]:
    """Compile the depths that fit, and the largest that fits instead of larger ones."""
    deepest = deepest_that_fits(prior, depths[-1], max_nodes=max_nodes)
    fitting = sorted({min(depth, deepest) for depth in depths})
    notes = []
    if deepest < depths[-1]:
        notes.append(
            f"depth {deepest} is the deepest whose graph has at most {max_nodes:,} nodes, so "
            "deeper ones were not tried"
        )
    return {depth: compile(prior, depth) for depth in fitting}, notes


def _trial_steps(pilot: Coverage, steps: int, arms: int, given: int | None) -> int:
    """Return the length of a trial: what the budget allows, or until uniform actions slow down."""
    left = steps - pilot.steps
    affordable = int(left * FIRST_SHARE / (arms * FIRST_TRIALS))
    needed = given or LEAST_TRIAL
    if affordable < needed:
        least = int(1.1 * needed * arms * FIRST_TRIALS / FIRST_SHARE)
        raise ArgumentError(
            f"{steps:,} steps are too few to measure {arms} ways of exploring in trials of "
            f"{needed:,} steps: expected at least {least:,} steps, or fewer depths"
        )
    if given is not None:
        return given
    affordable = max(min(affordable, int(left * LAST_SHARE / (3 * LAST_TRIALS))), LEAST_TRIAL)
    early = sum(step <= pilot.steps // 2 for step in pilot.first_steps)
    if early < SATURATED * len(pilot.first_steps):
        return affordable
    # Nearly everything was seen early: what matters is how fast.
    enough = pilot.first_steps[int(SATURATED * (len(pilot.first_steps) - 1))]
    return min(affordable, max(enough, pilot.longest, LEAST_TRIAL))


# --- measuring -----------------------------------------------------------------------------------


@dataclass
class _Arm:
    """One way of exploring, and its trials so far."""

    name: str
    make_explorer: Callable[[np.random.Generator], BaseExplorer]
    policy: ExplorationPolicy | None = None
    trials: dict[int, Coverage] = field(default_factory=dict)

    def measurement(self) -> Measurement:
        graph = None if self.policy is None else self.policy.graph
        covered = self.trials.values()
        states = np.array([len(trial.first_steps) for trial in covered], float)
        numbers = np.array(list(self.trials), np.int64)
        blocked = sum(t.blocked for t in covered) / max(sum(t.steps for t in covered), 1)
        depth, nodes = (None, None) if graph is None else (graph.depth, len(graph))
        return Measurement(self.name, depth, nodes, states, numbers, blocked)


@dataclass
class _Race:
    """Trials of all arms, within a budget of steps."""

    world: World | VectorWorld
    seed: int
    budget: int
    progress: Progress | None
    trial_steps: int = 0
    done: int = 0
    arms: list[_Arm] = field(default_factory=list)

    def run_pilot(self) -> Coverage:
        """Explore with uniform actions, to see how long episodes are and how many states."""
        arm = _Arm(UNIFORM, lambda rng: self._uniform(rng))
        return self._cover(arm, max(self.budget // 20, LEAST_TRIAL), 0)

    def add_arms(self, policies: dict[int, ExplorationPolicy]) -> None:
        """Enter uniform and temporally extended actions, and the policies."""
        k, n = self.world.n_actions, self.world.n_envs
        self.arms = [
            _Arm(UNIFORM, self._uniform),
            _Arm(EXTENDED, lambda rng: ZetaExplorer(k, n, rng, mu=2.0)),
        ]
        for depth, policy in policies.items():
            make = lambda rng, policy=policy: Explorer(policy, n, rng)  # noqa: E731
            self.arms.append(_Arm(f"depth {depth}", make, policy))

    def run(self) -> None:
        """Give every arm some trials, then more of them to those that may be the best."""
        racing = self.arms
        target = FIRST_TRIALS
        while True:
            left = self.budget * (1 - LAST_SHARE) - self.done
            affordable = int(left // (len(racing) * self.trial_steps))
            sweeps = min(target - len(racing[0].trials), affordable)
            for _ in range(max(sweeps, 0)):
                self._sweep(racing, 1 + len(racing[0].trials))
            if sweeps <= 0 or len(racing[0].trials) < target:
                break
            racing = self._contenders(racing)
            if len(racing) == 1 or all(arm.policy is None for arm in racing):
                break
            target = round(target * GROWTH)

    def confirm(self, chosen: Measurement) -> None:
        """Compare the chosen depth with uniform and temporally extended actions in new trials."""
        racing = [arm for arm in self.arms if arm.policy is None or arm.name == chosen.name]
        sweeps = (self.budget - self.done) // (len(racing) * self.trial_steps)
        for trial in range(max(sweeps, FIRST_TRIALS)):
            self._sweep(racing, NEW + trial)
        if self.progress is not None:
            self.progress(self.done, self.done)

    def _uniform(self, rng: np.random.Generator) -> BaseExplorer:
        return UniformExplorer(self.world.n_actions, self.world.n_envs, rng)

    def _sweep(self, racing: Sequence[_Arm], trial: int) -> None:
        """Give every arm the trial with this number."""
        for arm in racing:
            arm.trials[trial] = self._cover(arm, self.trial_steps, trial)

    def _cover(self, arm: _Arm, steps: int, trial: int) -> Coverage:
        rng = np.random.default_rng([self.seed, trial, *arm.name.encode()])
        env_seed = int(np.random.default_rng([self.seed, trial]).integers(2**31))
        coverage = self.world.cover(arm.make_explorer(rng), steps, env_seed)
        coverage.seen.clear()
        self.done += coverage.steps
        if self.progress is not None:
            self.progress(min(self.done, self.budget), self.budget)
        return coverage

    def _contenders(self, racing: Sequence[_Arm]) -> list[_Arm]:
        """Return the arms that are not confidently worse than the best."""
        measured = {arm.name: arm.measurement() for arm in racing}
        best = max(measured.values(), key=_log_mean)
        level = LEVEL / (len(self.arms) * LOOKS)
        return [arm for arm in racing if measured[arm.name].ratio(best, level)[2] >= 1.0]


def _log_mean(measurement: Measurement) -> float:
    return float(np.log(measurement.states).mean())


# --- concluding ----------------------------------------------------------------------------------


def _counting_note(world: World | VectorWorld, race: _Race) -> str:
    counts = [len(arm.trials) for arm in race.arms]
    trials = " to ".join(map(str, sorted({min(counts), max(counts)})))
    return (
        f"counted {label_of(world.state)} within {race.trial_steps:,} steps, in {trials} trials "
        "each; intervals are at 95%, and blocked is the share of steps that changed nothing"
    )


def _check_countable(measurements: Sequence[Measurement], steps: int) -> None:
    """Raise an error if nearly every step led to a new state, whatever explored."""
    if min(m.mean for m in measurements) > NOVEL * steps:
        raise ArgumentError(
            "nearly every step led to a new state, whichever way of exploring: counting states "
            "cannot tell them apart. Pass state=, a function that returns (or rounds) what matters"
        )


def _chosen_and_best(measurements: Sequence[Measurement]) -> tuple[Measurement, Measurement]:
    """Return the smallest depth that is as good as the best, and the best."""
    depths = [m for m in measurements if m.depth is not None]
    trials = max(len(m.states) for m in depths)
    last = [m for m in depths if len(m.states) == trials]  # the others were confidently worse
    best = max(last, key=_log_mean)
    return next(m for m in last if _as_good(m, best, LEVEL / len(last))), best


def _recommendation(
    measurements: Sequence[Measurement], chosen: Measurement, best: Measurement
) -> tuple[int | None, str]:
    """Return the recommended depth, or None, and the reason."""
    uniform, extended = measurements[:2]
    measured = next(m for m in measurements if m.depth == chosen.depth)
    ratios = {m.name: measured.ratio(m, since=NEW) for m in (uniform, extended)}
    if all(low > 1.0 for _, low, _ in ratios.values()):
        return chosen.depth, _reason(chosen, best, measurements, ratios)
    name = min(ratios, key=lambda rival: ratios[rival][0])
    value, low, high = ratios[name]
    if high < 1.0:
        return None, (
            f"No depth helps: {name} actions see {1 / value:.2f} times as many states as depth "
            f"{chosen.depth}, the best one."
        )
    return None, (
        f"No depth helps: depth {chosen.depth}, the best one, sees {value:.2f} [{low:.2f}, "
        f"{high:.2f}] times as many states as {name} actions, which are as good as far as these "
        "trials show. More steps would tell more."
    )


def _as_good(measurement: Measurement, best: Measurement, level: float) -> bool:
    """Return whether a measurement cannot be told from the best and is close to it."""
    if measurement is best:
        return True
    value, _, high = measurement.ratio(best, level)
    return high >= 1.0 and value >= SIMILAR


def _reason(
    chosen: Measurement,
    best: Measurement,
    measurements: Sequence[Measurement],
    ratios: Mapping[str, Interval],
) -> str:
    """Return why a depth is recommended, and what deeper ones do."""
    times = " and ".join(
        f"{value:.2f} [{low:.2f}, {high:.2f}] times {name} actions"
        for name, (value, low, high) in ratios.items()
    )
    sentences = [f"Depth {chosen.depth}: {times}."]
    if best is not chosen:
        sentences.append(
            "Depth {} sees {:.2f} [{:.2f}, {:.2f}] times as many, no clear gain from a larger "
            "graph.".format(best.depth, *best.ratio(chosen))
        )
    deeper = [m for m in measurements if m.depth is not None and m.depth > (best.depth or 0)]
    worst = min(deeper, key=_log_mean, default=best)
    value = worst.ratio(chosen)[0]
    if worst is best is chosen:
        sentences.append("It is the deepest that was tried.")
    elif value < SIMILAR:
        why = _why(worst, chosen)
        sentences.append(f"Depth {worst.depth} sees only {value:.2f} times as many{why}.")
    return " ".join(sentences)


def _why(deeper: Measurement, chosen: Measurement) -> str:
    if deeper.blocked > chosen.blocked + 0.02:
        return (
            f": {deeper.blocked:.0%} of its steps change nothing (at walls or limits), "
            f"{chosen.blocked:.0%} at depth {chosen.depth}"
        )
    return ""
