"""Policy files: one `.npz` archive without pickles, validated when it is read."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from easee._utils.arrays import Floats
from easee._utils.files import replacing
from easee.errors import EaseeError, PolicyFileError
from easee.flow.certificate import checked_probabilities
from easee.flow.network import network, push
from easee.graph import MOST_DEPTH, LocalGraph
from easee.priors.equivalences import check_action_names

Certificate = tuple[float, float, float]  # entropy, bound, gap

FORMAT = "easee-policy"
VERSION = 2  # version 1 had no floors
ROUNDING = 1e-6  # tolerance for visits and entropy that do not follow exactly from the policy
FIELDS = {  # shape and kinds of each array; n and k are the numbers of nodes and actions
    "actions": ("k", "U"),
    "depth": ("", "iu"),
    "depths": ("n", "iu"),
    "successors": ("nk", "iu"),
    "exact": ("", "b"),
    "stable": ("", "b"),
    "probabilities": ("nk", "f"),
    "visits": ("n", "f"),
    "certificate": ("3", "f"),
    "floors": ("k", "f"),
}


def write(
    path: str | os.PathLike[str],
    graph: LocalGraph,
    probabilities: Floats,
    visits: Floats,
    certificate: Certificate,
    floors: Floats,
) -> None:
    """Write a policy atomically."""
    with replacing(path) as file:
        np.savez_compressed(
            file,
            format=FORMAT,
            version=VERSION,
            actions=graph.actions,
            depth=graph.depth,
            depths=graph.depths,
            successors=graph.successors,
            exact=graph.exact,
            stable=graph.stable,
            probabilities=probabilities,
            visits=visits,
            certificate=certificate,
            floors=floors,
        )


def read(path: str | os.PathLike[str]) -> tuple[LocalGraph, Floats, Floats, Certificate, Floats]:
    """Return the graph, probabilities, visits, certificate and floors of a policy file.

    Raises:
        PolicyFileError: the file is missing, damaged, of a newer version, or not a policy.
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
        check_action_names(graph.actions)
        table = checked_probabilities(graph, data["probabilities"])
    except EaseeError as error:
        raise PolicyFileError(f"{str(path)!r} is inconsistent: {error}") from error
    visits = push(network(graph), table[graph.forward])
    if np.abs(visits - data["visits"]).max() > ROUNDING:
        raise PolicyFileError(f"{str(path)!r} is inconsistent: visits do not match the policy")
    entropy, bound, gap = map(float, data["certificate"])
    return graph, data["probabilities"], data["visits"], (entropy, bound, gap), data["floors"]


def _read(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    name = repr(str(path))
    try:
        if not Path(path).is_file():
            raise PolicyFileError(f"no policy file at {name}")
        # Opened here because numpy would not close a damaged file.
        with open(path, "rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, NpzFile):
                raise PolicyFileError(f"{name} holds a single array, not an EASEE policy")
            header = {key: archive[key].item() for key in ("format", "version") if key in archive}
            _check_header(header, name)
            fields = [key for key in FIELDS if key != "floors" or header["version"] > 1]
            missing = [key for key in fields if key not in archive]
            if missing:
                raise PolicyFileError(f"{name} is incomplete: it lacks {missing}")
            data = {key: archive[key] for key in fields}
    except PolicyFileError:
        raise
    except Exception as error:  # unpacking a damaged file raises errors of many types
        raise PolicyFileError(
            f"{name} is not a policy file, or damaged ({error}): compile and save the policy again"
        ) from error
    data.setdefault("floors", np.zeros(data["actions"].size))
    _check_shapes(data, name)
    _check_values(data, name)
    return data


def _check_header(header: dict[str, Any], name: str) -> None:
    if header.get("format") != FORMAT:
        raise PolicyFileError(f"{name} is an .npz file, but not an EASEE policy")
    version = header.get("version")
    if not isinstance(version, int) or version < 1:
        raise PolicyFileError(f"{name} has no valid format version, found {version!r}")
    if version > VERSION:
        raise PolicyFileError(
            f"{name} has format version {version}, but this release reads up to {VERSION}: "
            "update easee-rl"
        )


def _check_shapes(data: dict[str, NDArray[Any]], name: str) -> None:
    sizes = {"n": data["depths"].size, "k": data["actions"].size, "3": 3}
    for key, (axes, kinds) in FIELDS.items():
        array, shape = data[key], tuple(sizes[axis] for axis in axes)
        if array.shape != shape or array.dtype.kind not in kinds:
            raise PolicyFileError(
                f"{name} is inconsistent: expected {key} of shape {shape}, "
                f"found {array.dtype} of shape {array.shape}"
            )


def _check_values(data: dict[str, NDArray[Any]], name: str) -> None:
    depths, successors = data["depths"], data["successors"]
    entropy, bound, gap = data["certificate"]
    n = depths.size
    problems = {
        "depths that are not sorted from 0": n == 0
        or depths[0] != 0
        or (np.diff(depths) < 0).any(),
        "nodes deeper than its depth": n == 0 or not depths.max() <= data["depth"] <= MOST_DEPTH,
        "successors that do not exist": successors.size == 0
        or not -1 <= successors.min() <= successors.max() < n,
        "missing successors above its depth, or successors at it": (
            (successors < 0) != (depths == data["depth"])[:, None]
        ).any(),
        "numbers that are not finite": not all(
            np.isfinite(data[key]).all() for key in ("probabilities", "visits", "certificate")
        ),
        "an impossible certificate": gap < 0 or entropy > bound + ROUNDING,
        "floors that are not probabilities": not (data["floors"] >= 0).all()
        or not data["floors"].sum() <= 1,
    }
    for problem, occurs in problems.items():
        if occurs:
            raise PolicyFileError(f"{name} is inconsistent: it has {problem}")
