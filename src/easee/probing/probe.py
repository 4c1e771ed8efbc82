"""Environments that can be restored, to execute several words from the same state.

There are four methods, tried in this order: the environment's own clones (Atari games have them),
copies as bytes, deep copies, and replaying the same actions after a reset with the same seed. Where
copies take very long, replaying is tried before them. Copies share large members that never change;
a change is noticed, and then everything is copied.
"""

import copy
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from easee.envs.action_names import names_or_numbers
from easee.envs.atari import forget_last_action
from easee.envs.copying import Env, copied, reseed, without_checks, wrapper_state, wrappers
from easee.envs.saving import Saver
from easee.envs.static_members import StaticMembers
from easee.errors import ArgumentTypeError, EaseeError, ProbeError
from easee.probing.state_keys import ObservationFunction, StateOf, check_state, label_of, state_key

RENDER_MODES = ("rgb_array", "ansi")
SLOW_COPY = 0.005  # seconds; only then is it worth measuring whether replaying is faster
REPLAYED_STEPS = 100  # from which the speed of replaying is measured
CLEARLY = 4  # ratio of times, large enough for the same choice every time
Word = tuple[int, ...]
Progress = Callable[[int, int], None]


class BudgetSpent(Exception):
    """The next step would exceed the budget, in steps or in time."""

    def __init__(self, steps: int) -> None:
        super().__init__(steps)
        self.steps = steps  # taken so far


class StepError(ProbeError):
    """An environment raised an exception in `step`."""


class MemberChanged(Exception):
    """An environment changed a member that its copies share, so all of it must be copied."""

    def __init__(self, steps: int) -> None:
        super().__init__(steps)
        self.steps = steps  # taken so far


@dataclass(frozen=True)
class Limits:
    """When to stop: after a total number of steps, or at a time of `time.monotonic`."""

    steps: float = math.inf
    deadline: float = math.inf


@dataclass(frozen=True)
class Snapshot:
    """A state of an environment."""

    token: Any  # what the probe needs to restore the state
    key: Hashable  # what is compared: the state's key and whether the episode terminated
    observation: Any  # the last observation
    terminated: bool = False
    truncated: bool = False  # then what would have followed is unknown

    @property
    def ended(self) -> bool:
        """Whether the episode terminated or was truncated."""
        return self.terminated or self.truncated


NO_LIMITS = Limits()


class Probe(ABC):
    """An environment that executes words from snapshots and counts its steps."""

    method: str

    def __init__(self, env: Env, state: StateOf | ObservationFunction | None = None) -> None:
        self.env = env
        self.state = state
        self.compares = label_of(state)
        self.steps = 0
        self.limits = NO_LIMITS
        self.progress: Progress | None = None
        self.expected = 0  # forecast of the total number of steps
        self.n_actions = int(env.action_space.n)  # type: ignore[attr-defined]

    def reset(self, seed: int) -> Snapshot:
        """Start an episode."""
        observation, _ = self.env.reset(seed=seed)
        return replace(self._snapshot(self.env, observation), token=self._initial_token(seed))

    def after(self, start: Snapshot, word: Sequence[int], *, seed: int | None = None) -> Snapshot:
        """Return the last state of a walk."""
        return self.walk(start, word, seed=seed)[-1]

    def walk(
        self, start: Snapshot, word: Sequence[int], *, seed: int | None = None
    ) -> list[Snapshot]:
        """Return the states along a word, `start` included; only the last can be restored.

        Actions after the end of the episode are ignored. The environment's generators are restored
        as well, so that the outcome is always the same, or reseeded if there is a seed.
        """
        env = self._restore(start, seed)
        snapshots = [replace(start, token=None)]
        if not start.ended:
            snapshots += self.follow(env, word)
        self.report()
        taken = tuple(word[: len(snapshots) - 1])
        snapshots[-1] = replace(snapshots[-1], token=self._token(env, start, taken))
        return snapshots

    def follow(self, env: Env, word: Sequence[int]) -> Iterator[Snapshot]:
        """Step an environment, and yield its states along the way, which cannot be restored."""
        for action in word:
            observation, _, terminated, truncated, _ = self._step(env, action)
            snapshot = self._snapshot(env, observation, bool(terminated), bool(truncated))
            yield snapshot
            if snapshot.ended:
                break

    def report(self) -> None:
        """Report the steps taken and the forecast, which the limit may lower."""
        if self.progress is not None:
            self.progress(self.steps, int(max(min(self.expected, self.limits.steps), self.steps)))

    def picture(self, snapshot: Snapshot) -> Any:
        """Return the environment's rendering of a state, or None if it does not render."""
        if self.env.render_mode not in RENDER_MODES:
            return None
        return self._restore(snapshot, None).render()

    def _step(self, env: Env, action: int) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if self.steps >= self.limits.steps or time.monotonic() > self.limits.deadline:
            raise BudgetSpent(self.steps)
        self.steps += 1
        try:
            return env.step(action)
        except Exception as error:
            raise StepError(
                f"the environment raised {type(error).__name__} in step with action "
                f"{names_or_numbers(self.env)[action]!r}: {error}"
            ) from error

    @abstractmethod
    def _initial_token(self, seed: int) -> Any:
        """Return the token of the state just after a reset."""

    @abstractmethod
    def _restore(self, snapshot: Snapshot, seed: int | None) -> Env:
        """Return an environment in a given state, with new randomness if there is a seed."""

    @abstractmethod
    def _token(self, env: Env, start: Snapshot, taken: Word) -> Any:
        """Return the token of an environment's state, some actions after `start`."""

    def _snapshot(
        self, env: Env, observation: Any, terminated: bool = False, truncated: bool = False
    ) -> Snapshot:
        key = state_key(env, observation, self.state), terminated
        # Some environments return the same array at each step and change it in place.
        is_array = isinstance(observation, np.ndarray)
        observation = np.copy(observation) if is_array else copy.deepcopy(observation)
        return Snapshot(None, key, observation, terminated, truncated)


class CopyingProbe(Probe):
    """A probe whose tokens are deep copies of the environment, which share its static members."""

    method = "deep copies of the environment"

    def __init__(
        self, env: Env, state: StateOf | ObservationFunction | None = None, *, share: bool = True
    ) -> None:
        super().__init__(env, state)
        self._static = StaticMembers(env) if share else None

    def reset(self, seed: int) -> Snapshot:
        """Start an episode."""
        snapshot = super().reset(seed)
        self._check_static()
        return snapshot

    def walk(
        self, start: Snapshot, word: Sequence[int], *, seed: int | None = None
    ) -> list[Snapshot]:
        """Return the states along a word; raise MemberChanged if it changed a shared member."""
        walk = super().walk(start, word, seed=seed)
        self._check_static()
        return walk

    def _check_static(self) -> None:
        if self._static is not None and self._static.changed():
            raise MemberChanged(self.steps)

    def _initial_token(self, seed: int) -> Any:
        return self._copied(self.env)

    def _restore(self, snapshot: Snapshot, seed: int | None) -> Env:
        env = self._copied(snapshot.token)
        if seed is not None:
            reseed(env, seed)
        return env

    def _token(self, env: Env, start: Snapshot, taken: Word) -> Any:
        return env

    def _copied(self, env: Any) -> Env:
        return copied(env, self._static.containers if self._static is not None else ())


class SavingProbe(CopyingProbe):
    """A probe whose tokens are environments that are saved as bytes when they are first needed."""

    method = "copies of the environment"

    def __init__(
        self, env: Env, state: StateOf | ObservationFunction | None = None, *, share: bool = True
    ) -> None:
        super().__init__(env, state, share=share)
        self._saver = Saver(env, self._static)

    def _initial_token(self, seed: int) -> Any:
        return _Saved(data=self._saver.save(self.env))

    def _token(self, env: Env, start: Snapshot, taken: Word) -> Any:
        return _Saved(env)

    def _copied(self, env: Any) -> Env:
        if env.data is None:
            env.data, env.env = self._saver.save(env.env), None
        return self._saver.restore(env.data)


@dataclass
class _Saved:
    """An environment, or the bytes that it was saved as."""

    env: Env | None = None
    data: bytes | None = None


class CloningProbe(Probe):
    """A probe whose tokens are the environment's own clones and copies of its wrappers' state."""

    method = "the environment's own clones"

    def _initial_token(self, seed: int) -> Any:
        world: Any = self.env.unwrapped
        # Without the emulator's generator, for new randomness, and with it.
        states = [world.clone_state(include_rng=rng) for rng in (False, True)]
        memories = [wrapper_state(wrapper) for wrapper in wrappers(self.env)]
        # Rendered now, because restoring a state does not redraw the screen.
        picture = self.env.render() if self.env.render_mode in RENDER_MODES else None
        return states, memories, copy.deepcopy(world.np_random), picture

    def _restore(self, snapshot: Snapshot, seed: int | None) -> Env:
        states, memories, random, _ = snapshot.token
        world: Any = self.env.unwrapped
        forget_last_action(world)
        world.restore_state(states[seed is None])
        world.np_random = copy.deepcopy(random) if seed is None else np.random.default_rng(seed)
        for wrapper, memory in zip(wrappers(self.env), memories, strict=True):
            wrapper.__dict__.update(copy.deepcopy(memory))
        return self.env

    def picture(self, snapshot: Snapshot) -> Any:
        """Return the picture that was rendered when the snapshot was taken, or None."""
        return snapshot.token[-1]

    def _token(self, env: Env, start: Snapshot, taken: Word) -> Any:
        # Without a step the screen would show another state.
        return self._initial_token(0) if taken else start.token


class ReplayingProbe(Probe):
    """A probe whose tokens are a seed and the actions since, with the seeds of new randomness."""

    method = "replaying the same actions after a reset with the same seed"

    def _initial_token(self, seed: int) -> Any:
        return seed, ()

    def _restore(self, snapshot: Snapshot, seed: int | None) -> Env:
        reset_seed, parts = snapshot.token
        self.env.reset(seed=reset_seed)
        for part_seed, actions in parts:
            self._reseed(part_seed)
            for action in actions:
                self._step(self.env, action)
        self._reseed(seed)
        return self.env

    def _reseed(self, seed: int | None) -> None:
        self._part_seed = seed
        if seed is not None:
            reseed(self.env, seed)

    def _token(self, env: Env, start: Snapshot, taken: Word) -> Any:
        reset_seed, parts = start.token
        return reset_seed, (*parts, (self._part_seed, taken))


def check_env(env: Env) -> None:
    """Raise an ArgumentTypeError unless an environment's actions are discrete, from 0 on."""
    if not isinstance(env, gym.Env):
        raise ArgumentTypeError(f"expected a Gymnasium environment, found {type(env).__name__}")
    if not isinstance(env.action_space, gym.spaces.Discrete) or env.action_space.start != 0:
        raise ArgumentTypeError(
            f"expected actions Discrete(n) from 0 on, found {env.action_space}: wrap MultiDiscrete "
            "actions in easee.envs.FlatActions"
        )


def make_probe(
    env: Env,
    state: StateOf | ObservationFunction | None = None,
    *,
    seed: int = 0,
    limits: Limits = NO_LIMITS,
    share: bool = True,
    steps: int = 0,
) -> Probe:
    """Return a probe with the first method that works, tested by a few random actions.

    Args:
        env: environment with discrete actions.
        state: what is compared; observations by default.
        seed: random seed of the tests.
        limits: when to stop.
        share: whether copies share large members of plain data.
        steps: number of steps that were taken before.

    Raises:
        ArgumentTypeError: the actions are not discrete.
        ProbeError: none of the methods works, or the environment raises an exception in `step`.
        BudgetSpent: the limits are too small for the tests.
    """
    check_env(env)
    env = without_checks(env)
    if state is not None:
        check_state(env, state, seed)
    try:
        probe = _first_working(_kinds(env, share), env, state, seed, steps, limits)
    except MemberChanged as error:
        probe = _first_working(_kinds(env, False), env, state, seed, error.steps, limits)
    if isinstance(probe, CopyingProbe) and _restoring_seconds(probe, 0, seed) > SLOW_COPY:
        return _faster(probe, seed)
    return probe


Kind = Callable[[Env, StateOf | ObservationFunction | None], Probe]


def _kinds(env: Env, share: bool) -> list[Kind]:
    """Return the kinds of probes in the order in which they are tried."""
    kinds: list[Kind] = [
        partial(SavingProbe, share=share),
        partial(CopyingProbe, share=share),
        ReplayingProbe,
    ]
    if hasattr(env.unwrapped, "clone_state") and hasattr(env.unwrapped, "restore_state"):
        kinds.insert(0, CloningProbe)
    return kinds


def _first_working(
    kinds: Sequence[Kind],
    env: Env,
    state: StateOf | ObservationFunction | None,
    seed: int,
    steps: int,
    limits: Limits,
) -> Probe:
    """Return a probe of the first kind that restores states; `steps` were taken before."""
    reasons = []
    for kind in kinds:
        probe = kind(env, state)
        probe.steps, probe.limits = steps, limits
        try:
            _check_restores(probe, seed)
        except StepError as error:
            # A copy may fail where the environment itself does not; replaying is the last method.
            if kind is kinds[-1]:
                raise
            reason: Exception = error
        except (EaseeError, BudgetSpent, MemberChanged):
            raise
        except Exception as error:
            reason = error
        else:
            return probe
        reasons.append(f"{probe.method}: {type(reason).__name__}: {reason}")
        steps = probe.steps
    raise ProbeError("this environment cannot be saved and restored. Tried " + "; ".join(reasons))


def _faster(probe: CopyingProbe, seed: int) -> Probe:
    """Return a probe that replays, if that works and is clearly faster than slow copies."""
    try:
        other = _first_working(
            [ReplayingProbe], probe.env, probe.state, seed, probe.steps, probe.limits
        )
    except ProbeError:
        return probe
    replaying = _restoring_seconds(other, REPLAYED_STEPS, seed)
    copying = _restoring_seconds(probe, REPLAYED_STEPS, seed)
    probe.steps = other.steps = max(probe.steps, other.steps)
    return other if CLEARLY * replaying < copying else probe


def _restoring_seconds(probe: Probe, steps: int, seed: int) -> float:
    """Measure how long it takes to restore a state some random steps after a reset."""
    word = np.random.default_rng(seed).integers(probe.n_actions, size=steps).tolist()
    snapshot = probe.after(probe.reset(seed), word)
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        probe.after(snapshot, ())
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _check_restores(probe: Probe, seed: int) -> None:
    """Step the environment itself, restore its state, and check that the same actions repeat.

    All states along the way are compared: a copy that shares state with the original, for example
    through a closure, may agree with it in the end.
    """
    rng = np.random.default_rng(seed)
    snapshot = probe.reset(seed)
    for _ in range(3):
        word = rng.integers(probe.n_actions, size=4).tolist()
        original = [state.key for state in probe.follow(probe.env, word)]
        restored = probe.walk(snapshot, word)
        if original != [state.key for state in restored[1:]]:
            raise ValueError("the same actions from the same state had different outcomes")
        snapshot = probe.reset(seed) if restored[-1].ended else restored[-1]
