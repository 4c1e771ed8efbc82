"""Explorers, which turn a policy into actions: EASEE's, the baselines, and both for JAX."""

from easee.explorers.base import BaseExplorer
from easee.explorers.baselines import TabuExplorer, UniformExplorer, ZetaExplorer
from easee.explorers.easee import Explorer

__all__ = ["BaseExplorer", "Explorer", "TabuExplorer", "UniformExplorer", "ZetaExplorer"]
