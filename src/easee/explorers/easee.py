"""EASEE's explorer: one node per environment, moved by every action taken (Section 4.3)."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from easee.errors import ArgumentError
from easee.explorers.base import BaseExplorer
from easee.explorers.checks import Seed
from easee.explorers.sampling import Actions, Mask, draw, draw_masked
from easee.explorers.scalar import Walker
from easee.explorers.table import Floor, PolicyTable
from easee.policy_text import AnyPolicy, as_policy


class Explorer(BaseExplorer):
    """An explorer that follows an exploration policy in every environment.

    Each environment has a node, the class of the actions taken since the last restart. It returns
    to the empty word after `depth` actions, at the end of an episode, and at a dead end. Every
    action moves it, including greedy ones along edges that the policy never takes.

    Args:
        policy: exploration policy, or a string such as "doorkey:6", see `easee.read_policy`.
        n_envs, seed: as in `BaseExplorer`.
        floor: replaces the policy's own floors: the weight of the uniform policy mixed in, for
            agents that need every action to be possible everywhere, or the least probability of
            each action, float (k,). 0 as in the paper.

    >>> from easee.priors.builders import inverse
    >>> from easee.policy import compile
    >>> explorer = Explorer(compile(inverse("left", "right"), depth=4), n_envs=2, seed=0)
    >>> explorer.step([0, 1], [False, False])
    >>> explorer.sample()  # neither turns back
    array([0, 1])
    >>> explorer.probabilities()
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(
        self, policy: AnyPolicy, n_envs: int = 1, seed: Seed = None, floor: Floor = None
    ) -> None:
        policy = as_policy(policy)
        self.table = PolicyTable.from_policy(policy, floor)
        super().__init__(len(self.table.actions), n_envs, seed)
        self.policy, self.floor = policy, floor
        self._next_nodes = self.table.next_nodes.ravel()
        self._nodes = np.zeros(self.n_envs, np.int64)
        self._lengths = np.zeros(self.n_envs, np.int64)
        self._walker = Walker(self.table)  # replaces both arrays for a single environment

    @property
    def nodes(self) -> NDArray[np.int64]:
        """Node of each environment, int (n_envs,); 0 is the empty word."""
        if self.n_envs == 1:
            return np.array([self._walker.node], np.int64)
        return self._nodes.copy()

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of actions since the last restart of each environment, int (n_envs,)."""
        if self.n_envs == 1:
            return np.array([self._walker.length], np.int64)
        return self._lengths.copy()

    @cached_property
    def entropies(self) -> NDArray[np.float64]:
        """Entropy of the exploratory action at each node, float (n,); 0 at ends."""
        return np.asarray(entr(self.table.probabilities).sum(axis=1))

    def step_one(self, action: int, done: bool) -> None:
        """Move the node of the only environment."""
        if self.n_envs > 1:
            self._check_single()
        self._walker.step(action, done)

    def _sample(self, mask: Mask | None) -> Actions:
        uniforms = self._uniforms()
        if mask is None:
            return draw(self.table.cumulative.take(self._nodes, axis=0), uniforms)
        return draw_masked(self.table.probabilities[self.nodes], mask, uniforms)

    def _probabilities(self) -> NDArray[np.float64]:
        return self.table.probabilities[self.nodes]

    def _sample_one(self) -> int:
        return self._walker.action(self._uniform())

    def _step(self, actions: Actions, dones: Mask) -> None:
        # In-place operations: with few environments, the number of NumPy calls determines the time.
        # The attributes are set at the end, so that an error on the way changes nothing.
        index = self._nodes * self.n_actions
        index += actions
        nodes = self._next_nodes.take(index).astype(np.int64)
        lengths = self._lengths + 1
        restarts = nodes < 0
        restarts |= lengths >= self.table.depth
        restarts |= dones
        nodes[restarts] = lengths[restarts] = 0
        self._nodes, self._lengths = nodes, lengths

    def _forget(self, which: Mask) -> None:
        if self.n_envs > 1:
            self._nodes[which] = self._lengths[which] = 0
        elif which[0]:
            self._walker.move_to(0, 0)

    def _settings(self) -> dict[str, str | float]:
        return {"policy": self.table.fingerprint}

    def _history(self) -> dict[str, float]:
        return {"nodes": len(self.policy.graph) - 1, "lengths": self.table.depth - 1}

    def _restore(self, history: dict[str, NDArray[np.int64]]) -> None:
        nodes, lengths = history["nodes"], history["lengths"]
        graph = self.policy.graph
        if (graph.depths[nodes] > lengths).any() or graph.ends[nodes].any():
            raise ArgumentError(
                "this state is damaged: expected nodes that have a forward action and are no "
                f"deeper than actions were taken, found {nodes.tolist()} after "
                f"{lengths.tolist()} actions"
            )
        self._nodes, self._lengths = nodes, lengths
        self._walker.move_to(int(nodes[0]), int(lengths[0]))
