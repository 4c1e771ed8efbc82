"""Exploring with a policy: one node per environment, moved by whatever action is taken.

This is Section 4.3 of the paper. `baselines` has other explorers behind the same interface.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from easee._utils.checks import checked_share
from easee.errors import ArgumentError, ArgumentTypeError
from easee.explorers.base import BaseExplorer, Seed
from easee.explorers.sampling import Actions, Mask, cumulative_rows, draw, draw_masked
from easee.explorers.scalar import make_walkers
from easee.policy import ExplorationPolicy


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

    >>> from easee.priors.builders import inverse
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
        self._walkers = make_walkers(
            self._cumulative, self._next, graph.depth, self.n_envs if self._few else 0
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
        if self._few:
            return np.array([walker.node for walker in self._walkers])
        return self._nodes.copy()

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many actions every environment has taken since its last reset, int (n_envs,)."""
        if self._few:
            return np.array([walker.length for walker in self._walkers])
        return self._lengths.copy()

    @cached_property
    def entropies(self) -> NDArray[np.float64]:
        """The entropy of the exploratory action at every node, float (n,); 0 where it ends."""
        return np.asarray(entr(self._probabilities).sum(axis=1))

    def step_one(self, action: int, done: bool, env: int = 0) -> None:
        """Move the node of one environment."""
        self._walkers[env].step(action, done)

    def _sample_one(self, env: int) -> int:
        return self._walkers[env].action(self._uniform())

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
        flags = np.ones(self.n_envs, bool) if which is None else self._checked_which(which)
        self._place(np.where(flags, 0, self.nodes), np.where(flags, 0, self.lengths))

    def _place(self, nodes: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
        self._nodes, self._lengths = nodes, lengths
        for walker, node, length in zip(
            self._walkers, nodes.tolist(), lengths.tolist(), strict=False
        ):
            walker.node, walker.length = node, length

    def state_dict(self) -> dict[str, Any]:
        """Return everything needed to go on exactly where this explorer is."""
        return super().state_dict() | {
            "policy": self._fingerprint,
            "nodes": self.nodes,
            "lengths": self.lengths,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a `state_dict` of an explorer of the same policy."""
        super().load_state_dict(state)
        self._place(np.array(state["nodes"], np.int64), np.array(state["lengths"], np.int64))

    def _most(self) -> dict[str, int | None]:
        graph = self.policy.graph
        return {"nodes": len(graph) - 1, "lengths": graph.depth - 1}

    def _check_arrays(self, state: dict[str, Any]) -> None:
        super()._check_arrays(state)
        graph = self.policy.graph
        nodes, lengths = np.asarray(state["nodes"]), np.asarray(state["lengths"])
        if (graph.depths[nodes] > lengths).any() or graph.ends[nodes].any():
            raise ArgumentError(
                "this state is damaged: expected nodes that have a way on and are no deeper than "
                f"actions were taken, found {nodes.tolist()} after {lengths.tolist()} actions"
            )
