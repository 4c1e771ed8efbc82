"""Exploration statistics for Stable-Baselines3's logger."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from easee.explorers.base import BaseExplorer
from easee.explorers.easee import Explorer

CHUNK = 1000  # steps that are stored before they are summed


class Tally:
    """Means over the steps since they were last read.

    Steps are stored and summed in chunks, so that adding one costs little.
    """

    def __init__(self) -> None:
        self.explored: list[NDArray[np.bool_]] = []
        self.nodes: list[NDArray[np.int64]] = []
        self.counts: dict[str, int] = {}
        self.sums: dict[str, float] = {}

    def add(self, explorer: BaseExplorer) -> None:
        """Add a step of all environments, before the explorer moves."""
        if isinstance(explorer, BaseExplorer):
            self.explored.append(explorer.explored)
        if isinstance(explorer, Explorer):
            self.nodes.append(explorer.nodes)
        if len(self.explored) >= CHUNK:
            self._sum_steps(explorer)

    def _sum_steps(self, explorer: BaseExplorer) -> None:
        if self.explored:
            self._sum("exploratory_share", np.concatenate(self.explored))
        if self.nodes and isinstance(explorer, Explorer):
            nodes = np.concatenate(self.nodes)
            self._sum("policy_entropy", explorer.entropies[nodes])
            self._sum("node_depth", explorer.policy.graph.depths[nodes])
        self.explored, self.nodes = [], []

    def _sum(self, name: str, values: NDArray[Any]) -> None:
        self.counts[name] = self.counts.get(name, 0) + len(values)
        self.sums[name] = self.sums.get(name, 0.0) + float(values.sum())

    def pop_means(self, explorer: BaseExplorer) -> dict[str, float]:
        """Return the means by name, and start over."""
        self._sum_steps(explorer)
        means = {name: total / self.counts[name] for name, total in self.sums.items()}
        self.counts, self.sums = {}, {}
        return means
