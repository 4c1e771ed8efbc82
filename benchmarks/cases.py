"""The benchmark graphs: families of priors, each at several depths."""

from __future__ import annotations

from dataclasses import dataclass

from easee import Equivalences, commute_all, priors


@dataclass(frozen=True)
class Case:
    """One row of the table.

    Attributes:
        family: name in the table.
        depth: depth of the graph.
        target: duality gap that must be reached.
    """

    family: str
    depth: int
    target: float

    @property
    def prior(self) -> Equivalences:
        """The equivalence set of the family."""
        return FAMILIES[self.family]


FAMILIES = {
    "CardinalGrid": priors.get("cardinal-grid"),
    "right/left commute": priors.get("cardinal-right-left"),
    "DoorKey": priors.get("doorkey"),
    "Boxing": priors.get("boxing"),
    "Catcher": priors.get("catcher"),
    "RotationGrid, complete": priors.get("rotation-grid-complete"),
    "four commuting moves": commute_all("a", "b", "c", "d"),
    "Freeway": priors.get("freeway"),
}

_DEPTHS = {
    "CardinalGrid": ((6, 40, 100), 1e-9),
    "right/left commute": ((6, 8, 10), 1e-9),
    "DoorKey": ((6, 8), 1e-9),
    "Boxing": ((4, 5), 1e-9),
    "Catcher": ((30, 150, 500), 1e-8),
    "RotationGrid, complete": ((20, 30, 50, 100), 1e-8),
    "four commuting moves": ((16, 30), 1e-8),
    "Freeway": ((8, 12), 1e-9),
}

CASES = [
    Case(family, depth, target) for family, (depths, target) in _DEPTHS.items() for depth in depths
]
