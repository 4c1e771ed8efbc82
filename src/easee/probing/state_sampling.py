"""Sampling of the states to compare words in: from random rollouts, and near rare effects.

Some actions change nothing in most states: picking up a key works in one state out of thousands. In
states of random rollouts alone, they would look equivalent to doing nothing. So rollouts also
continue from rarely visited states, and a share of the states is sampled around rare effects, where
an action that usually changes nothing changed something: all states that the other actions reach
within a few steps, so that short words reach the effect from all directions.

A wall is not a rare effect, because it stops an action that usually changes something. States at
walls are sampled only as often as random rollouts visit them.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from easee.probing.probe import Probe, Snapshot

SNAPSHOT_EVERY = 25  # steps of a rollout between two snapshots
MAX_ROLLOUT = 500  # steps of a rollout before the next reset
NEIGHBOURHOOD = 150  # states around a rare effect, the nearest first
EFFECTS = 2  # rare effects of each action whose neighbourhoods are visited
RARE = 0.5  # an action's effects are rare if it has one in less than this share of its uses


@dataclass(frozen=True)
class Transition:
    """A step of a rollout: the last snapshot, the actions since, the action, and its effect."""

    snapshot: Snapshot
    since: tuple[int, ...]
    action: int
    changed: bool


@dataclass(frozen=True)
class StateSample:
    """The sampled states."""

    states: list[Snapshot]  # those near rare effects first
    eventful: int  # number of states near rare effects
    rare: frozenset[int]  # actions with rare effects
    near: list[Snapshot]  # all visited states near rare effects
    centres: list[Snapshot]  # states of rare effects, the first of each action first
    new: float  # share of the rollout steps from resets that led to a new key
    steps: int  # number of rollout steps
    first_effects: list[list[int]]  # per episode, the actions in the order of their first effects
    uses: list[tuple[int, int]]  # per action, its uses and its effects in rollouts from resets

    def states_with_effects(self) -> list[Snapshot]:
        """Return the states, with `centres` instead of some others near rare effects."""
        return [*self.centres, *self.states][: self.eventful] + self.states[self.eventful :]

    def precedes(self, a: int, b: int) -> bool:
        """Return whether the first effect of action a usually comes before that of action b."""
        before = after = 0
        for order in self.first_effects:
            first = next((action for action in order if action in (a, b)), None)
            before, after = before + (first == a), after + (first == b)
        return before > after


def sample_states(
    probe: Probe, count: int, *, seed: int, rollout: int, eventful: float = 0.5
) -> StateSample:
    """Sample states from `rollout` random steps, if possible a share of them near rare effects."""
    rng = np.random.default_rng(seed)
    rollouts = _Rollouts(probe, rng)
    episodes = rollouts.from_resets(max(rollout // 2, 1) if eventful else rollout)
    ordinary = [transition for episode in episodes for transition in episode]
    new = len(rollouts.counts) / len(ordinary)
    searched = rollouts.from_rare_states(rollout // 2) if eventful else []
    effects = _rare_effects([*ordinary, *searched], probe.n_actions)
    centres = _centres(probe, effects, rng) if eventful else {}
    near = _near(probe, centres, rng)
    states = near[: round(eventful * count)]
    n_eventful = len(states)
    for i in rng.permutation(len(ordinary))[: count - n_eventful]:
        states.append(probe.after(ordinary[i].snapshot, ordinary[i].since))
    steps = len(ordinary) + len(searched)
    first_effects = [list(dict.fromkeys(t.action for t in e if t.changed)) for e in episodes]
    uses = [(0, 0)] * probe.n_actions
    for t in ordinary:
        uses[t.action] = uses[t.action][0] + 1, uses[t.action][1] + t.changed
    in_turn = [some[i] for i in range(EFFECTS) for some in centres.values() if i < len(some)]
    rare = frozenset(effects)
    return StateSample(states, n_eventful, rare, near, in_turn, new, steps, first_effects, uses)


class _Rollouts:
    """Random walks that count how often each key was visited."""

    def __init__(self, probe: Probe, rng: np.random.Generator) -> None:
        self.probe = probe
        self.rng = rng
        self.counts: Counter[Hashable] = Counter()
        self.snapshots: list[Snapshot] = []

    def from_resets(self, steps: int) -> list[list[Transition]]:
        """Walk through episodes from their start; return the transitions of each."""
        episodes: list[list[Transition]] = []
        while steps > 0:
            snapshot = self.probe.reset(int(self.rng.integers(2**31)))
            episodes.append([])
            for _ in range(MAX_ROLLOUT // SNAPSHOT_EVERY):
                walked, snapshot = self._walk(snapshot)
                episodes[-1] += walked
                steps -= len(walked)
                if snapshot.ended or steps <= 0:
                    break
        return episodes

    def from_rare_states(self, steps: int) -> list[Transition]:
        """Continue from the snapshots whose keys were visited least often."""
        transitions: list[Transition] = []
        while len(transitions) < steps and self.snapshots:
            start = min(self.snapshots, key=lambda snapshot: self.counts[snapshot.key])
            self.counts[start.key] += 1  # so that another snapshot is chosen next
            transitions += self._walk(start)[0]
        return transitions

    def _walk(self, start: Snapshot) -> tuple[list[Transition], Snapshot]:
        word = self.rng.integers(self.probe.n_actions, size=SNAPSHOT_EVERY).tolist()
        walk = self.probe.walk(start, word)
        self.counts.update(snapshot.key for snapshot in walk)
        if not walk[-1].ended:
            self.snapshots.append(walk[-1])
        transitions = [
            Transition(start, tuple(word[:i]), word[i], walk[i].key != walk[i + 1].key)
            for i in range(len(walk) - 1)
        ]
        return transitions, walk[-1]


def _rare_effects(transitions: list[Transition], n_actions: int) -> dict[int, list[Transition]]:
    """Return by action the transitions that are rare effects."""
    uses: list[list[Transition]] = [[] for _ in range(n_actions)]
    for transition in transitions:
        uses[transition.action].append(transition)
    effects = {a: [t for t in used if t.changed] for a, used in enumerate(uses)}
    return {a: some for a, some in effects.items() if 0 < len(some) < RARE * len(uses[a])}


def _centres(
    probe: Probe, effects: dict[int, list[Transition]], rng: np.random.Generator
) -> dict[int, list[Snapshot]]:
    """Return by action the states of some of its rare effects."""
    return {
        action: [
            probe.after(some[i].snapshot, some[i].since)
            for i in rng.permutation(len(some))[:EFFECTS]
        ]
        for action, some in effects.items()
    }


def _near(
    probe: Probe, centres: dict[int, list[Snapshot]], rng: np.random.Generator
) -> list[Snapshot]:
    """Return the states around rare effects, in random order."""
    others = [a for a in range(probe.n_actions) if a not in centres]
    states = [
        state
        for of_action in centres.values()
        for centre in of_action
        for state in _neighbourhood(probe, centre, others)
    ]
    return [states[i] for i in rng.permutation(len(states))]


def _neighbourhood(probe: Probe, centre: Snapshot, actions: list[int]) -> list[Snapshot]:
    """Return the distinct states that some actions reach from a state, breadth-first."""
    states, keys = [centre], {centre.key}
    for state in states:  # grows during the loop
        for action in actions:
            neighbour = probe.after(state, (action,))
            if neighbour.key not in keys and not neighbour.ended:
                keys.add(neighbour.key)
                states.append(neighbour)
        if len(states) >= NEIGHBOURHOOD:
            break
    return states
