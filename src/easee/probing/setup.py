"""The setup that `verify` and `discover` share: a probe, states to try words in, and notes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from easee._utils.checks import checked_count, checked_share
from easee._utils.timing import timed
from easee.envs.copying import Env
from easee.errors import ArgumentError
from easee.probing.probe import NO_LIMITS, Limits, Probe, Progress, make_probe
from easee.probing.significance import is_random
from easee.probing.state_functions import resolve_state
from easee.probing.state_keys import AnyState
from easee.probing.state_sampling import StateSample, sample_states
from easee.probing.step_counters import check_counters

# Random steps to find the effects of actions that usually do nothing, some of which work in one
# state out of thousands.
SEARCH_ROLLOUT = 100_000


@dataclass(frozen=True)
class Setup:
    """A probe, the sampled states, a generator, and whether the environment is random."""

    probe: Probe
    sample: StateSample
    rng: np.random.Generator
    random: bool

    def notes(self, names: Sequence[str]) -> list[str]:
        """Return sentences that describe what is compared, how, and in which states.

        `names` are those of the actions.
        """
        sample = self.sample
        special = "found no action that has an effect in some states but not in most"
        if sample.near:
            rare = ", ".join(names[action] for action in sorted(sample.rare))
            special = (
                f"sampled {sample.eventful} of {len(sample.near)} states near effects of {rare}"
            )
        ordinary = len(sample.states) - sample.eventful
        return [
            f"compared {self.probe.compares}",
            f"restored states by {self.probe.method}",
            f"sampled {ordinary} states from {sample.steps:,} random steps",
            special,
        ]


def set_up(
    env: Env,
    states: int,
    state: AnyState,
    seed: int,
    eventful: float,
    rollout: int,
    *,
    stream: int = 1,
    limits: Limits = NO_LIMITS,
    compares_lengths: bool = True,
    progress: Progress | None = None,
    share: bool = True,
    steps: int = 0,
) -> Setup:
    """Make a probe, sample states and test whether the environment is random.

    Most arguments are those of `verify` and `discover`. `stream` distinguishes the generators of
    the two, and `compares_lengths` is whether words of different lengths are compared, so that
    observations must not count steps. `share` and `steps` are those of `make_probe`.
    """
    function = resolve_state(env, state)
    probe = make_probe(env, function, seed=seed, limits=limits, share=share, steps=steps)
    probe.progress, probe.expected = progress, probe.steps + 2 * rollout
    _check_episodes(probe)
    rng = np.random.default_rng([seed, stream])
    if compares_lengths:
        check_counters(probe, rng)
    with timed("sampling states"):
        sample = sample_states(probe, states, seed=seed, rollout=rollout, eventful=eventful)
    return Setup(probe, sample, rng, is_random(probe, sample.states, rng))


def checked_rollout(
    states: int, eventful: float, seed: int, rollout: int | None, least: int, most: float = math.inf
) -> int:
    """Check the arguments of the sample; return the number of random steps or its default.

    That is 100 per state, but at least `least` and at most `most`.
    """
    checked_count(seed, "seed", least=0)
    checked_count(states, "states")
    checked_share(eventful, "eventful")
    if rollout is None:
        rollout = max(int(min(most, max(100 * states, least))), 1)
    return checked_count(rollout, "rollout")


def _check_episodes(probe: Probe) -> None:
    """Raise an ArgumentError if the first step always truncates the episode."""
    starts = map(probe.reset, range(3))
    if all(probe.after(s, (a,)).truncated for s in starts for a in range(probe.n_actions)):
        raise ArgumentError(
            "every episode was truncated at its first step: episodes are too short to compare "
            "words. Give the environment a longer time limit"
        )
