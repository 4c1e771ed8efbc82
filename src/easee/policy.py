"""The exploration policy: a table over the nodes of the graph, with its certificate.

`balance` finds it for a graph, `compile` for a prior and a depth, `save` and `load` keep it in one
`.npz` file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import ArrayLike, NDArray

from easee.arrays import freeze
from easee.equivalences import Equivalences
from easee.errors import (
    ArgumentError,
    ArgumentTypeError,
    ConvergenceError,
    EaseeError,
    PolicyFileError,
)
from easee.files import replacing
from easee.flow import checked_probabilities, network, push
from easee.graph import MOST_DEPTH, LocalGraph, unroll
from easee.solver import solve

Floats = NDArray[np.float64]

FORMAT = "easee-policy"
VERSION = 1
ROUNDING = 1e-6  # how far what a file says of its policy may be from what follows from it


@dataclass(frozen=True, eq=False)
class ExplorationPolicy:
    """What to do at each node so as to visit all nodes as evenly as possible.

    Attributes:
        graph: the local-dynamics graph.
        probabilities: float (n, k), of each action at each node. Pruned actions have 0; rows of
            nodes without a forward action (full depth, dead ends) are all 0.
        visits: float (n,), how likely each node is on the way.
        entropy: the objective J, the weighted mean of the layers' entropies; with outcomes, of the
            entropies of the states.
        bound: what uniform layers (or states) would give; `entropy` cannot be larger.
        gap: the duality gap: the optimum is at most `entropy + gap`.

    >>> policy = compile(Equivalences(["a", "b"], ["a b ~ b a"]), depth=2)
    >>> policy.visits.round(3)
    array([1.   , 0.5  , 0.5  , 0.333, 0.333, 0.333])
    >>> policy.probabilities[1].round(3)
    array([0.667, 0.333])
    """

    graph: LocalGraph
    probabilities: Floats
    visits: Floats
    entropy: float
    bound: float
    gap: float

    def __post_init__(self) -> None:
        freeze(self, "probabilities", "visits")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        freeze(self, *state)

    def __repr__(self) -> str:
        return (
            f"ExplorationPolicy(actions={self.graph.actions}, depth={self.graph.depth}, "
            f"nodes={len(self.graph)}, entropy={self.entropy:.6g}, bound={self.bound:.6g}, "
            f"gap={self.gap:.1e})"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one `.npz` file, all or nothing."""
        graph = self.graph
        with replacing(path) as file:
            np.savez_compressed(
                file,
                format=np.array(FORMAT),
                version=np.array(VERSION),
                actions=np.array(graph.actions),
                depth=np.array(graph.depth),
                depths=graph.depths,
                successors=graph.successors,
                exact=np.array(graph.exact),
                stable=np.array(graph.stable),
                probabilities=self.probabilities,
                visits=self.visits,
                certificate=np.array([self.entropy, self.bound, self.gap]),
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ExplorationPolicy:
        """Read what `save` wrote.

        Raises:
            PolicyFileError: the file is missing, foreign, damaged, or of a newer version.
        """
        data = _read(path)
        graph = LocalGraph(
            actions=tuple(map(str, data["actions"])),
            depth=int(data["depth"]),
            depths=data["depths"],
            successors=data["successors"],
            exact=bool(data["exact"]),
            stable=bool(data["stable"]),
        )
        try:
            Equivalences(graph.actions)
            table = checked_probabilities(graph, data["probabilities"])
        except EaseeError as error:
            raise PolicyFileError(f"{str(path)!r} contradicts itself: {error}") from error
        visits = push(network(graph, np.zeros(len(graph))), table[graph.forward])
        if np.abs(visits - data["visits"]).max() > ROUNDING:
            raise PolicyFileError(f"{str(path)!r} contradicts itself: visits are not its policy's")
        entropy, bound, gap = map(float, data["certificate"])
        return cls(graph, data["probabilities"], data["visits"], entropy, bound, gap)


_FIELDS = "actions depth depths successors exact stable probabilities visits certificate".split()


def _read(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    name = repr(str(path))
    try:
        if not Path(path).is_file():
            raise PolicyFileError(f"no policy file at {name}")
        # Opened here: of a damaged file numpy would leave it open.
        with open(path, "rb") as file, _archive(file) as archive:
            header = {key: archive[key].item() for key in ("format", "version") if key in archive}
            _check_header(header, name)
            missing = [key for key in _FIELDS if key not in archive]
            if missing:
                raise PolicyFileError(f"{name} is not a whole policy: it lacks {missing}")
            data = {key: archive[key] for key in _FIELDS}
    except PolicyFileError:
        raise
    except (OSError, ValueError, EOFError, AttributeError, TypeError, KeyError) as error:
        raise PolicyFileError(f"{name} is no policy file: {error}") from error
    except Exception as error:  # whatever unpacking and parsing of a damaged file comes upon
        raise PolicyFileError(
            f"{name} is damaged or cut short ({error}): compile and save the policy again"
        ) from error
    _check_shapes(data, name)
    _check_sense(data, name)
    return data


def _archive(file: BinaryIO) -> NpzFile:
    """Open an `.npz` archive, and nothing else that numpy reads."""
    archive = np.load(file, allow_pickle=False)
    if not isinstance(archive, NpzFile):
        raise PolicyFileError(f"{file.name!r} holds a single array, not an EASEE policy")
    return archive


def _check_header(header: dict[str, Any], name: str) -> None:
    if header.get("format") != FORMAT:
        raise PolicyFileError(f"{name} is an .npz file of something else, not an EASEE policy")
    version = header.get("version")
    if not isinstance(version, int) or version < 1:
        raise PolicyFileError(f"{name} has no valid format version, found {version!r}")
    if version > VERSION:
        raise PolicyFileError(
            f"{name} has format version {version}, and this release reads up to {VERSION}: "
            "update easee-rl"
        )


def _check_shapes(data: dict[str, NDArray[Any]], name: str) -> None:
    """Make sure that the arrays have the kinds and shapes of a policy's."""
    n, k = data["depths"].size, data["actions"].size
    expected: dict[str, tuple[tuple[int, ...], str]] = {
        "actions": ((k,), "U"),
        "depth": ((), "iu"),
        "depths": ((n,), "iu"),
        "successors": ((n, k), "iu"),
        "exact": ((), "b"),
        "stable": ((), "b"),
        "probabilities": ((n, k), "f"),
        "visits": ((n,), "f"),
        "certificate": ((3,), "f"),
    }
    for key, (shape, kind) in expected.items():
        if data[key].shape != shape or data[key].dtype.kind not in kind:
            raise PolicyFileError(
                f"{name} contradicts itself: expected {key} of shape {shape}, "
                f"found {data[key].dtype} of shape {data[key].shape}"
            )


def _check_sense(data: dict[str, NDArray[Any]], name: str) -> None:
    """Make sure that arrays of a policy's shapes say something that can be."""
    depths, successors = data["depths"], data["successors"]
    entropy, bound, gap = data["certificate"]
    n = depths.size
    wrong = {
        "depths that do not rise from 0": n == 0 or depths[0] != 0 or (np.diff(depths) < 0).any(),
        "a depth that its nodes exceed": n == 0 or not depths.max() <= data["depth"] <= MOST_DEPTH,
        "successors that are not nodes": successors.size == 0
        or not -1 <= successors.min() <= successors.max() < n,
        "nodes without successors before its depth, or with some there": (
            (successors < 0) != (depths == data["depth"])[:, None]
        ).any(),
        "numbers that are not finite": not all(
            np.isfinite(data[key]).all() for key in ("probabilities", "visits", "certificate")
        ),
        "a certificate that cannot be": gap < 0 or entropy > bound + ROUNDING,
    }
    for what, found in wrong.items():
        if found:
            raise PolicyFileError(f"{name} contradicts itself: it has {what}")


def balance(
    graph: LocalGraph,
    *,
    weights: ArrayLike | None = None,
    interest: ArrayLike | None = None,
    outcomes: Any = None,
    tolerance: float = 1e-9,
) -> ExplorationPolicy:
    """Find the policy that visits the nodes of a graph as evenly as possible.

    The visits of the optimum are unique. Of the policies that have them, the one of largest path
    entropy is taken, so that the answer is unique and keeps every symmetry of the prior.

    With `outcomes` (the paper's stochastic case) it is the states that are to be visited evenly: a
    word leads to each with some chance, and the objective is the entropy of where one is, the
    mixture of the outcomes of the nodes. The optimal mixture of every step is unique; of the
    policies that have it, again the one of largest path entropy is taken. Nodes that it does not
    visit go on evenly. Where outcomes never overlap within a step and are equally uncertain, the
    policy is the same as without.

    Args:
        graph: the local-dynamics graph.
        weights: float (d,), non-negative, how much the entropy of each layer from 1 to d counts;
            scaled to sum 1. By default all count the same, as in the paper.
        interest: bool (n,), the nodes whose visits count; by default all.
        outcomes: float (n, states), dense or scipy.sparse: row i is the distribution over states
            that the shortest words of node i lead to. Not together with `interest`.
        tolerance: the largest duality gap to accept.

    Raises:
        ConvergenceError: the gap is larger than `tolerance`. It carries the policy found.

    >>> graph = unroll(Equivalences(["a", "b"], ["a b ~ b a"]), depth=3)
    >>> policy = balance(graph, weights=[0, 0, 1])  # the last layer only
    >>> bool(policy.gap <= 1e-9), policy.visits[-4:].round(6)
    (True, array([0.25, 0.25, 0.25, 0.25]))

    Of three actions two do the same, and the third is a coin flip between what they do and another:

    >>> graph = unroll(Equivalences(["a", "b", "c"]), depth=1)
    >>> policy = balance(graph, outcomes=[[1, 0], [1, 0], [1, 0], [0.5, 0.5]])
    >>> policy.probabilities[0].round(6), round(float(np.exp(policy.entropy)), 6)
    (array([0., 0., 1.]), 2.0)
    """
    if not isinstance(graph, LocalGraph):
        raise ArgumentTypeError(f"expected a LocalGraph, found {type(graph).__name__}")
    if not isinstance(tolerance, Real) or not float(tolerance) > 0:
        raise ArgumentError(f"expected a positive tolerance, found {tolerance!r}")
    found = solve(graph, weights=weights, interest=interest, outcomes=outcomes, tolerance=tolerance)
    policy = ExplorationPolicy(
        graph, found.probabilities, found.visits, found.entropy, found.bound, found.gap
    )
    if not found.gap <= tolerance:
        raise ConvergenceError(
            f"the duality gap is {found.gap:.1e}, and {tolerance:.1e} was asked for: "
            "pass a larger tolerance, or take the `policy` of this error as it is",
            found.gap,
            tolerance,
            policy,
        )
    return policy


def compile(
    equivalences: Equivalences,
    depth: int,
    *,
    weights: ArrayLike | None = None,
    tolerance: float = 1e-9,
) -> ExplorationPolicy:
    """Build the graph of a prior and balance it: `balance(unroll(equivalences, depth))`.

    >>> omega = Equivalences(["forward", "left", "right"], ["left right ~", "right left ~"])
    >>> compile(omega, depth=3).graph.layer_sizes
    (1, 3, 7, 17)
    """
    return balance(unroll(equivalences, depth), weights=weights, tolerance=tolerance)
