"""Exploring with a policy: one node per environment, moved by whatever action is taken.

This is Section 4.3 of the paper. `rivals` has other explorers behind the same interface.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorer_base import (
    Actions,
    BaseExplorer,
    Mask,
    Seed,
    checked_share,
    cumulative_rows,
    draw,
    draw_masked,
)
from easee.policy import ExplorationPolicy
from easee.walker import Walker


class Explorer(BaseExplorer):
    """Follows an exploration policy in every environment.

    Each environment has a node, the class of the actions taken since the last reset. It is set
    back to the empty word after `depth` actions, at the end of an episode, and at a dead end.
    Every action moves it, also greedy ones along edges that the policy never takes.

    Args:
        policy: what to follow.
        n_envs: how many environments.
        seed: an int, a `numpy.random.Generator`, or None for a fresh one.
        floor: the weight of the uniform policy mixed in, for agents that need every action
            everywhere. 0 as in the paper.

    >>> from easee.equivalences import inverse
    >>> from easee.policy import compile
    >>> explorer = Explorer(compile(inverse("left", "right"), depth=4), n_envs=2, seed=0)
    >>> explorer.step([0, 1], [False, False])
    >>> explorer.sample()  # nobody turns back
    array([0, 1])
    """

    def __init__(
        self,
        policy: ExplorationPolicy,
        n_envs: int = 1,
        seed: Seed = None,
        floor: float = 0.0,
    ) -> None:
        if not isinstance(policy, ExplorationPolicy):
            raise ArgumentTypeError(f"expected an ExplorationPolicy, found {type(policy).__name__}")
        super().__init__(len(policy.graph.actions), n_envs, seed)
        self.policy = policy
        self.floor = checked_share(floor, "floor")
        graph = policy.graph
        table = (1.0 - self.floor) * policy.probabilities
        table[~graph.ends] += self.floor / self.n_actions
        self._probabilities = table
        self._cumulative = cumulative_rows(table)
        # -1: the node is an end, so the next action starts from the empty word.
        reached = graph.successors >= 0
        self._next = np.where(reached & ~graph.ends[graph.successors], graph.successors, -1)
        self._nodes = np.zeros(self.n_envs, np.int64)
        self._lengths = np.zeros(self.n_envs, np.int64)
        self._walker = (
            Walker(self._cumulative, self._next, graph.depth, self.rng) if n_envs == 1 else None
        )

    @cached_property
    def _fingerprint(self) -> str:
        """What tells one policy from another."""
        digest = hashlib.sha256(repr(self.policy.graph.actions).encode())
        for array in (self._next, self._probabilities):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:32]

    @property
    def nodes(self) -> NDArray[np.int64]:
        """The node of every environment, int (n_envs,); 0 is the empty word."""
        return self._nodes.copy() if self._walker is None else np.array([self._walker.node])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many actions every environment has taken since its last reset, int (n_envs,)."""
        return self._lengths.copy() if self._walker is None else np.array([self._walker.length])

    def sample(self, mask: ArrayLike | None = None) -> Actions:
        """Return an exploratory action for every environment; see `BaseExplorer.sample`."""
        if self._walker is None or mask is not None:
            return super().sample(mask)
        return np.array([self._walker.sample()])

    def choose(
        self, greedy: ArrayLike, epsilon: float | ArrayLike, mask: ArrayLike | None = None
    ) -> Actions:
        """Return epsilon-greedy actions; see `BaseExplorer.choose`."""
        walker = self._walker
        if walker is None or mask is not None or type(epsilon) is not float:
            return super().choose(greedy, epsilon, mask)
        action = self._single_action(greedy)
        if not 0.0 <= epsilon <= 1.0:
            self._checked_epsilon(epsilon)
        if walker.uniform() < epsilon:
            action = walker.sample()
        return np.array([action])

    def step(self, actions: ArrayLike, dones: ArrayLike | None = None) -> None:
        """Report the actions that were taken; see `BaseExplorer.step`."""
        if self._walker is None:
            super().step(actions, dones)
        else:
            self._walker.step(self._single_action(actions), self._single_done(dones))

    def _single_action(self, actions: ArrayLike) -> int:
        """Check the action of the only environment, quickly where it is as expected."""
        if type(actions) is np.ndarray and actions.size == 1:
            action = actions.item()
            if type(action) is int and 0 <= action < self.n_actions:
                return action
        return int(self._checked_actions(actions)[0])

    def _single_done(self, dones: ArrayLike | None) -> bool:
        if dones is None:
            return False
        if type(dones) is np.ndarray and dones.size == 1:
            done = dones.item()
            if type(done) is bool:
                return done
        return bool(self._checked_dones(dones)[0])

    def _uniforms(self) -> NDArray[np.float64]:
        if self._walker is None:
            return super()._uniforms()
        return np.array([self._walker.uniform()])

    def _explore(self, mask: Mask | None) -> Actions:
        nodes, uniforms = self.nodes, self._uniforms()
        if mask is None:
            return draw(self._cumulative.take(nodes, axis=0), uniforms)
        return draw_masked(self._probabilities[nodes], mask, uniforms)

    def _advance(self, actions: Actions, dones: Mask) -> None:
        nodes = self._next.ravel().take(self._nodes * self.n_actions + actions)
        lengths = self._lengths + 1
        start = (nodes < 0) | (lengths >= self.policy.graph.depth) | dones
        self._nodes = np.where(start, 0, nodes)
        self._lengths = np.where(start, 0, lengths)

    def reset(self, which: ArrayLike | None = None) -> None:
        """Go back to the empty word, in all environments or in those of a bool mask (n_envs,)."""
        flags = np.ones(self.n_envs, bool) if which is None else self._checked_flags(which, "which")
        self._place(np.where(flags, 0, self.nodes), np.where(flags, 0, self.lengths))

    def _place(self, nodes: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
        if self._walker is None:
            self._nodes, self._lengths = nodes, lengths
        else:
            self._walker.node, self._walker.length = int(nodes[0]), int(lengths[0])

    def state_dict(self) -> dict[str, Any]:
        """Return everything needed to go on exactly where this explorer is."""
        return super().state_dict() | {
            "policy": self._fingerprint,
            "nodes": self.nodes,
            "lengths": self.lengths,
            "uniforms": list(self._walker.uniforms) if self._walker is not None else [],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a `state_dict` of an explorer of the same policy."""
        nodes = np.asarray(state.get("nodes", ()) if isinstance(state, dict) else ())
        if nodes.size and not (0 <= nodes.min() and nodes.max() < len(self.policy.graph)):
            raise ArgumentError(f"this state is damaged: no such nodes: {nodes.tolist()}")
        super().load_state_dict(state)
        self._place(nodes.astype(np.int64), np.array(state["lengths"], np.int64))
        if self._walker is not None:
            self._walker.uniforms = list(state["uniforms"])
