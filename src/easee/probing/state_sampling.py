"""Choosing the states to try words in: as random actions meet them, and near rare effects.

Some actions do nothing in most states: a key is picked up in one of thousands. Words compared only
in ordinary states would all treat such an action as nothing. So rollouts also search, by going on
from places that were seldom seen, and a share of the states is chosen near where an action that
usually changes nothing changed something: around such a place everything is visited that the other
actions reach within a few steps, so that a short word meets the effect from every side.

(That forward usually moves and a wall stops it is not such a case: there an action fails to do what
it usually does. Walls stay as rare as they are.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from easee._utils.checks import checked_count, checked_share
from easee.probing.probe import Place, Probe

SNAPSHOT_EVERY = 25  # steps of a rollout between two places that are kept
LONGEST = 500  # steps of a rollout, where episodes are longer
BALL = 150  # places around a rare effect, the nearest first
BALLS = 2  # rare effects of an action that places are visited around
RARE = 0.5  # of an action's uses: below this its effects are rare


@dataclass(frozen=True)
class Moment:
    """A step of a rollout: the place kept before it, the actions since, and what it did."""

    kept: Place
    since: tuple[int, ...]
    action: int
    changed: bool


@dataclass(frozen=True)
class Sample:
    """The states that were chosen, and how.

    Attributes:
        places: the states.
        eventful: how many of them, the first ones, were chosen near rare effects.
        rare: the actions that have an effect in some states but not in most.
        near: all places around rare effects, of which the eventful states are some.
        new: the share of the steps from resets on that met another key than all before.
        seen: how many steps all rollouts took.
    """

    places: list[Place]
    eventful: int
    rare: frozenset[int]
    near: list[Place]
    new: float
    seen: int


def sample(
    probe: Probe, count: int, *, seed: int, eventful: float = 0.5, rollout: int | None = None
) -> Sample:
    """Choose states that random actions reach.

    Args:
        probe: of the environment.
        count: how many states.
        seed: of everything that is random.
        eventful: the share of them chosen near rare effects, if there are any.
        rollout: the steps of all rollouts; by default 100 for each state and at least 10,000.
    """
    checked_count(count, "states")
    checked_share(eventful, "eventful")
    steps = max(100 * count, 10_000) if rollout is None else checked_count(rollout, "rollout")
    rng = np.random.default_rng(seed)
    rolling = _Rollouts(probe, rng)
    plain = rolling.from_resets(max(steps // 2, 1) if eventful else steps)
    new = len(rolling.counts) / len(plain)
    searched = rolling.from_seldom_seen(steps // 2) if eventful else []
    events = _rare_effects([*plain, *searched], probe.n_actions)
    near = _near(probe, events, rng) if eventful and events else []
    places = near[: round(eventful * count)]
    special = len(places)
    for i in rng.permutation(len(plain))[: count - special]:
        places.append(probe.after(plain[i].kept, plain[i].since))
    seen = len(plain) + len(searched)
    return Sample(places, special, frozenset(events), near, new, seen)


def describe(found: Sample, names: Sequence[str]) -> list[str]:
    """Say how states were chosen, in sentences."""
    plain = len(found.places) - found.eventful
    notes = [f"chose {plain} states as random actions met them, of {found.seen:,} random steps"]
    if found.near:
        rare = ", ".join(names[action] for action in sorted(found.rare))
        notes.append(f"chose {found.eventful} of {len(found.near)} states near effects of {rare}")
    else:
        notes.append("saw no action that has an effect in some states but not in most")
    return notes


class _Rollouts:
    """Random walks that remember how often every key was seen."""

    def __init__(self, probe: Probe, rng: np.random.Generator) -> None:
        self.probe = probe
        self.rng = rng
        self.counts: Counter[Hashable] = Counter()
        self.kept: list[Place] = []

    def from_resets(self, steps: int) -> list[Moment]:
        """Walk through episodes."""
        found: list[Moment] = []
        while len(found) < steps:
            place = self.probe.reset(int(self.rng.integers(2**31)))
            for _ in range(LONGEST // SNAPSHOT_EVERY):
                moments, place = self._walk(place)
                found += moments
                if place.terminated or place.truncated or len(found) >= steps:
                    break
        return found

    def from_seldom_seen(self, steps: int) -> list[Moment]:
        """Walk on from kept places with the rarest keys."""
        found: list[Moment] = []
        while len(found) < steps and self.kept:
            start = min(self.kept, key=lambda place: self.counts[place.key])
            self.counts[start.key] += 1  # not the same one again and again
            found += self._walk(start)[0]
        return found

    def _walk(self, place: Place) -> tuple[list[Moment], Place]:
        word = self.rng.integers(self.probe.n_actions, size=SNAPSHOT_EVERY).tolist()
        places = self.probe.walk(place, word)
        self.counts.update(p.key for p in places)
        end = places[-1]
        if not (end.terminated or end.truncated):
            self.kept.append(end)
        moments = [
            Moment(place, tuple(word[:i]), word[i], places[i].key != places[i + 1].key)
            for i in range(len(places) - 1)
        ]
        return moments, end


def _rare_effects(moments: list[Moment], n_actions: int) -> dict[int, list[Moment]]:
    """Return the moments at which actions that usually change nothing changed something."""
    uses: list[list[Moment]] = [[] for _ in range(n_actions)]
    for moment in moments:
        uses[moment.action].append(moment)
    effects = {a: [m for m in found if m.changed] for a, found in enumerate(uses)}
    return {a: found for a, found in effects.items() if 0 < len(found) < RARE * len(uses[a])}


def _near(probe: Probe, events: dict[int, list[Moment]], rng: np.random.Generator) -> list[Place]:
    """Return the places around some rare effects of every action."""
    found: list[Place] = []
    others = [a for a in range(probe.n_actions) if a not in events]
    for moments in events.values():
        for i in rng.permutation(len(moments))[:BALLS]:
            found += _ball(probe, probe.after(moments[i].kept, moments[i].since), others)
    return [found[i] for i in rng.permutation(len(found))]


def _ball(probe: Probe, centre: Place, actions: list[int]) -> list[Place]:
    """Return the places that some actions reach from a place, breadth-first, each once."""
    found, keys = [centre], {centre.key}
    for place in found:  # grows while it is gone through
        for action in actions:
            there = probe.after(place, (action,))
            if there.key not in keys and not (there.terminated or there.truncated):
                keys.add(there.key)
                found.append(there)
        if len(found) >= BALL:
            break
    return found
